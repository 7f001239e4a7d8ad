//! Checks that a request keeps the rules of the API and its window. The checker shares no code with
//! the adapter, and counts with another tokenizer.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use serde_json::Value;

use crate::session::Session;

/// Four characters to a token, in bytes of UTF-8 that begin a character; or another tokenizer than
/// the one in use.
fn tokens(text: &str) -> i64 {
    if std::env::var("CUPEL_TOKENS").as_deref() != Ok("bpe") {
        let characters = text.bytes().filter(|byte| byte & 0xc0 != 0x80).count();
        return (characters as i64 + 3) / 4;
    }
    static BPE: LazyLock<tiktoken_rs::CoreBPE> =
        LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());
    static KNOWN: LazyLock<Mutex<HashMap<String, i64>>> = LazyLock::new(Mutex::default);
    let known = KNOWN.lock().unwrap().get(text).copied();
    known.unwrap_or_else(|| {
        let tokens = BPE.encode_ordinary(text).len() as i64;
        KNOWN.lock().unwrap().insert(text.to_owned(), tokens);
        tokens
    })
}

/// Finds the problem of a request of the first `known` messages; none if it is valid.
pub fn problem(
    session: &Session,
    known: usize,
    messages: &[Value],
    places: &[usize],
    window: i64,
) -> Option<String> {
    let mut sum = 3;
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        sum += 3 + tokens(role) + content(message);
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(called) = open.iter().position(|call| call == id) else {
                return Some(format!("message {at} answers {id:?}, which was not called"));
            };
            open.remove(called);
            continue;
        }
        if !open.is_empty() {
            return Some(format!("call {:?} has no answer before message {at}", open[0]));
        }
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        open = calls.iter().map(|c| c["id"].as_str().unwrap_or_default().to_owned()).collect();
        if role == "assistant" && calls.is_empty() && content(message) == 0 {
            return Some(format!("message {at} says nothing"));
        }
    }
    if !open.is_empty() {
        return Some(format!("call {:?} has no answer", open[0]));
    }
    if sum > window {
        return Some(format!("{sum} tokens in a window of {window}"));
    }
    self::places(session, known, places).or_else(|| side_by_side(session, known, places))
}

/// Checks that the required messages are there, in their order.
pub fn places(session: &Session, known: usize, places: &[usize]) -> Option<String> {
    if places.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Some("messages are not in their order".to_owned());
    }
    let needed = session.question(known).into_iter().chain([known - 1]);
    let missing = needed.into_iter().find(|needed| !places.contains(needed));
    missing.map(|missing| format!("message {missing} of {known} is missing"))
}

/// The tokens of a message's texts and calls.
fn content(message: &Value) -> i64 {
    let text = match &message["content"] {
        Value::String(text) => tokens(text),
        Value::Array(parts) => {
            parts.iter().map(|part| tokens(part["text"].as_str().unwrap_or_default())).sum()
        }
        _ => 0,
    };
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls = calls.map(|call| {
        let function = &call["function"];
        let text = |field: &str| tokens(function[field].as_str().unwrap_or_default());
        1 + text("name") + text("arguments")
    });
    text + calls.sum::<i64>()
}

/// Two of one role side by side, where the conversation has none.
fn side_by_side(session: &Session, known: usize, places: &[usize]) -> Option<String> {
    let role = |at: usize| session.messages[at].role.as_str();
    for wrong in ["user", "assistant"] {
        let both = |a: usize, b: usize| role(a) == wrong && role(b) == wrong;
        let history = (1..known).any(|at| both(at - 1, at));
        let pair = places.windows(2).find(|pair| both(pair[0], pair[1]));
        if let (false, Some(pair)) = (history, pair) {
            return Some(format!("{wrong} next to {wrong}: messages {} and {}", pair[0], pair[1]));
        }
    }
    None
}
