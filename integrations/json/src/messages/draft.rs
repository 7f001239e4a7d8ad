//! A message that is to be sent with a few slices of its JSON changed.

use std::ops::Range;

use serde_json::value::RawValue;

use super::result::is;
use crate::read::{Object, elements, string};
use crate::request::place;

/// What is changed in a message; everything else of it stays byte for byte.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    json: &'a str,
    content: Content<'a>,
    /// Whether it has a mark of ours.
    marked: bool,
    /// Slices with something else in their place.
    changes: Vec<(Range<usize>, String)>,
}

#[derive(Debug)]
enum Content<'a> {
    /// A text instead of blocks: where it stands.
    Text {
        literal: &'a RawValue,
        at: Range<usize>,
        before: String,
        mark: String,
    },
    Blocks {
        list: Range<usize>,
        blocks: Vec<Block>,
    },
    Unknown,
}

/// Blocks that carry marks of the cache; thinking does not, and of others nothing is known.
const MARKABLE: [&str; 6] =
    ["text", "image", "document", "search_result", "tool_use", "tool_result"];

/// A block of a message.
#[derive(Debug)]
struct Block {
    at: Range<usize>,
    is_result: bool,
    can_be_marked: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(json: &'a str) -> Self {
        Self { json, content: Content::of(json), marked: false, changes: Vec::new() }
    }

    /// The message as it came.
    pub(super) fn json(&self) -> &'a str {
        self.json
    }

    /// Puts a text before everything else that the user says, but behind results of tools: the API
    /// wants those first.
    pub(super) fn prepend(&mut self, text: &str) -> serde_json::Result<()> {
        let block = format!(r#"{{"type":"text","text":{}}}"#, serde_json::to_string(text)?);
        match &mut self.content {
            Content::Text { before, .. } => *before = block,
            Content::Blocks { list, blocks } => {
                let results = blocks.iter().take_while(|block| block.is_result);
                let (at, new) = match results.last() {
                    Some(last) => (last.at.end, format!(",{block}")),
                    None if blocks.is_empty() => (list.start + 1, block),
                    None => (list.start + 1, format!("{block},")),
                };
                self.changes.push((at..at, new));
            }
            Content::Unknown => {}
        }
        Ok(())
    }

    /// Puts other JSON in the place of a slice.
    pub(super) fn replace(&mut self, at: Range<usize>, json: String) {
        self.changes.push((at, json));
    }

    /// Marks the last block that can carry a mark of the cache; whether there is one. A message is
    /// marked once.
    pub(super) fn mark(&mut self, control: &str) -> bool {
        if self.marked {
            return false;
        }
        self.marked = self.mark_last(control);
        self.marked
    }

    fn mark_last(&mut self, control: &str) -> bool {
        let field = format!(r#","cache_control":{control}"#);
        match &mut self.content {
            Content::Text { literal, mark, .. } => {
                let can = string(literal).is_some_and(|text| !text.trim().is_empty());
                if can {
                    *mark = field;
                }
                can
            }
            Content::Blocks { blocks, .. } => {
                let last = blocks.iter().rev().find(|block| block.can_be_marked);
                let at = last.and_then(|block| block.at.end.checked_sub(1));
                self.changes.extend(at.map(|at| (at..at, field)));
                at.is_some()
            }
            Content::Unknown => false,
        }
    }

    /// The message as it is sent.
    pub(super) fn write(self) -> String {
        let mut changes = self.changes;
        if let Content::Text { literal, at, before, mark } = self.content {
            if !before.is_empty() || !mark.is_empty() {
                let blank = string(literal).is_none_or(|text| text.trim().is_empty());
                let own = format!(r#"{{"type":"text","text":{}{mark}}}"#, literal.get());
                let both = match (before.is_empty(), blank) {
                    (true, _) => own,
                    (false, true) => before,
                    (false, false) => format!("{before},{own}"),
                };
                changes.push((at, format!("[{both}]")));
            }
        }
        changes.sort_by_key(|(at, _)| (at.start, at.end));
        let mut written = String::with_capacity(self.json.len());
        let mut done = 0;
        for (at, new) in changes {
            // Overlapping changes are not made; the first stands.
            let Some(kept) = self.json.get(done..at.start) else { continue };
            written.push_str(kept);
            written.push_str(&new);
            done = at.end;
        }
        written.push_str(self.json.get(done..).unwrap_or_default());
        written
    }
}

impl<'a> Content<'a> {
    fn of(json: &'a str) -> Self {
        Self::read(json).unwrap_or(Self::Unknown)
    }

    fn read(json: &'a str) -> Option<Self> {
        let content = Object::parse(json)?.raw("content")?;
        let at = place(json, content)?;
        if content.get().starts_with('"') {
            let (before, mark) = (String::new(), String::new());
            return Some(Self::Text { literal: content, at, before, mark });
        }
        let block = |raw: &RawValue| {
            let object = Object::parse(raw.get()).unwrap_or_default();
            let blank = object.text("text").is_some_and(|text| text.trim().is_empty());
            let marked = object.has("cache_control");
            Some(Block {
                at: place(json, raw)?,
                is_result: is(&object, "tool_result"),
                can_be_marked: MARKABLE.iter().any(|kind| is(&object, kind)) && !blank && !marked,
            })
        };
        let blocks = elements(content)?.into_iter().map(block).collect::<Option<_>>()?;
        Some(Self::Blocks { list: at, blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = r#"{"type":"ephemeral"}"#;

    fn drafted(json: &str, change: impl FnOnce(&mut Draft<'_>)) -> String {
        let mut draft = Draft::new(json);
        change(&mut draft);
        let written = draft.write();
        serde_json::from_str::<serde_json::Value>(&written).unwrap();
        written
    }

    #[test]
    fn nothing_changes_by_itself() {
        for json in [r#"{ "role":"user", "content" : "a" }"#, r#"{"content":[ ]}"#, "7", "{}"] {
            assert_eq!(drafted(json, |_| {}), json);
        }
    }

    #[test]
    fn a_text_becomes_blocks_and_its_literal_stays() {
        let json = r#"{ "role":"user", "x":1, "content" : "q\u0041" }"#;
        let both = drafted(json, |draft| {
            draft.prepend("<b>\n").unwrap();
            assert!(draft.mark(MARK));
        });
        let expected = r#"{ "role":"user", "x":1, "content" : [{"type":"text","text":"<b>\n"},{"type":"text","text":"q\u0041","cache_control":{"type":"ephemeral"}}] }"#;
        assert_eq!(both, expected);
        assert!(!Draft::new(r#"{"role":"user","content":" "}"#).mark(MARK));
    }

    #[test]
    fn results_stay_first_and_thoughts_are_not_marked() {
        let json = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"} , {"type":"text","text":"q"}]}"#;
        let with = drafted(json, |draft| draft.prepend("c").unwrap());
        let at = |part: &str| with.find(part).unwrap();
        assert!(at("tool_result") < at(r#""c""#) && at(r#""c""#) < at(r#""q""#));
        let json = r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"text","text":" "},{"type":"thinking","thinking":"h","signature":"s"}]}"#;
        let marked = drafted(json, |draft| assert!(draft.mark(MARK)));
        assert!(
            marked.contains(r#"{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}"#)
        );
        assert!(marked.contains(r#"{"type":"thinking","thinking":"h","signature":"s"}"#));
        let only = r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"d"}]}"#;
        assert!(!Draft::new(only).mark(MARK));
    }

    #[test]
    fn a_slice_is_replaced_where_it_stands() {
        let json = r#"{"content":[{"type":"tool_result","content":"long","tool_use_id":"a"}]}"#;
        let at = json.find(r#""long""#).unwrap();
        let short = drafted(json, |draft| draft.replace(at..at + 6, r#""s""#.to_owned()));
        assert_eq!(short, json.replace("long", "s"));
    }
}
