//! A model that asks again for what it cannot see comes to an end.

use std::collections::HashSet;

use serde_json::Value;

use crate::support::{Settings, assistant, filler, problem, step, system, user};

/// The ids of the results in view.
fn in_view(messages: &[Value]) -> HashSet<String> {
    let results = messages.iter().filter_map(|message| message["tool_call_id"].as_str());
    results.map(str::to_owned).collect()
}

/// Plays a loop of so many steps; the model issues again the oldest call whose result it misses.
/// Number of needless calls.
fn play(settings: &Settings, history: usize, steps: usize, length: usize) -> usize {
    let mut messages = vec![system("Work.")];
    for turn in 0..history {
        messages.push(user(&filler(&format!("q{turn}x"), 15)));
        messages.push(assistant(&filler(&format!("a{turn}x"), 15)));
    }
    messages.push(user("Look at all of them."));
    let mut results: Vec<String> = Vec::new();
    let mut needless = 0;
    while results.len() < steps {
        let sent = settings.send(&messages).unwrap();
        assert_eq!(problem(&sent.messages, settings.window), None);
        let seen = in_view(&sent.messages);
        let missed = results.iter().position(|id| !seen.contains(id));
        let id = format!("call-{}-{}", missed.unwrap_or(results.len()), messages.len());
        messages.extend(step(&id, "{}", &filler("r", length)));
        match missed {
            Some(missed) => {
                needless += 1;
                results[missed] = id;
                assert!(needless < 20, "a loop without an end");
            }
            None => results.push(id),
        }
    }
    needless
}

#[test]
fn a_loop_that_fits_has_no_needless_call() {
    for window in [600, 1_000, 2_000, 4_000] {
        for history in [0, 5, 80] {
            // Seven tenths of the window, beside the question and the head.
            let length = 30;
            let steps = usize::try_from(window * 7 / 10).unwrap() / (length + 12);
            assert_eq!(
                play(&Settings::new(window), history, steps, length),
                0,
                "{window} {history}"
            );
        }
    }
}

#[test]
fn a_loop_longer_than_the_window_keeps_its_newest_steps() {
    let mut messages = vec![system("Work."), user("Look at all of them.")];
    for at in 0..100 {
        messages.extend(step(&format!("call-{at}"), "{}", &filler("r", 40)));
        let sent = Settings::new(1_000).send(&messages).unwrap();
        assert_eq!(problem(&sent.messages, 1_000), None);
        assert_eq!(sent.messages[1], messages[1]);
        let seen = in_view(&sent.messages);
        let kept: Vec<bool> = (0..=at).map(|at| seen.contains(&format!("call-{at}"))).collect();
        let first = kept.iter().position(|kept| *kept).unwrap();
        assert!(kept[first..].iter().all(|kept| *kept), "holes in {kept:?}");
        assert!(
            kept[first..].len() >= 9.min(at + 1),
            "{} steps of {}",
            kept[first..].len(),
            at + 1
        );
    }
}

#[test]
fn a_loop_that_no_user_has_begun_is_planned_like_any_other() {
    let mut messages = vec![system("Watch the queue.")];
    for at in 0..60 {
        let words = if at % 7 == 0 { 900 } else { 20 };
        messages.extend(step(&format!("c{at}"), "x", &filler(&format!("r{at}x"), words)));
    }
    for known in (3..messages.len()).step_by(2) {
        let sent = Settings::new(1_000).send(&messages[..known]).unwrap();
        assert_eq!(problem(&sent.messages, 1_000), None);
        let (newest, there) = (&messages[known - 1], sent.messages.last().unwrap());
        assert_eq!(newest["tool_call_id"], there["tool_call_id"]);
        // The newest steps, without holes.
        let steps = (sent.messages.len() - 1) / 2;
        assert!(steps == (known - 1) / 2 || steps >= 3, "{steps} of {known}");
        assert_eq!(
            sent.messages[1]["tool_calls"][0]["id"],
            format!("c{}", (known - 1) / 2 - steps)
        );
    }
}
