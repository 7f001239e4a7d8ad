//! An async judge takes part in the recall.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cupel::gather::{BoxError, SourceOutcome};
use cupel::layer::{AsyncJudge, WaitingJudge};
use cupel::relevance::{Candidate, Question};
use serde_json::Value;

use crate::support::{Settings, assistant, filler, user};

#[derive(Clone, Copy)]
enum Does {
    Answers,
    Never,
    Fails,
    Panics,
    Short,
    Gives(f64),
}

/// Knows that an automobile is a car.
struct Model(Does, Arc<Mutex<Vec<String>>>);

#[async_trait]
impl AsyncJudge for Model {
    async fn judge(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError> {
        assert_eq!(question.work(), None, "the user's last words alone");
        self.1.lock().unwrap().extend(candidates.iter().map(|it| it.text.to_owned()));
        let close = |it: &Candidate<'_>| if it.text.contains("automobile") { 0.9 } else { 0.1 };
        let mut answers: Vec<f64> = candidates.iter().map(close).collect();
        match self.0 {
            Does::Answers => tokio::time::sleep(Duration::from_millis(30)).await,
            Does::Never => pending().await,
            Does::Fails => return Err("no quota left".into()),
            Does::Panics => panic!("no"),
            Does::Short => drop(answers.pop()),
            Does::Gives(answer) => answers.fill(answer),
        }
        Ok(answers)
    }
}

/// A fact at the start of a long conversation, and a question about it in other words.
fn conversation() -> Vec<Value> {
    let mut messages = vec![user("We keep an automobile in the barn."), assistant("Noted.")];
    for turn in 0..60 {
        messages.push(user(&filler(&format!("q{turn}x"), 20)));
        messages.push(assistant(&filler(&format!("a{turn}x"), 20)));
    }
    messages.push(user("Is there a car somewhere?"));
    messages
}

fn settings(does: Does) -> (Settings, Arc<Mutex<Vec<String>>>) {
    let texts = Arc::default();
    let mut settings = Settings::new(1_000);
    settings.waiting = Some(WaitingJudge::new(Model(does, Arc::clone(&texts))));
    (settings, texts)
}

#[test]
fn it_recalls_what_words_miss_and_sees_only_what_lies_before_the_cut() {
    let plain = Settings::new(1_000).send(&conversation()).unwrap();
    assert!(!plain.recalled().contains("automobile"), "{}", plain.recalled());
    assert_eq!(plain.judge, None);

    let (settings, texts) = settings(Does::Answers);
    let sent = settings.send(&conversation()).unwrap();
    assert!(sent.recalled().contains("[0] user: We keep an automobile"), "{}", sent.recalled());
    let report = sent.judge.clone().unwrap();
    assert_eq!(report.outcome, SourceOutcome::Completed);
    assert_eq!(report.texts, texts.lock().unwrap().len());
    let shown = texts.lock().unwrap().join("\n");
    let kept = |text: &str| sent.messages.iter().any(|message| message["content"] == text);
    assert!(kept(&filler("a59x", 20)) && !shown.contains("a59x0 "), "the tail is not shown");
    assert!(!shown.contains("Is there a car"), "nor is the question");

    // All before the recall is as it was without the judge, and the same request is the same bytes.
    let before = plain.messages.len() - 1;
    assert_eq!(sent.messages[..before], plain.messages[..before]);
    assert_eq!(settings.send(&conversation()).unwrap().json, sent.json);
}

#[test]
fn what_sources_bring_is_judged_as_well() {
    let (mut settings, texts) = settings(Does::Answers);
    settings.documents = vec!["An automobile is in the garage.".into(), "Nothing of it.".into()];
    let sent = settings.send(&conversation()).unwrap();
    assert!(sent.recalled().contains("An automobile is in the garage."), "{}", sent.recalled());
    assert!(texts.lock().unwrap().iter().any(|text| text.starts_with("Nothing")));
}

#[test]
fn whatever_it_does_wrong_the_plan_is_as_it_was_without_it() {
    let plain = Settings::new(1_000).send(&conversation()).unwrap();
    let failed = |error: &str| SourceOutcome::Failed { error: error.to_owned() };
    let wrong =
        |shown: &str| failed(&format!("gave a hint of {shown}, expected a number from 0 to 1"));
    let cases = [
        (Does::Never, Some(SourceOutcome::TimedOut)),
        (Does::Fails, Some(failed("no quota left"))),
        (Does::Panics, Some(SourceOutcome::Panicked { message: "no".to_owned() })),
        (Does::Short, None),
        (Does::Gives(f64::NAN), Some(wrong("NaN"))),
        (Does::Gives(-1.0), Some(wrong("-1"))),
    ];
    for (does, outcome) in cases {
        let sent = settings(does).0.send(&conversation()).unwrap();
        assert_eq!(sent.json, plain.json);
        let report = sent.judge.unwrap();
        assert_eq!(report.judged, 0);
        match outcome {
            Some(outcome) => assert_eq!(report.outcome, outcome),
            None => assert!(report.outcome.to_string().contains("expected one for each of")),
        }
    }
}

#[test]
fn nothing_is_asked_where_all_is_sent() {
    let (mut settings, texts) = settings(Does::Answers);
    settings.window = 100_000;
    let sent = settings.send(&conversation()).unwrap();
    assert_eq!(sent.messages, conversation());
    assert!(texts.lock().unwrap().is_empty());
}
