//! Checks that a request keeps the rules of Anthropic's API and its window. The checker shares no
//! code with the adapter.

use serde_json::Value;

use super::cache::Blocks;

/// Finds the problem of the body of a request; none if it is valid.
pub fn problem(body: &Value, window: i64) -> Option<String> {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Some(format!("message {at} is not the {expected}'s"));
        }
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(wrong) = answers(at, blocks, &open).or_else(|| content(at, blocks)) {
            return Some(wrong);
        }
        open = of_type(blocks, "tool_use").filter_map(|block| block["id"].as_str()).collect();
    }
    if let Some(call) = open.first() {
        return Some(format!("call {call:?} has no answer"));
    }
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > 4 {
        return Some(format!("{marks} marks of the cache"));
    }
    let tokens = Blocks::new(body).tokens();
    (tokens > window).then(|| format!("{tokens} tokens in a window of {window}"))
}

/// The results of a message's calls come first in the next, each once.
fn answers(at: usize, blocks: &[Value], open: &[&str]) -> Option<String> {
    let results: Vec<&str> = blocks
        .iter()
        .take_while(|block| block["type"] == "tool_result")
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    if results.len() != of_type(blocks, "tool_result").count() {
        return Some(format!("message {at} has results behind something else"));
    }
    let (mut asked, mut answered) = (open.to_vec(), results);
    asked.sort_unstable();
    answered.sort_unstable();
    (asked != answered).then(|| format!("message {at} answers {answered:?}, called was {asked:?}"))
}

fn content(at: usize, blocks: &[Value]) -> Option<String> {
    let blank = |block: &Value| block["text"].as_str().is_none_or(|text| text.trim().is_empty());
    if blocks.is_empty() || of_type(blocks, "text").any(blank) {
        return Some(format!("message {at} has nothing in it, or an empty text"));
    }
    None
}

fn of_type<'a>(blocks: &'a [Value], kind: &'static str) -> impl Iterator<Item = &'a Value> {
    blocks.iter().filter(move |block| block["type"] == kind)
}
