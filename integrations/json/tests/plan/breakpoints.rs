//! A prompt cache that matches only at breakpoints, exactly, over a growing conversation.

use std::collections::HashSet;

use cupel_json::Endpoint;
use serde_json::{Value, json};

use crate::support::{SentSummary, Settings, assistant, filler, step, system, tokens, user};

const FIELD: &str = "prompt_cache_breakpoint";

/// Written prefixes, by their bytes.
#[derive(Default)]
struct Cache {
    written: HashSet<String>,
}

impl Cache {
    /// The tokens of a request that are read. One breakpoint stands on the newest message by itself;
    /// the latest three of the others are written, and the latest 80 are looked at.
    fn serve(&mut self, messages: &[Value]) -> i64 {
        let (mut bytes, mut sum) = (String::new(), 3);
        let mut points = Vec::new();
        let mut newest = None;
        for message in messages {
            let (message, marked) = without_marks(message);
            sum += tokens(&message);
            bytes.push_str(&message.to_string());
            newest = Some((bytes.clone(), sum));
            if marked {
                points.push((bytes.clone(), sum));
            }
        }
        let own = points.iter().rev().take(3).cloned().collect::<Vec<_>>();
        points.extend(newest.clone());
        let read = points.iter().rev().take(80).find(|(bytes, _)| self.written.contains(bytes));
        let read = read.map_or(0, |(_, tokens)| *tokens);
        let long = own.into_iter().chain(newest).filter(|(_, tokens)| *tokens >= 1_024);
        self.written.extend(long.map(|(bytes, _)| bytes));
        read
    }
}

/// A message as the model sees it, and whether it carries a breakpoint.
fn without_marks(message: &Value) -> (Value, bool) {
    let mut message = message.clone();
    let mut marked = false;
    if let Some(parts) = message["content"].as_array_mut() {
        for part in parts.iter_mut() {
            marked |= part.as_object_mut().unwrap().remove(FIELD).is_some();
        }
        let texts: String = parts.iter().map(|part| part["text"].as_str().unwrap()).collect();
        message["content"] = json!(texts);
    }
    (message, marked)
}

/// The places of the messages with a breakpoint.
fn marked(sent: &SentSummary) -> Vec<usize> {
    let marked = sent.messages.iter().enumerate().filter(|(_, message)| without_marks(message).1);
    marked.map(|(at, _)| at).collect()
}

fn settings() -> Settings {
    Settings { model: "gpt-5.6", ..Settings::new(4_000) }
}

/// A conversation with a loop now and then, and after how many messages the model was called.
fn conversation(turns: usize) -> (Vec<Value>, Vec<usize>) {
    let mut messages = vec![system(&filler("rule", 1_100))];
    let mut calls = Vec::new();
    for turn in 0..turns {
        messages.push(user(&filler(&format!("q{turn}x"), 40)));
        calls.push(messages.len());
        for at in 0..turn % 4 {
            let result = filler(&format!("r{turn}x{at}x"), 60);
            messages.extend(step(&format!("call-{turn}-{at}"), "{}", &result));
            calls.push(messages.len());
        }
        messages.push(assistant(&filler(&format!("a{turn}x"), 30)));
    }
    (messages, calls)
}

#[test]
fn every_call_reads_what_the_report_expects() {
    let (messages, calls) = conversation(44);
    let mut cache = Cache::default();
    let (mut planned, mut read, mut held) = (0, 0, 0);
    for known in calls {
        let sent = settings().send(&messages[..known]).unwrap();
        let seen = cache.serve(&sent.messages);
        let plan = &sent.plan;
        assert!(seen <= plan.cached_tokens, "{seen} read, {} expected", plan.cached_tokens);
        assert_eq!(plan.written_tokens, plan.new_tokens);
        if plan.whole {
            assert_eq!(&sent.messages[..], &messages[..known], "sent unchanged");
            continue;
        }
        assert!((1..=3).contains(&marked(&sent).len()), "{:?}", marked(&sent));
        planned += sent.tokens;
        read += seen;
        if plan.broke.is_none() {
            held += 1;
            assert_eq!(seen, plan.cached_tokens, "with {known} messages");
        }
    }
    assert!(held > 50, "{held} calls");
    assert!(read as f64 > 0.7 * planned as f64, "{read} of {planned} tokens were read");
}

#[test]
fn without_marks_the_same_conversation_reads_next_to_nothing() {
    let (messages, calls) = conversation(44);
    let mut cache = Cache::default();
    let mut read = 0;
    for known in calls {
        let sent = settings().send(&messages[..known]).unwrap();
        let bare: Vec<Value> = sent.messages.iter().map(|m| without_marks(m).0).collect();
        read += cache.serve(&bare);
    }
    assert_eq!(read, 0);
}

#[test]
fn models_that_match_any_prefix_and_unknown_ones_get_none() {
    let (messages, calls) = conversation(44);
    let known = *calls.last().unwrap();
    for model in ["gpt-4o", "gpt-5", "gpt-5.5"] {
        let sent = Settings { model, ..settings() }.send(&messages[..known]).unwrap();
        assert!(!sent.plan.whole && marked(&sent).is_empty(), "{model}");
    }
    let dated = Settings { model: "gpt-5.6-2026-05-01", ..settings() };
    assert!(!marked(&dated.send(&messages[..known]).unwrap()).is_empty());
}

#[test]
fn a_callers_own_settings_win() {
    let (mut messages, calls) = conversation(44);
    messages.truncate(*calls.last().unwrap());
    let body = |messages: &[Value]| json!({"model": "gpt-5.6", "messages": messages});
    let send = |body: &Value| settings().send_json(Endpoint::Chat, body.to_string()).unwrap();
    assert!(!marked(&send(&body(&messages))).is_empty());
    let mut explicit = body(&messages);
    explicit["prompt_cache_options"] = json!({"mode": "explicit"});
    assert!(marked(&send(&explicit)).is_empty());
    explicit["prompt_cache_options"] = json!({"mode": "implicit"});
    assert!(!marked(&send(&explicit)).is_empty());
    let text = messages[0]["content"].clone();
    messages[0]["content"] = json!([{"type": "text", "text": text, FIELD: {"mode": "explicit"}}]);
    assert_eq!(marked(&send(&body(&messages))), [0]);
}

#[test]
fn items_of_the_responses_api_carry_them_as_well() {
    let mut items = vec![json!({"type": "message", "role": "developer", "content": "Be brief."})];
    for turn in 0..40 {
        let id = format!("call-{turn}");
        items.extend([
            json!({"type": "message", "role": "user", "content": filler(&format!("q{turn}x"), 40)}),
            json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": id,
                "output": filler(&format!("r{turn}x"), 60)}),
        ]);
    }
    let body = json!({"model": "gpt-5.6", "input": items}).to_string();
    let sent = settings().send_json(Endpoint::Responses, body).unwrap();
    let newest = sent.messages.len() - 1;
    let with = |item: &Value| item.to_string().contains(FIELD);
    let places = (0..=newest).filter(|at| with(&sent.messages[*at]));
    // The head, the result before the question, and the question of the call before.
    assert_eq!(places.collect::<Vec<_>>(), [0, newest - 3, newest - 2]);
    let output = &sent.messages[newest - 3]["output"];
    assert_eq!(output[0]["type"], "input_text");
}
