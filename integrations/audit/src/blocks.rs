//! A message as a prompt cache sees it: blocks without their marks.

use cupel_json::Endpoint;
use serde_json::Value;

use crate::field;

/// Part of a request that a cache compares as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// Text of the block in one spelling, without marks.
    pub(crate) text: Box<str>,
    pub(crate) is_marked: bool,
}

/// Field with which a client marks a block for Anthropic's cache, and for OpenAI's.
const MARKS: [&str; 2] = ["cache_control", "prompt_cache_breakpoint"];

/// Reads the blocks of a message. Only Anthropic's cache looks inside a message.
pub(crate) fn blocks(endpoint: Endpoint, json: &str) -> Vec<Block> {
    let mut message = field::read(json);
    if endpoint != Endpoint::Messages {
        return vec![block("", &mut message)];
    }
    let role = field::text(&message, "role").to_owned();
    let content = message.get_mut("content").map(Value::take);
    match content.unwrap_or_default() {
        Value::Array(mut parts) => parts.iter_mut().map(|part| block(&role, part)).collect(),
        // A text is one block.
        text => vec![block(&role, &mut serde_json::json!({"type": "text", "text": text}))],
    }
}

/// Reads everything that stands before the messages as one block: tools and instructions.
pub(crate) fn head<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Block {
    const PROMPT: [&str; 4] = ["tools", "functions", "system", "instructions"];
    let mut head = Block { text: "".into(), is_marked: false };
    let mut text = String::new();
    for (name, json) in fields.filter(|(name, _)| PROMPT.contains(name)) {
        let mut value = field::read(json);
        let part = block(name, &mut value);
        head.is_marked |= part.is_marked;
        text.push_str(&part.text);
    }
    head.text = text.into();
    head
}

fn block(role: &str, value: &mut Value) -> Block {
    let is_marked = take_marks(value);
    if is_marked {
        // A text that had to become a part to carry a mark is still that text.
        for name in ["content", "system"] {
            let single = match value.get(name).and_then(Value::as_array).map(Vec::as_slice) {
                Some([part]) if field::text(part, "type") == "text" => part.get("text").cloned(),
                _ => None,
            };
            if let (Some(single), Some(whole)) = (single, value.get_mut(name)) {
                *whole = single;
            }
        }
    }
    Block { text: format!("{role}{value}\n").into(), is_marked }
}

/// Removes all marks, and says whether there were any.
fn take_marks(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => {
            let before = fields.len();
            fields.retain(|name, _| !MARKS.contains(&name.as_str()));
            let own = fields.len() < before;
            fields.values_mut().fold(own, |found, value| take_marks(value) | found)
        }
        Value::Array(list) => list.iter_mut().fold(false, |found, value| take_marks(value) | found),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_does_not_change_the_text_of_its_block() {
        let plain = blocks(Endpoint::Chat, r#"{"role":"user","content":"Hi"}"#);
        let marked = blocks(
            Endpoint::Chat,
            r#"{"role":"user","content":[{"type":"text","text":"Hi","prompt_cache_breakpoint":{}}]}"#,
        );
        assert_eq!(plain[0].text, marked[0].text);
        assert!(!plain[0].is_marked && marked[0].is_marked);
        let claude = blocks(
            Endpoint::Messages,
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}"#,
        );
        assert_eq!(claude.iter().map(|block| block.is_marked).collect::<Vec<_>>(), [false, true]);
    }
}
