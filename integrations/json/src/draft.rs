//! A message that is to be sent with a few slices of its JSON changed.

use std::borrow::Cow;
use std::ops::Range;

use cupel::gather::BoxError;
use serde_json::value::RawValue;

use crate::object::{Object, elements, place, text_of};
use crate::read::Endpoint;

/// Changes of one message; everything else of it stays byte for byte.
#[derive(Debug)]
pub(crate) struct RequestDraft<'a> {
    endpoint: Endpoint,
    json: &'a str,
    /// Range of the content.
    at: Range<usize>,
    content: DraftContent<'a>,
    /// Set once it has a mark of ours.
    marked: bool,
    /// Keeps a text as a part of its own behind the text that is put before it.
    apart: bool,
    /// Slices with something else in their place.
    changes: Vec<(Range<usize>, String)>,
}

#[derive(Debug)]
enum DraftContent<'a> {
    /// A text instead of parts: its literal, the literal of the text before it, and its mark.
    Text {
        literal: Cow<'a, str>,
        before: String,
        mark: String,
    },
    Parts(Vec<ContentPart>),
    Unknown,
}

/// Parts of Anthropic's that carry marks of the cache; thinking does not, and of others nothing is
/// known.
const MARKABLE: [&str; 6] =
    ["text", "image", "document", "search_result", "tool_use", "tool_result"];

/// A part of a message.
#[derive(Debug)]
struct ContentPart {
    at: Range<usize>,
    is_result: bool,
    can_be_marked: bool,
}

impl<'a> RequestDraft<'a> {
    pub(crate) fn new(endpoint: Endpoint, json: &'a str) -> Self {
        let (at, content) = read(endpoint, json).unwrap_or((0..0, DraftContent::Unknown));
        Self { endpoint, json, at, content, marked: false, apart: false, changes: Vec::new() }
    }

    /// The unchanged message.
    pub(crate) fn json(&self) -> &'a str {
        self.json
    }

    /// Puts a text before everything else that the user says, but behind results of tools: Anthropic
    /// wants those first. Returns false if the content is neither a text nor parts.
    pub(crate) fn prepend(&mut self, text: &str) -> serde_json::Result<bool> {
        let literal = serde_json::to_string(text)?;
        let part = self.text_part(&literal, "");
        match &mut self.content {
            DraftContent::Text { before, .. } => *before = literal,
            DraftContent::Parts(parts) => {
                let results = parts.iter().take_while(|part| part.is_result);
                let start = self.at.start + 1;
                let (at, new) = match results.last() {
                    Some(last) => (last.at.end, format!(",{part}")),
                    None if parts.is_empty() => (start, part),
                    None => (start, format!("{part},")),
                };
                self.changes.push((at..at, new));
            }
            DraftContent::Unknown => return Ok(false),
        }
        Ok(true)
    }

    /// Keeps a text apart from what is put before it, as if it were marked. Another call of the same
    /// exchange marks it, and the cache of that call knows only the same parts.
    pub(crate) fn keep_apart(&mut self) {
        self.apart = true;
    }

    /// As [`prepend`](Self::prepend), but a content that is a text stays one text, also where it is
    /// marked: the cache knows the same parts whether a call marks the message or not.
    pub(crate) fn prefix(&mut self, text: &str) -> serde_json::Result<bool> {
        let DraftContent::Text { literal, .. } = &mut self.content else {
            return self.prepend(text);
        };
        *literal = joined(&serde_json::to_string(text)?, literal).into();
        Ok(true)
    }

    /// Puts standing orders, and what is recalled behind them, before the user's words.
    pub(crate) fn put_before(
        &mut self,
        standing: Option<&str>,
        quotation: Option<&str>,
    ) -> serde_json::Result<bool> {
        match (standing, quotation) {
            (Some(standing), Some(quotation)) => self.prepend(&format!("{standing}{quotation}")),
            (Some(standing), None) => self.prefix(standing),
            (None, Some(quotation)) => self.prepend(quotation),
            (None, None) => Ok(true),
        }
    }

    /// Puts other JSON in the place of a slice.
    pub(crate) fn replace(&mut self, at: Range<usize>, json: String) {
        self.changes.push((at, json));
    }

    /// Puts a text in the place of all content; whether there is any.
    fn replace_content(&mut self, text: &str) -> serde_json::Result<bool> {
        let is_known = !matches!(self.content, DraftContent::Unknown);
        if is_known {
            let literal = serde_json::to_string(text)?.into();
            self.content =
                DraftContent::Text { literal, before: String::new(), mark: String::new() };
        }
        Ok(is_known)
    }

    /// Marks the last part that can carry a mark of the cache with this field; whether there is one.
    /// A message is marked once.
    pub(crate) fn mark(&mut self, field: &str) -> bool {
        let is_claude = self.endpoint == Endpoint::Messages;
        let field = format!(",{field}");
        let made = !self.marked
            && match &mut self.content {
                DraftContent::Text { literal, mark, .. } if !is_claude || !is_blank(literal) => {
                    *mark = field;
                    true
                }
                DraftContent::Parts(parts) => {
                    let last = parts.iter().rev().find(|part| part.can_be_marked);
                    let at = last.and_then(|part| part.at.end.checked_sub(1));
                    self.changes.extend(at.map(|at| (at..at, field)));
                    at.is_some()
                }
                DraftContent::Text { .. } | DraftContent::Unknown => false,
            };
        self.marked |= made;
        made
    }

    /// A part that is text, by its literal.
    fn text_part(&self, literal: &str, mark: &str) -> String {
        let is_item = self.endpoint == Endpoint::Responses;
        let kind = if is_item { "input_text" } else { "text" };
        format!(r#"{{"type":"{kind}","text":{literal}{mark}}}"#)
    }

    /// The message as it is sent.
    pub(crate) fn write(mut self) -> String {
        let mut changes = std::mem::take(&mut self.changes);
        if let DraftContent::Text { literal, before, mark } = &self.content {
            let own = || self.text_part(literal, mark);
            let is_apart = self.apart && !is_blank(literal);
            let new = match (before.is_empty(), mark.is_empty()) {
                (true, true) => literal.to_string(),
                // Some servers take no parts, so a text stays a text.
                (false, true) if !is_apart => joined(before, literal),
                (true, false) => format!("[{}]", own()),
                (false, _) => format!("[{},{}]", self.text_part(before, ""), own()),
            };
            changes.push((self.at.clone(), new));
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

/// The literal of two texts in a row.
fn joined(before: &str, literal: &str) -> String {
    let before = before.strip_suffix('"').unwrap_or(before);
    format!("{before}{}", literal.strip_prefix('"').unwrap_or(literal))
}

/// The content of a message, and where it stands.
fn read(endpoint: Endpoint, json: &str) -> Option<(Range<usize>, DraftContent<'_>)> {
    let message = Object::parse(json)?;
    let content = ["content", "output", "result"].iter().find_map(|name| message.raw(name))?;
    let at = place(json, content)?;
    if content.get().starts_with('"') {
        let (before, mark) = (String::new(), String::new());
        return Some((at, DraftContent::Text { literal: content.get().into(), before, mark }));
    }
    let part = |raw: &RawValue| {
        let part = Object::parse(raw.get()).unwrap_or_default();
        let is_blank = part.text("text").is_some_and(|text| text.trim().is_empty());
        let is_markable = MARKABLE.iter().any(|kind| part.is(kind));
        let can = is_markable && !is_blank && !part.has("cache_control");
        Some(ContentPart {
            at: place(json, raw)?,
            is_result: part.is("tool_result"),
            // Of OpenAI's it is known before a message is marked.
            can_be_marked: can || endpoint != Endpoint::Messages,
        })
    };
    let parts = elements(content)?.into_iter().map(part).collect::<Option<_>>()?;
    Some((at, DraftContent::Parts(parts)))
}

fn is_blank(literal: &str) -> bool {
    text_of(literal).is_none_or(|text| text.trim().is_empty())
}

/// Changes that a plan makes to one message of OpenAI's APIs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// Text in the place of a tool's result.
    pub(crate) excerpt: Option<String>,
    /// Standing orders before the user's words, and before what is recalled.
    pub(crate) standing: Option<String>,
    /// Text before the user's words.
    pub(crate) quotation: Option<String>,
    /// Keeps the quotation as a part of its own, as calls that mark the message need it.
    pub(crate) apart: bool,
    /// Sets a mark at which a prompt cache may end.
    pub(crate) breakpoint: bool,
}

/// Mark at which a provider's prompt cache may end.
const BREAKPOINT: &str = r#""prompt_cache_breakpoint":{"mode":"explicit"}"#;

impl Edit {
    /// Changes the JSON of a message.
    pub(crate) fn apply(&self, endpoint: Endpoint, json: &str) -> Result<String, BoxError> {
        let mut draft = RequestDraft::new(endpoint, json);
        if let Some(text) = &self.excerpt {
            let found = draft.replace_content(text)?;
            found.then_some(()).ok_or("a result without a text to cut")?;
        }
        let found = draft.put_before(self.standing.as_deref(), self.quotation.as_deref())?;
        found.then_some(()).ok_or("a user's message whose content is neither text nor parts")?;
        if self.apart {
            draft.keep_apart();
        }
        if self.breakpoint {
            let found = draft.mark(BREAKPOINT);
            found.then_some(()).ok_or("a message whose content is neither text nor parts")?;
        }
        Ok(draft.write())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

    fn drafted(json: &str, change: impl FnOnce(&mut RequestDraft<'_>)) -> String {
        let mut draft = RequestDraft::new(Endpoint::Messages, json);
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
            assert!(draft.prepend("<b>\n").unwrap());
            assert!(draft.mark(MARK));
        });
        let expected = r#"{ "role":"user", "x":1, "content" : [{"type":"text","text":"<b>\n"},{"type":"text","text":"q\u0041","cache_control":{"type":"ephemeral"}}] }"#;
        assert_eq!(both, expected);
        assert!(
            !RequestDraft::new(Endpoint::Messages, r#"{"role":"user","content":" "}"#).mark(MARK)
        );
    }

    #[test]
    fn results_stay_first_and_thoughts_are_not_marked() {
        let json = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"} , {"type":"text","text":"q"}]}"#;
        let with = drafted(json, |draft| assert!(draft.prepend("c").unwrap()));
        let at = |part: &str| with.find(part).unwrap();
        assert!(at("tool_result") < at(r#""c""#) && at(r#""c""#) < at(r#""q""#));
        let json = r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"text","text":" "},{"type":"thinking","thinking":"h","signature":"s"}]}"#;
        let marked = drafted(json, |draft| assert!(draft.mark(MARK)));
        assert!(
            marked.contains(r#"{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}"#)
        );
        assert!(marked.contains(r#"{"type":"thinking","thinking":"h","signature":"s"}"#));
        let only = r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"d"}]}"#;
        assert!(!RequestDraft::new(Endpoint::Messages, only).mark(MARK));
    }

    #[test]
    fn a_slice_is_replaced_where_it_stands() {
        let json = r#"{"content":[{"type":"tool_result","content":"long","tool_use_id":"a"}]}"#;
        let at = json.find(r#""long""#).unwrap();
        let short = drafted(json, |draft| draft.replace(at..at + 6, r#""s""#.to_owned()));
        assert_eq!(short, json.replace("long", "s"));
    }

    fn apply(edit: &Edit, endpoint: Endpoint, json: &str) -> String {
        let edited = edit.apply(endpoint, json).unwrap();
        assert!(Object::parse(&edited).is_some(), "{edited}");
        edited
    }

    #[test]
    fn a_result_is_cut_where_it_stands() {
        let edit = Edit { excerpt: Some("a\n[…]".into()), ..Edit::default() };
        let chat = r#"{ "role":"tool", "x" : 1.50, "content" : "long \u0041", "tool_call_id":"7"}"#;
        let expected = r#"{ "role":"tool", "x" : 1.50, "content" : "a\n[…]", "tool_call_id":"7"}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, chat), expected);
        let item = r#"{"type":"function_call_output","call_id":"7","output":["long"]}"#;
        let expected = r#"{"type":"function_call_output","call_id":"7","output":"a\n[…]"}"#;
        assert_eq!(apply(&edit, Endpoint::Responses, item), expected);
    }

    #[test]
    fn a_text_stays_a_text_behind_a_quotation_unless_it_is_marked() {
        let mut edit = Edit { quotation: Some("q\"\n".into()), ..Edit::default() };
        let text = r#"{"role":"user","content":"Hi \u0041\ud83d","name":"n"}"#;
        let expected = r#"{"role":"user","content":"q\"\nHi \u0041\ud83d","name":"n"}"#;
        for endpoint in [Endpoint::Chat, Endpoint::Responses, Endpoint::Messages] {
            assert_eq!(apply(&edit, endpoint, text), expected);
        }
        edit.apart = true;
        let parts = r#"{"role":"user","content":[{"type":"text","text":"q\"\n"},{"type":"text","text":"Hi \u0041\ud83d"}],"name":"n"}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, text), parts);
        edit.breakpoint = true;
        let expected = r#"{"role":"user","content":[{"type":"text","text":"q\"\n"},{"type":"text","text":"Hi \u0041\ud83d","prompt_cache_breakpoint":{"mode":"explicit"}}],"name":"n"}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, text), expected);
    }

    #[test]
    fn a_quotation_is_the_first_part() {
        let edit = Edit { quotation: Some("q\"".into()), ..Edit::default() };
        let parts = r#"{"role":"user","content": [ {"type":"input_text","text":"Hi"} ]}"#;
        let expected = r#"{"role":"user","content": [{"type":"input_text","text":"q\""}, {"type":"input_text","text":"Hi"} ]}"#;
        assert_eq!(apply(&edit, Endpoint::Responses, parts), expected);
        assert!(edit.apply(Endpoint::Chat, r#"{"role":"user"}"#).is_err());
    }

    #[test]
    fn a_text_with_standing_orders_stays_a_text() {
        let edit = Edit { standing: Some("s\"\n".into()), ..Edit::default() };
        let text = r#"{"role":"user","content":"Hi \u0041","name":"n"}"#;
        let expected = r#"{"role":"user","content":"s\"\nHi \u0041","name":"n"}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, text), expected);
        let parts = r#"{"role":"user","content":[{"type":"text","text":"Hi"}]}"#;
        let expected = r#"{"role":"user","content":[{"type":"text","text":"s\"\n"},{"type":"text","text":"Hi"}]}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, parts), expected);
        // Before what is recalled.
        let both = Edit { quotation: Some("q".into()), ..edit };
        let expected = r#"{"role":"user","content":"s\"\nqHi \u0041","name":"n"}"#;
        assert_eq!(apply(&both, Endpoint::Chat, text), expected);
    }

    #[test]
    fn a_marker_stands_at_the_end_of_a_part_that_ends_with_an_object() {
        let edit = Edit { breakpoint: true, ..Edit::default() };
        let image = r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}"#;
        let expected = r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"},"prompt_cache_breakpoint":{"mode":"explicit"}}]}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, image), expected);
    }

    #[test]
    fn a_marker_stands_on_the_last_part() {
        let edit = Edit { breakpoint: true, ..Edit::default() };
        let text = r#"{"role":"user","content":"Hi"}"#;
        let expected = r#"{"role":"user","content":[{"type":"text","text":"Hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, text), expected);
        let parts =
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        let expected = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, parts), expected);
    }
}
