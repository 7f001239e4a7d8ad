//! Breakpoints of OpenAI's prompt cache, for models that match only at them.
//!
//! <https://platform.openai.com/docs/guides/prompt-caching>: from GPT-5.6 on a prefix is found only
//! where a request has a breakpoint, exactly. One stands on the newest message by itself;
//! `prompt_cache_breakpoint` on a part of a message sets others, of which the latest three are written
//! and the latest 80 are looked at. Messages of the assistant carry none.

use cupel::conversation::plan::Expected;
use cupel::conversation::{Edits, Message};

use crate::marks::{Breakpoints, Place};
use crate::models::CacheRule;
use crate::read::{Endpoint, Object, elements, string};

/// No shorter prefix is cached.
const LEAST: i64 = 1_024;

/// Which messages of a request can carry a breakpoint of ours.
#[derive(Debug, Clone, Default)]
pub(crate) struct Markable {
    /// Empty where there shall be none.
    can: Vec<bool>,
    /// The model matches only at breakpoints, and they are ours.
    applies: bool,
    /// Whether the model can call tools: a later call of the exchange then marks its question.
    pub(crate) loops: bool,
}

impl Markable {
    /// Looks at the messages of a request. Where the caller has set breakpoints, ours stay away.
    pub(crate) fn read(rule: CacheRule, loops: bool, endpoint: Endpoint, json: &[&str]) -> Self {
        let own = || json.iter().any(|json| json.contains("\"prompt_cache_breakpoint\""));
        if rule != CacheRule::Breakpoints || own() {
            return Self::default();
        }
        let can = json.iter().map(|json| can_be_marked(endpoint, json)).collect();
        Self { can, applies: true, loops }
    }

    /// The breakpoints of what is sent: these messages of a conversation.
    pub(crate) fn places(&self, read: &[Message], sent: &[usize]) -> Breakpoints {
        let place = |at: &usize| {
            let message = read.get(*at)?;
            let can_be_marked = self.can.get(*at) == Some(&true);
            Some(Place { role: message.role, opens: message.opens_exchange(), can_be_marked })
        };
        let places: Vec<Place> = sent.iter().filter_map(place).collect();
        if self.applies { Breakpoints::of(&places) } else { Breakpoints::default() }
    }

    /// Lowers what a plan expects of the cache to what breakpoints can bring.
    pub(crate) fn expect(&self, edits: &mut Edits) {
        let Some(planned) = edits.plan.as_ref().filter(|_| self.applies) else { return };
        let units = planned.parts.iter().enumerate().filter(|(_, part)| part.is_sent());
        let units: Vec<usize> = units.map(|(unit, _)| unit).collect();
        let mut sent: Vec<usize> =
            units.iter().flat_map(|unit| edits.messages_of(*unit)).copied().collect();
        sent.sort_unstable();
        // What is sent as it came is not marked.
        let places = match planned.whole {
            true => Breakpoints::default(),
            false => self.places(edits.messages(), &sent),
        };
        let Expected { mut cached_tokens, broke, mut same_recall, .. } = planned.expected;
        let end = if broke.is_some() { places.head } else { places.known.or(places.head) };
        let end = end.and_then(|end| sent.get(end).copied());
        let up_to = |end: usize| {
            let begun = units.iter().filter(|unit| {
                edits.messages_of(**unit).first().is_some_and(|first| *first <= end)
            });
            let tokens = begun.filter_map(|unit| planned.tokens.get(*unit));
            tokens.copied().fold(edits.fixed_tokens, i64::saturating_add)
        };
        cached_tokens = cached_tokens.min(end.map_or(0, up_to));
        same_recall &= end.zip(planned.question).is_some_and(|(end, question)| end >= question);
        if cached_tokens < LEAST {
            cached_tokens = 0;
            same_recall = false;
        }
        if let Some(expected) = edits.expected_mut() {
            expected.cached_tokens = cached_tokens;
            expected.same_recall = same_recall;
        }
    }
}

/// Whether the caller has said how to cache: then there are no breakpoints but theirs.
pub(crate) fn has_own_options(request: &Object<'_>) -> bool {
    let options = request.object("prompt_cache_options");
    options.is_some_and(|options| options.text("mode").is_some_and(|mode| mode == "explicit"))
}

/// Parts that carry a breakpoint.
const PARTS: [&str; 7] =
    ["text", "image_url", "input_audio", "file", "input_text", "input_image", "input_file"];

fn can_be_marked(endpoint: Endpoint, json: &str) -> bool {
    let message = Object::parse(json).unwrap_or_default();
    let kind = message.text("type");
    let content = match kind.as_deref() {
        Some("function_call_output" | "custom_tool_call_output")
            if endpoint == Endpoint::Responses =>
        {
            message.raw("output")
        }
        None | Some("message") => {
            let role = message.text("role");
            let roles = ["system", "developer", "user", "tool"];
            let can = role.is_some_and(|role| roles.contains(&&*role));
            message.raw("content").filter(|_| can)
        }
        Some(_) => None,
    };
    let Some(content) = content else { return false };
    if let Some(text) = string(content) {
        return !text.is_empty();
    }
    let last = elements(content).and_then(|parts| Object::parse(parts.last()?.get()));
    last.is_some_and(|part| {
        let known = part.text("type").is_some_and(|kind| PARTS.contains(&&*kind));
        known && part.text("text").is_none_or(|text| !text.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_assistant_and_items_of_other_types_carry_none() {
        let chat = |json: &str| can_be_marked(Endpoint::Chat, json);
        assert!(chat(r#"{"role":"user","content":"a"}"#));
        assert!(chat(r#"{"role":"tool","tool_call_id":"1","content":"a"}"#));
        assert!(chat(
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}"#
        ));
        assert!(!chat(r#"{"role":"assistant","content":"a"}"#));
        assert!(!chat(r#"{"role":"user","content":""}"#));
        assert!(!chat(r#"{"role":"user","content":[]}"#));
        assert!(!chat(r#"{"role":"user","content":[{"type":"other"}]}"#));
        let item = |json: &str| can_be_marked(Endpoint::Responses, json);
        assert!(item(r#"{"role":"user","content":"a"}"#));
        assert!(item(r#"{"type":"function_call_output","call_id":"1","output":"a"}"#));
        assert!(!item(r#"{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}"#));
        assert!(!item(r#"{"type":"computer_call_output","call_id":"1","output":{}}"#));
        assert!(!item(r#"{"type":"reasoning","summary":[]}"#));
    }

    #[test]
    fn a_callers_mode_counts_only_where_it_turns_the_implicit_breakpoint_off() {
        let own = |json: &str| has_own_options(&Object::parse(json).unwrap());
        assert!(own(r#"{"prompt_cache_options":{"mode":"explicit"}}"#));
        assert!(!own(r#"{"prompt_cache_options":{"ttl":"30m"}}"#));
        assert!(!own(r#"{"prompt_cache_key":"k"}"#));
    }
}
