//! Where the texts of tools' results stand in a message.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::read::{Object, elements};
use crate::request::place;

/// The literals of all texts in a message's tool results, in their order, as places in its JSON.
pub(super) fn texts(json: &str) -> Vec<Range<usize>> {
    let Some(message) = Object::parse(json) else { return Vec::new() };
    let blocks = message.array("content").unwrap_or_default();
    let mut found = Vec::new();
    for block in blocks.into_iter().filter_map(parsed).filter(|block| is(block, "tool_result")) {
        let Some(content) = block.raw("content") else { continue };
        if content.get().starts_with('"') {
            found.extend(place(json, content));
            continue;
        }
        let parts = elements(content).unwrap_or_default();
        for part in parts.into_iter().filter_map(parsed).filter(|part| is(part, "text")) {
            let text = part.raw("text").filter(|text| text.get().starts_with('"'));
            found.extend(text.and_then(|text| place(json, text)));
        }
    }
    found
}

fn parsed(raw: &RawValue) -> Option<Object<'_>> {
    Object::parse(raw.get())
}

pub(super) fn is(block: &Object<'_>, kind: &str) -> bool {
    block.text("type").is_some_and(|found| found == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_a_result_is_found_where_it_stands() {
        let json = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x\n"},
            {"type":"tool_result","content":[{"type":"text","text":"y"},{"type":"image"},
            {"type":"text","text":"z"}],"tool_use_id":"b"},{"type":"text","text":"mine"}]}"#;
        let found: Vec<&str> = texts(json).into_iter().map(|range| &json[range]).collect();
        assert_eq!(found, [r#""x\n""#, r#""y""#, r#""z""#]);
        assert!(texts(r#"{"role":"user","content":"plain"}"#).is_empty());
        assert!(texts("7").is_empty());
    }
}
