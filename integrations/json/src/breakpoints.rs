//! Breakpoints of OpenAI's prompt cache, for models that match only at them.
//!
//! <https://platform.openai.com/docs/guides/prompt-caching>: from GPT-5.6 on a prefix is found only
//! where a request has a breakpoint, exactly. One stands on the newest message by itself;
//! `prompt_cache_breakpoint` on a part of a message sets others, of which the latest three are written
//! and the latest 80 are looked at. Messages of the assistant carry none.

use cupel::conversation::plan::CacheExpectation;
use cupel::conversation::{Edits, Message, Role};

use crate::models::CacheRule;
use crate::object::{Object, elements, string};
use crate::read::Endpoint;

/// No shorter prefix is cached.
const LEAST: i64 = 1_024;

/// Messages of a request that can carry a breakpoint of ours.
#[derive(Debug, Clone, Default)]
pub(crate) struct Markable {
    /// Empty where there shall be none.
    can: Vec<bool>,
    /// The model matches only at breakpoints, and they are ours.
    applies: bool,
    /// The request has tools, or calls in its history: a later call of the exchange may mark its question.
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
            Some(MarkPlace { role: message.role, opens: message.opens_exchange(), can_be_marked })
        };
        let places: Vec<MarkPlace> = sent.iter().filter_map(place).collect();
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
        // A request that is sent unchanged gets no marks.
        let places = match planned.whole {
            true => Breakpoints::default(),
            false => self.places(edits.messages(), &sent),
        };
        let CacheExpectation { mut cached_tokens, broke, mut same_recall, .. } = planned.expected;
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

/// Returns whether the caller has said how to cache: then there are no breakpoints but theirs.
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

/// Numbers of messages before the places where a request and the next one begin to differ.
///
/// Recalled text stands in the user's last message, so the next question changes that message. All before
/// it stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stable {
    /// Before the question.
    pub(crate) question: Option<usize>,
    /// Before the previous one: what the request before may have left in a cache.
    pub(crate) previous: Option<usize>,
}

impl Stable {
    /// `opens` says which of the messages that are sent are a user's own.
    pub(crate) fn of(opens: &[bool]) -> Self {
        let question = opens.iter().rposition(|opens| *opens);
        let before = |question: usize| opens.get(..question)?.iter().rposition(|opens| *opens);
        let previous = question.and_then(before);
        Self { question: question.filter(|at| *at > 0), previous: previous.filter(|at| *at > 0) }
    }
}

/// Facts of a message that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MarkPlace {
    pub(crate) role: Role,
    /// A user's own words are in it.
    pub(crate) opens: bool,
    /// It can carry a breakpoint.
    pub(crate) can_be_marked: bool,
}

/// Breakpoints for a cache that matches only at them, exactly, and writes at one on the newest
/// message by itself, besides the latest three of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Breakpoints {
    /// At the end of the instructions: all that is left when the cut has moved.
    pub(crate) head: Option<usize>,
    /// Before the question: written for the next one.
    pub(crate) question: Option<usize>,
    /// Place where the call before has written: in a tool loop its newest message, otherwise the place
    /// before the previous question.
    pub(crate) known: Option<usize>,
}

impl Breakpoints {
    /// Breakpoints for the messages that are sent, in their order.
    pub(crate) fn of(sent: &[MarkPlace]) -> Self {
        let opens: Vec<bool> = sent.iter().map(|place| place.opens).collect();
        let stable = Stable::of(&opens);
        let can = |at: &usize| sent.get(*at).is_some_and(|place| place.can_be_marked);
        // Assistants' messages carry none: then the one before them does.
        let last_before = |end: usize| (0..end).rev().find(can);
        let instructions = sent.iter().take_while(|place| place.role == Role::System).count();
        let question = stable.question.and_then(last_before);
        let previous = stable.previous.and_then(last_before);
        Self {
            head: last_before(instructions),
            question,
            known: newest_before(sent, &opens).filter(can).or(previous),
        }
    }

    /// The messages that are marked.
    pub(crate) fn all(self) -> impl Iterator<Item = usize> {
        [self.head, self.question, self.known].into_iter().flatten()
    }
}

/// The newest message of the call before, if the same question was asked in it.
fn newest_before(sent: &[MarkPlace], opens: &[bool]) -> Option<usize> {
    let question = opens.iter().rposition(|opens| *opens)?;
    let by_model = |place: &MarkPlace| place.role == Role::Assistant;
    let answered = sent.iter().rposition(by_model)?;
    let others = sent.get(..answered)?.iter().rposition(|place| !by_model(place))?;
    Some(others).filter(|at| *at >= question)
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

    /// `s`ystem, `u`ser, `a`ssistant, `t`ool.
    fn sent(roles: &str) -> Vec<MarkPlace> {
        let place = |role: char| MarkPlace {
            role: match role {
                's' => Role::System,
                'u' => Role::User,
                'a' => Role::Assistant,
                _ => Role::Tool,
            },
            opens: role == 'u',
            can_be_marked: role != 'a',
        };
        roles.chars().map(place).collect()
    }

    fn places(roles: &str) -> (Option<usize>, Option<usize>, Option<usize>) {
        let Breakpoints { head, question, known } = Breakpoints::of(&sent(roles));
        (head, question, known)
    }

    #[test]
    fn a_new_question_reads_what_was_written_before_the_previous_one() {
        assert_eq!(places("ssuauatau"), (Some(1), Some(6), Some(2)));
        // The call before wrote at the same place, before its own question.
        assert_eq!(places("ssua u".replace(' ', "").as_str()).1, Some(2));
    }

    #[test]
    fn a_loop_reads_what_was_written_on_the_newest_message_of_the_call_before() {
        assert_eq!(places("suauat"), (Some(0), Some(1), Some(3)));
        assert_eq!(places("suauatatt"), (Some(0), Some(1), Some(5)));
        assert_eq!(places("suauataatt"), (Some(0), Some(1), Some(5)));
    }

    #[test]
    fn there_are_none_where_nothing_can_carry_one() {
        assert_eq!(places("u"), (None, None, None));
        assert_eq!(places("uat"), (None, None, Some(0)));
        assert_eq!(places(""), (None, None, None));
        let mut bare = sent("suauat");
        bare.iter_mut().for_each(|place| place.can_be_marked = false);
        assert_eq!(Breakpoints::of(&bare), Breakpoints::default());
    }
}
