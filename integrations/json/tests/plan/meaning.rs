//! A judge by meaning decides with the words what a plan recalls, and its answers stay during an exchange.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cupel::Policy;
use cupel::gather::{BoxError, EmbedAs, Embedder, EmbeddingsJudge, JudgeReport, SourceOutcome};
use cupel::layer::{CupelLayer, Selection, Selector};
use cupel::tokens::counter_fn;
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use serde_json::{Value, json};

use crate::support::{assistant, filler, step, text, user, words};

/// Knows that an automobile is a car. Its answers take a while.
#[derive(Clone)]
struct Model {
    takes: Arc<Mutex<Duration>>,
    requests: Arc<Mutex<Vec<EmbedAs>>>,
}

#[async_trait]
impl Embedder for Model {
    fn model(&self) -> &str {
        "topics"
    }

    async fn embed(&self, what: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        self.requests.lock().unwrap().push(what);
        let takes = *self.takes.lock().unwrap();
        tokio::time::sleep(takes).await;
        let is_car = |text: &&str| text.contains("car") || text.contains("automobile");
        let vector = |text: &&str| if is_car(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
        Ok(texts.iter().map(vector).collect())
    }
}

/// A layer, and what it is sent.
struct Talk {
    selector: Selector<JsonBody, OpenAiAdapter>,
    /// The same without the judge.
    words: Selector<JsonBody, OpenAiAdapter>,
    model: Model,
    messages: Vec<Value>,
}

impl Talk {
    /// A long conversation whose beginning is about an automobile.
    fn new(takes: Duration, opening: &[Value; 2]) -> Self {
        let model = Model { takes: Arc::new(Mutex::new(takes)), requests: Arc::default() };
        let layer = || {
            CupelLayer::<JsonBody, _>::builder()
                .budget(OpenAiAdapter::new().window().tokens(1_000).default_output(0))
                .adapter(OpenAiAdapter::new().counter(counter_fn("words", words)))
                .policy(Policy::chat())
        };
        let judge = EmbeddingsJudge::new(model.clone()).waiting();
        let mut messages = opening.to_vec();
        for turn in 0..60 {
            messages.push(user(&filler(&format!("q{turn}x"), 20)));
            messages.push(assistant(&filler(&format!("a{turn}x"), 20)));
        }
        let selector = layer().waiting_judge(judge).build().unwrap().selector();
        Self { selector, words: layer().build().unwrap().selector(), model, messages }
    }

    /// Sends the conversation. Returns the recalled part and the judge's report.
    async fn send(&self) -> (String, JudgeReport) {
        let (recalled, selection) = self.send_by(&self.selector).await;
        (recalled, selection.gather.judge.unwrap())
    }

    /// Sends it without the judge. Returns the recalled part.
    async fn send_by_words(&self) -> String {
        self.send_by(&self.words).await.0
    }

    async fn send_by(&self, selector: &Selector<JsonBody, OpenAiAdapter>) -> (String, Selection) {
        let body = json!({"model": "gpt-4o", "messages": self.messages});
        let body = JsonBody::parse(Endpoint::Chat, body.to_string()).unwrap();
        let (sent, selection) = selector.select(body).await.unwrap().into_parts();
        let sent: Value = serde_json::from_str(sent.json()).unwrap();
        let messages = sent["messages"].as_array().unwrap();
        let question = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        let question = text(question);
        let recalled = question[..question.find("</recalled>").unwrap_or(0)].to_owned();
        (recalled, selection)
    }

    fn requests(&self) -> usize {
        self.model.requests.lock().unwrap().len()
    }
}

fn fact() -> [Value; 2] {
    [user("We keep an automobile in the barn."), assistant("Noted.")]
}

const LATE: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_millis(5);

#[tokio::test(start_paused = true)]
async fn a_fact_in_other_words_is_recalled_and_so_is_its_neighbour() {
    let opening = [user("How about our automobile?"), assistant("It is in the barn of Ines.")];
    let mut talk = Talk::new(SOON, &opening);
    talk.messages.push(user("Is there a car somewhere?"));
    let (recalled, report) = talk.send().await;
    assert_eq!(report.outcome, SourceOutcome::Completed);
    assert!(recalled.contains("our automobile"), "{recalled}");
    assert!(recalled.contains("the barn of Ines"), "what answers it stands next to it: {recalled}");
}

#[tokio::test(start_paused = true)]
async fn a_passage_of_a_long_reply_is_found_by_meaning() {
    let sentence = |number: usize| format!("{}.\n", filler(&format!("s{number}x"), 30));
    let mut reply: Vec<String> = (0..20).map(sentence).collect();
    reply.insert(10, "The automobile is in the barn.\n".to_owned());
    let mut talk = Talk::new(SOON, &[user("Tell me all."), assistant(&reply.concat())]);
    talk.messages.push(user("Is there a car somewhere?"));
    let (recalled, _) = talk.send().await;
    assert!(recalled.contains("The automobile is in the barn."), "{recalled}");
    assert!(!recalled.contains("s0x0 "), "the rest of the reply is not quoted");
}

#[tokio::test(start_paused = true)]
async fn the_recalled_part_stays_during_an_exchange_although_the_judge_was_late() {
    let mut talk = Talk::new(LATE, &fact());
    talk.messages.push(user("Is there a car somewhere?"));
    let (first, report) = talk.send().await;
    assert_eq!(report.outcome, SourceOutcome::TimedOut);
    assert_eq!(first, talk.send_by_words().await);
    assert!(!first.contains("automobile"), "{first}");

    // Now the vectors are there, and the model is fast.
    tokio::time::sleep(Duration::from_secs(60)).await;
    *talk.model.takes.lock().unwrap() = SOON;
    let requests = talk.requests();
    for call in 0..3 {
        talk.messages.extend(step(&format!("c{call}"), "{}", "nothing found"));
        let (recalled, report) = talk.send().await;
        assert_eq!(recalled, talk.send_by_words().await);
        assert!(!recalled.contains("automobile"), "{recalled}");
        assert!(report.reused, "{report:?}");
        assert_eq!(report.outcome, SourceOutcome::NotNeeded);
    }
    assert_eq!(talk.requests(), requests);

    // The next question is judged.
    talk.messages.push(assistant("I found nothing."));
    talk.messages.push(user("No car at all?"));
    let (recalled, report) = talk.send().await;
    assert!(recalled.contains("automobile"), "{recalled}");
    assert!(!report.reused && report.outcome == SourceOutcome::Completed, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn answers_stay_during_an_exchange_although_the_model_is_gone() {
    let mut talk = Talk::new(SOON, &fact());
    talk.messages.push(user("Is there a car somewhere?"));
    let (first, report) = talk.send().await;
    assert!(first.contains("automobile"), "{first}");
    assert!(report.judged > 0 && !report.reused);
    *talk.model.takes.lock().unwrap() = LATE;
    talk.messages.extend(step("c1", "{}", "nothing found"));
    let (recalled, report) = talk.send().await;
    assert_eq!(recalled, first);
    assert!(report.reused && report.judged > 0, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_sent_again_is_judged_again() {
    let mut talk = Talk::new(LATE, &fact());
    talk.messages.push(user("Is there a car somewhere?"));
    let (first, _) = talk.send().await;
    assert!(!first.contains("automobile"), "{first}");
    tokio::time::sleep(Duration::from_secs(60)).await;
    *talk.model.takes.lock().unwrap() = SOON;
    let (again, report) = talk.send().await;
    assert!(again.contains("automobile"), "{again}");
    assert!(!report.reused);
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_delays_a_call_by_the_deadline_at_most() {
    let mut talk = Talk::new(Duration::from_secs(3_600), &fact());
    talk.messages.push(user("Is there a car somewhere?"));
    let begun = tokio::time::Instant::now();
    talk.send().await;
    assert!(begun.elapsed() <= Duration::from_millis(502), "{:?}", begun.elapsed());
}
