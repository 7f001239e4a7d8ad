//! Where marks of the prompt cache stand, and what it may know of a request.
//!
//! <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>: at most four blocks are
//! marked; what was written at a mark is found again from a later one within 20 blocks; longer lives
//! stand before shorter ones; thinking and empty texts carry none.

use cupel::gather::BoxError;
use serde_json::Value;

use super::draft::Draft;
use crate::marks::Stable;
use crate::read::{Object, elements};
use crate::request::{JsonBody, place};

/// The most marks of a request.
const MOST: usize = 4;
/// So many blocks before a mark are looked at.
pub(super) const LOOK_BACK: usize = 20;

const SHORT: &str = r#"{"type":"ephemeral"}"#;
const LONG: &str = r#"{"type":"ephemeral","ttl":"1h"}"#;

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
        for field in ["tools", "system"] {
            let raw = request.raw(field).map_or("", |raw| raw.get());
            marks.add(0, raw, false);
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
        let value: Value = serde_json::from_str(json).unwrap_or_default();
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

    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    /// How many more there may be.
    fn room(&self) -> usize {
        MOST.saturating_sub(self.count)
    }

    /// A mark for a place: it may not live shorter than one of the caller's behind it.
    pub(super) fn control(&self, place: usize) -> &'static str {
        if self.last_long.is_some_and(|last| last >= place) { LONG } else { SHORT }
    }

    /// Whether the server marks the last block by itself.
    pub(super) fn is_automatic(&self) -> bool {
        self.automatic
    }
}

/// Marks messages that are to be sent; `opens` says which are a user's own. A mark for the head, if
/// it is to have one.
pub(super) fn mark(json: &str, drafts: &mut [Draft<'_>], opens: &[bool]) -> Option<&'static str> {
    let request = Object::parse(json)?;
    let marks = Marks::read(&request, drafts.iter().map(Draft::json));
    let stable = Stable::of(opens);
    let newest = request.has("tools") && !marks.is_automatic();
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
pub(super) fn mark_head<T>(body: &mut JsonBody<T>, control: &str) -> Result<(), BoxError> {
    match with_head_marked(body.json(), control) {
        Some(json) => body.replace_json(json),
        None => Ok(()),
    }
}

fn with_head_marked(json: &str, control: &str) -> Option<String> {
    let request = Object::parse(json)?;
    let (at, new) = match (request.raw("system"), request.raw("tools")) {
        (Some(text), _) if text.get().starts_with('"') => {
            if request.text("system")?.trim().is_empty() {
                return None;
            }
            let block =
                format!(r#"[{{"type":"text","text":{},"cache_control":{control}}}]"#, text.get());
            (place(json, text)?, block)
        }
        (Some(list), _) | (None, Some(list)) => {
            let last = elements(list)?.pop()?;
            let object = Object::parse(last.get())?;
            let blank = object.text("text").is_some_and(|text| text.trim().is_empty());
            if object.has("cache_control") || blank {
                return None;
            }
            let end = place(json, last)?.end.checked_sub(1)?;
            (end..end, format!(r#","cache_control":{control}"#))
        }
        (None, None) => return None,
    };
    Some(format!("{}{new}{}", json.get(..at.start)?, json.get(at.end..)?))
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
        let marked = |json: &str| with_head_marked(json, SHORT);
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
        assert!(!marks(r#"{"messages":[]}"#).any());
    }
}
