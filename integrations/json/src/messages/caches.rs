//! Marks of the prompt cache, and what the cache may know of a request.
//!
//! <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>: at most four blocks are
//! marked; what was written at a mark is found again from a later one within 20 blocks; longer lives
//! stand before shorter ones; thinking and empty texts carry none.

use std::ops::Range;

use cupel::conversation::Edits;
use cupel::conversation::plan::Part;
use cupel::gather::BoxError;
use serde_json::Value;

use crate::breakpoints::Stable;
use crate::draft::RequestDraft;
use crate::models::ClaudeModel;
use crate::object::{Object, elements, place, whole_characters};
use crate::request::JsonBody;

/// The most marks of a request.
const MOST: usize = 4;
/// So many blocks before a mark are looked at.
const LOOK_BACK: usize = 20;

const SHORT: &str = r#""cache_control":{"type":"ephemeral"}"#;
const LONG: &str = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;

/// The caller's own marks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    count: usize,
    /// The last place with one that lives for an hour: 0 is the head, then each message.
    last_long: Option<usize>,
    /// The server marks the last block by itself.
    automatic: bool,
}

impl Marks {
    /// Reads the marks of the head and of the messages that are sent.
    pub(super) fn read<'a>(request: &Object<'_>, sent: impl Iterator<Item = &'a str>) -> Self {
        let mut marks = Self::default();
        for raw in ["tools", "system"].iter().filter_map(|field| request.raw(field)) {
            marks.add(0, raw.get(), false);
        }
        let mut last = 0;
        for (at, json) in sent.enumerate() {
            last = at + 1;
            marks.add(last, json, true);
        }
        if let Some(control) = request.object("cache_control") {
            marks.automatic = true;
            marks.note(last, control.text("ttl").as_deref() == Some("1h"));
        }
        marks
    }

    /// Adds those of a list of blocks, or of a message's content.
    fn add(&mut self, place: usize, json: &str, is_message: bool) {
        if !json.contains("\"cache_control\"") {
            return;
        }
        let value: Value = serde_json::from_str(&whole_characters(json)).unwrap_or_default();
        let blocks = if is_message { value.get("content") } else { Some(&value) };
        let list =
            |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        for block in list(blocks) {
            for part in list(block.get("content")).iter().chain([&block]) {
                if let Some(control) = part.get("cache_control").and_then(Value::as_object) {
                    self.note(place, control.get("ttl").is_some_and(|ttl| ttl == "1h"));
                }
            }
        }
    }

    fn note(&mut self, place: usize, is_long: bool) {
        self.count += 1;
        if is_long {
            self.last_long = self.last_long.max(Some(place));
        }
    }

    /// Number of marks that may be added.
    fn room(&self) -> usize {
        MOST.saturating_sub(self.count)
    }

    /// A mark for a place: it may not live shorter than one of the caller's behind it.
    pub(super) fn control(&self, place: usize) -> &'static str {
        if self.last_long.is_some_and(|last| last >= place) { LONG } else { SHORT }
    }
}

/// Marks messages that are to be sent; `opens` says which are a user's own. A mark for the head, if
/// it is to have one.
pub(super) fn mark(
    json: &str,
    drafts: &mut [RequestDraft<'_>],
    opens: &[bool],
) -> Option<&'static str> {
    let request = Object::parse(json)?;
    let marks = Marks::read(&request, drafts.iter().map(RequestDraft::json));
    let stable = Stable::of(opens);
    let newest = request.has("tools") && !marks.automatic;
    // Places are one more than the numbers of messages, so a question's is that of the one before.
    let places = [stable.question, newest.then_some(drafts.len()), stable.previous, Some(0)];
    let mut head = None;
    let mut room = marks.room();
    for place in places.into_iter().flatten() {
        if room == 0 {
            break;
        }
        let control = marks.control(place);
        let made = match place.checked_sub(1).and_then(|at| drafts.get_mut(at)) {
            // A message of thoughts alone carries none, nor one that has its mark.
            Some(draft) => draft.mark(control),
            None => head.replace(control).is_none(),
        };
        room -= usize::from(made);
    }
    head
}

/// Marks the end of the instructions, or of the tools where there are none.
pub(super) fn mark_head<T>(body: &mut JsonBody<T>, mark: &str) -> Result<(), BoxError> {
    match head_mark(body.json(), mark) {
        Some((at, new)) => body.splice(at, &new),
        None => Ok(()),
    }
}

/// The mark of the head, and where it stands.
fn head_mark(json: &str, mark: &str) -> Option<(Range<usize>, String)> {
    let request = Object::parse(json)?;
    let list = match (request.raw("system"), request.raw("tools")) {
        (Some(text), _) if text.get().starts_with('"') => {
            let blank = request.text("system")?.trim().is_empty();
            let block = format!(r#"[{{"type":"text","text":{},{mark}}}]"#, text.get());
            return (!blank).then_some((place(json, text)?, block));
        }
        (system, tools) => system.or(tools)?,
    };
    let last = elements(list)?.pop()?;
    let object = Object::parse(last.get())?;
    let blank = object.text("text").is_some_and(|text| text.trim().is_empty());
    let end = place(json, last)?.end.checked_sub(1)?;
    let can_be_marked = !object.has("cache_control") && !blank;
    can_be_marked.then(|| (end..end, format!(",{mark}")))
}

/// Lowers the expectation to what marks can bring: nothing is cached without one, nor below the
/// model's least, and a mark finds only what was written within 20 blocks before it. `marked`:
/// the request gets marks of ours.
pub(super) fn by_marks<T>(edits: &mut Edits, body: &JsonBody<T>, marked: bool, model: ClaudeModel) {
    let fixed_tokens = edits.fixed_tokens;
    let Some(planned) = &mut edits.plan else { return };
    let texts: Vec<&str> = body.messages().collect();
    let request = Object::parse(body.json()).unwrap_or_default();
    let marks = Marks::read(&request, texts.iter().copied());
    let any = marked || marks.count > 0;
    // What was written at the end of the call before stands this many blocks before the end.
    let is_models = |json: &&str| {
        Object::parse(json).is_some_and(|m| m.text("role").as_deref() == Some("assistant"))
    };
    let since = texts.iter().rposition(is_models).unwrap_or(0);
    let far = texts.iter().skip(since).map(|json| blocks(json)).sum::<usize>() > LOOK_BACK;
    let before = planned.parts.iter().zip(&planned.tokens).filter(|(part, _)| part.is_sent());
    let before = before.take_while(|(part, _)| !matches!(part, Part::Question | Part::Exchange));
    let before = before.map(|(_, tokens)| *tokens).fold(fixed_tokens, i64::saturating_add);
    // Without tools only what stands before the question is marked.
    let newest = request.has("tools") || marks.automatic || !marked;
    planned.expected.written_up_to = match any {
        false => Some(0),
        true if newest => None,
        true => Some(before),
    };
    let cached = &mut planned.expected.cached_tokens;
    if far && marked {
        // The mark before the question is still in its place.
        *cached = (*cached).min(before);
        planned.expected.same_recall = false;
    }
    if !any || *cached < model.cached_from {
        *cached = 0;
        planned.expected.same_recall = false;
    }
}

/// Number of blocks of a message.
fn blocks(json: &str) -> usize {
    let content = Object::parse(json).and_then(|message| message.array("content"));
    content.map_or(1, |blocks| blocks.len())
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn marks(json: &str) -> Marks {
        let request = Object::parse(json).unwrap();
        let messages = request.array("messages").unwrap_or_default();
        Marks::read(&request, messages.into_iter().map(RawValue::get))
    }

    #[test]
    fn the_head_is_marked_at_its_end() {
        let marked = |json: &str| {
            let (at, new) = head_mark(json, SHORT)?;
            Some(format!("{}{new}{}", &json[..at.start], &json[at.end..]))
        };
        let text = marked(r#"{"system":"Be \u0041","tools":[{"name":"f"}]}"#).unwrap();
        assert_eq!(
            text,
            r#"{"system":[{"type":"text","text":"Be \u0041","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"f"}]}"#
        );
        let tools = marked(r#"{"tools":[{"name":"f"} ] }"#).unwrap();
        assert_eq!(tools, r#"{"tools":[{"name":"f","cache_control":{"type":"ephemeral"}} ] }"#);
        let blocks = r#"{"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        assert!(
            marked(blocks).unwrap().ends_with(r#""b","cache_control":{"type":"ephemeral"}}]}"#)
        );
        for bare in ["{}", r#"{"system":" "}"#, r#"{"system":[]}"#, r#"{"tools":[]}"#] {
            assert_eq!(marked(bare), None, "{bare}");
        }
    }

    #[test]
    fn the_callers_marks_are_found_wherever_they_stand() {
        let json = r#"{"tools":[{"name":"f","cache_control":{"type":"ephemeral","ttl":"1h"}}],
            "system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"cache_control"},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[
            {"type":"text","text":"r","cache_control":{"type":"ephemeral"}}]}]}]}"#;
        let found = marks(json);
        assert_eq!(found, Marks { count: 2, last_long: Some(0), automatic: false });
        assert_eq!(found.room(), 2);
        assert_eq!((found.control(0), found.control(1)), (LONG, SHORT));
        let automatic =
            marks(r#"{"cache_control":{"type":"ephemeral","ttl":"1h"},"messages":[{}]}"#);
        assert_eq!(automatic, Marks { count: 1, last_long: Some(1), automatic: true });
        assert_eq!(automatic.control(1), LONG);
        assert_eq!(marks(r#"{"messages":[]}"#).count, 0);
    }
}
