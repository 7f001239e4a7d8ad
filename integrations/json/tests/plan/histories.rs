//! Histories that do not only grow: what the plan can hold, and what the report says.

use cupel::conversation::plan::PrefixBreak;
use cupel_json::Endpoint;
use serde_json::{Value, json};

use crate::support::{
    SentSummary, Settings, assistant, filler, problem, step, system, tokens, user,
};

const WINDOW: i64 = 1_000;

fn long(turns: usize) -> Vec<Value> {
    let mut messages = vec![system("Be brief.")];
    for turn in 0..turns {
        messages.push(user(&filler(&format!("q{turn}x"), 20)));
        messages.push(assistant(&filler(&format!("a{turn}x"), 20)));
    }
    messages.push(user("And now?"));
    messages
}

fn send(messages: &[Value]) -> SentSummary {
    let sent = Settings::new(WINDOW).send(messages).unwrap();
    assert_eq!(problem(&sent.messages, WINDOW), None);
    sent
}

/// Number of messages at the start that are the same.
fn shared(one: &SentSummary, other: &SentSummary) -> usize {
    one.messages.iter().zip(&other.messages).take_while(|(a, b)| a == b).count()
}

#[test]
fn an_edit_costs_what_stands_behind_it_and_nothing_before() {
    let messages = long(40);
    let before = send(&messages);
    let kept = before.messages.len();
    let mut edited = messages.clone();
    let at = messages.len() - 5;
    // As long as before, so that the grid lies where it lay.
    edited[at] = user(&filler("edited", 20));
    let after = send(&edited);
    assert_eq!(after.cut(), before.cut());
    assert_eq!(shared(&before, &after), kept - 5);
}

#[test]
fn branches_share_what_they_have_in_common() {
    let mut one = long(40);
    let mut other = one.clone();
    one.extend([assistant("Now this."), user("Why?")]);
    other.extend([assistant("Or that."), user("How?")]);
    let (one, other) = (send(&one), send(&other));
    assert_eq!(one.cut(), other.cut());
    // All but the answer, and the question behind it.
    assert_eq!(shared(&one, &other), one.messages.len() - 2);
}

#[test]
fn a_history_that_its_client_trims_stays_valid_and_the_same_bytes() {
    let all = long(60);
    for gone in 0..20 {
        let trimmed: Vec<Value> = all.iter().take(1).chain(&all[1 + gone..]).cloned().collect();
        let sent = send(&trimmed);
        assert_eq!(sent.json, send(&trimmed).json);
        assert!(sent.question().ends_with("And now?"));
        // It says what would be cached if the history had only grown: an upper bound.
        assert!(sent.plan.cached_tokens <= sent.tokens + sent.fixed_tokens);
    }
}

/// Tokens that a cache reads if it has seen another call: whole messages, from the first on.
fn read_by_a_cache(before: &SentSummary, after: &SentSummary) -> i64 {
    let shared = after.messages.iter().zip(&before.messages).take_while(|(a, b)| a == b);
    shared.map(|(message, _)| tokens(message)).sum::<i64>() + after.fixed_tokens
}

#[test]
fn a_report_that_is_told_of_the_call_before_says_what_its_cache_reads() {
    let messages = long(40);
    let before = send(&messages);
    let mut grown = messages.clone();
    grown.extend([assistant("Now this."), user("Why?")]);
    let mut edited = grown.clone();
    edited[messages.len() - 5] = user(&filler("edited", 20));
    let trimmed: Vec<Value> = grown.iter().take(1).chain(&grown[9..]).cloned().collect();
    let back = &messages[..messages.len() - 4];
    for (now, broke) in [
        (grown.as_slice(), None),
        (edited.as_slice(), Some(PrefixBreak::Edited)),
        (trimmed.as_slice(), Some(PrefixBreak::Edited)),
        (back, Some(PrefixBreak::Edited)),
    ] {
        let after = send(now);
        let told = after.plan.clone().following(&before.plan);
        assert_eq!(told.broke, broke);
        assert_eq!(told.cached_tokens, read_by_a_cache(&before, &after), "{broke:?}");
        assert_eq!(told.cached_tokens + told.new_tokens, after.tokens + after.fixed_tokens);
    }
}

#[test]
fn in_a_loop_it_says_what_the_plan_expected() {
    let mut messages = long(40);
    let mut before = send(&messages);
    let mut moved = 0;
    for at in 0..12 {
        // Some results are too long, and sent as excerpts.
        let words = if at % 3 == 0 { 400 } else { 15 };
        messages.extend(step(&format!("c{at}"), "x", &filler(&format!("r{at}x"), words)));
        let after = send(&messages);
        let told = after.plan.clone().following(&before.plan);
        assert_eq!(told.broke, after.plan.broke, "step {at}");
        assert_eq!(told.cached_tokens, read_by_a_cache(&before, &after), "step {at}");
        if told.broke.is_none() {
            assert_eq!(told.cached_tokens, after.plan.cached_tokens, "step {at}");
        }
        moved += i64::from(told.broke.is_some());
        before = after;
    }
    assert!(moved > 0, "the cut has moved in the meantime");
}

#[test]
fn nothing_is_known_of_a_conversation_on_the_server() {
    let item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
    let input: Vec<Value> = (0..60)
        .map(|at| item(if at % 2 == 0 { "user" } else { "assistant" }, &filler("w", 20)))
        .chain([item("user", "And now?")])
        .collect();
    let mut body = json!({"model": "gpt-4o", "input": input});
    let settings = Settings::new(WINDOW);
    let known = settings.send_json(Endpoint::Responses, body.to_string()).unwrap();
    assert!(known.plan.broke != Some(PrefixBreak::Unknown) && known.plan.cached_tokens > 0);
    body["previous_response_id"] = json!("resp_1");
    let unknown = settings.send_json(Endpoint::Responses, body.to_string()).unwrap();
    assert_eq!((unknown.plan.broke, unknown.plan.cached_tokens), (Some(PrefixBreak::Unknown), 0));
}
