//! Checks that a request is a valid conversation without gaps.

use serde_json::Value;

use super::sight::{calls_of, field, words};

/// Returns true if each call is followed by its result, and each result follows its call.
pub(super) fn pairs_are_whole(sent: &[Value]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in sent {
        if field(message, "role") == "tool" {
            let id = field(message, "tool_call_id");
            let Some(at) = open.iter().position(|call| *call == id) else { return false };
            open.remove(at);
        } else if !open.is_empty() {
            return false;
        }
        open.extend(calls_of(message).map(|(id, _)| id));
    }
    open.is_empty()
}

/// Returns true if a request is the instructions and the newest messages without gaps. Results may
/// be excerpts, and the user's last message may begin with quotations.
pub(super) fn has_no_holes(history: &[Value], sent: &[Value]) -> bool {
    let same = |(sent, own): (&Value, &Value)| {
        let same = |name| sent.get(name) == own.get(name);
        let is_result = field(own, "role") == "tool";
        let words = is_result || words(sent).last() == words(own).last();
        words && same("role") && same("tool_calls") && same("tool_call_id")
    };
    let newest = history.iter().skip(1).rev();
    sent.first() == history.first() && sent.iter().skip(1).rev().zip(newest).all(same)
}
