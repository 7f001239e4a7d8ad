//! Repeats in a conversation: a call of a tool that gave the same result before, and a user's message that
//! was sent before.

use std::ops::Range;

use crate::item::{Item, ToolUse};

/// A repeat, and the earlier items that it repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) kind: RepeatKind,
    /// Items that hold what is repeated: results of tools, or messages of the user.
    pub(crate) earlier: Vec<usize>,
    /// Name of the tool, or the user's words.
    pub(crate) what: String,
}

/// Kind of a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RepeatKind {
    /// A tool was called again, and gave the same result again.
    ToolCall,
    /// A user sent the same message again.
    UserMessage,
}

/// Shortest message of a user that counts: "yes, do it" is said again for good reasons.
const WORDS: usize = 4;
const CHARACTERS: usize = 20;

/// Calls of an answer that repeat earlier ones with the same result. A call that is repeated at once is
/// polling. A call whose result has ever changed in the conversation is polling, or reads what changes.
pub(crate) fn repeated_calls(items: &[Item], answer: Range<usize>) -> Vec<Repeat> {
    let mut repeats = Vec::new();
    for at in answer.clone() {
        let Some(item) = items.get(at) else { continue };
        for call in &item.calls {
            let Some(result) = result_of(items, at, call) else { continue };
            let same = items.iter().enumerate().flat_map(|(at, item)| {
                let calls = item.calls.iter().filter(|other| is_same(call, other));
                calls.map(move |other| (at, other))
            });
            let same: Vec<(usize, (usize, &str))> =
                same.filter_map(|(at, other)| Some((at, result_of(items, at, other)?))).collect();
            let earlier: Vec<usize> = same
                .iter()
                .filter(|(other, _)| *other < answer.start)
                .map(|(_, (result, _))| *result)
                .collect();
            let is_stable = same.iter().all(|(_, (_, text))| *text == result.1);
            let last = earlier.iter().max().copied();
            let is_apart =
                last.is_some_and(|last| has_between(items, last + 1..answer.start, call));
            if is_stable && is_apart {
                let what = call.name.clone();
                repeats.push(Repeat { kind: RepeatKind::ToolCall, earlier, what });
            }
        }
    }
    repeats
}

/// The user's newest message, if it repeats an earlier one.
pub(crate) fn repeated_message(items: &[Item]) -> Option<Repeat> {
    let (last, before) = items.split_last()?;
    let words = last.words.as_deref()?;
    let plain = plain(words);
    if plain.split(' ').count() < WORDS || plain.chars().count() < CHARACTERS {
        return None;
    }
    let is_same =
        |item: &Item| item.words.as_deref().is_some_and(|other| self::plain(other) == plain);
    let earlier: Vec<usize> =
        before.iter().enumerate().filter(|(_, item)| is_same(item)).map(|(at, _)| at).collect();
    let what = words.to_owned();
    (!earlier.is_empty()).then_some(Repeat { kind: RepeatKind::UserMessage, earlier, what })
}

/// Returns true if something else happened between a result and its repeat.
fn has_between(items: &[Item], between: Range<usize>, call: &ToolUse) -> bool {
    let between = items.get(between).unwrap_or_default();
    between
        .iter()
        .any(|item| item.words.is_some() || item.calls.iter().any(|other| !is_same(call, other)))
}

fn is_same(one: &ToolUse, other: &ToolUse) -> bool {
    one.name == other.name && one.arguments == other.arguments
}

/// The first result after a call that answers it, with its item.
fn result_of<'a>(items: &'a [Item], call_at: usize, call: &ToolUse) -> Option<(usize, &'a str)> {
    let after = items.iter().enumerate().skip(call_at + 1);
    after
        .flat_map(|(at, item)| item.results.iter().map(move |result| (at, result)))
        .find(|(_, result)| result.id == call.id)
        .map(|(at, result)| (at, result.text.as_str()))
}

/// Words without case, marks and spaces.
fn plain(words: &str) -> String {
    let words = words.split(|character: char| !character.is_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cupel_json::Endpoint;

    fn user(text: &str) -> Item {
        let json = serde_json::json!({"role": "user", "content": text});
        Item::new(Endpoint::Chat, &json.to_string())
    }

    fn call(id: &str, name: &str, path: &str) -> Item {
        let arguments = serde_json::json!({"path": path}).to_string();
        let json = serde_json::json!({"role": "assistant", "tool_calls": [
            {"id": id, "function": {"name": name, "arguments": arguments}}]});
        Item::new(Endpoint::Chat, &json.to_string())
    }

    fn result(id: &str, text: &str) -> Item {
        let json = serde_json::json!({"role": "tool", "tool_call_id": id, "content": text});
        Item::new(Endpoint::Chat, &json.to_string())
    }

    #[test]
    fn a_call_with_the_same_result_is_a_repeat() {
        let items = [
            call("1", "read", "a.rs"),
            result("1", "fn a()"),
            user("and now?"),
            call("2", "read", "a.rs"),
            result("2", "fn a()"),
        ];
        let repeats = repeated_calls(&items, 3..4);
        assert_eq!((repeats.len(), &repeats[0].earlier[..]), (1, &[1][..]));
    }

    #[test]
    fn polling_and_changed_results_are_no_repeats() {
        let changed = [
            call("1", "read", "a.rs"),
            result("1", "fn a()"),
            user("edit it"),
            call("2", "read", "a.rs"),
            result("2", "fn b()"),
        ];
        assert_eq!(repeated_calls(&changed, 3..4), []);
        let at_once = [
            call("1", "status", "job"),
            result("1", "running"),
            call("2", "status", "job"),
            result("2", "running"),
        ];
        assert_eq!(repeated_calls(&at_once, 2..3), []);
        let in_the_end = [
            call("1", "status", "job"),
            result("1", "running"),
            user("is it done?"),
            call("2", "status", "job"),
            result("2", "running"),
            user("and now?"),
            call("3", "status", "job"),
            result("3", "done"),
        ];
        assert_eq!(repeated_calls(&in_the_end, 3..4), []);
        let other = [
            call("1", "read", "a.rs"),
            result("1", "x"),
            call("2", "read", "b.rs"),
            result("2", "x"),
        ];
        assert_eq!(repeated_calls(&other, 2..3), []);
    }

    #[test]
    fn a_user_who_says_it_again_is_a_repeat_unless_it_is_short() {
        let long = "My order W-5582 has still not arrived.";
        let again = [user(long), user("hm"), user("my order W-5582 has still not arrived")];
        assert_eq!(repeated_message(&again).unwrap().earlier, [0]);
        assert_eq!(repeated_message(&[user("yes, please do"), user("yes, please do")]), None);
        assert_eq!(repeated_message(&[user(long), user("Something else happened today")]), None);
    }
}
