//! Rules for a selection, worked out apart from the library.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use cupel_dev_servers::local_server::tokens;

/// A conversation in the units the API wants.
#[derive(Debug)]
pub(crate) struct Oracle {
    /// Unit of each message; none if the API would refuse it.
    pub(crate) unit: Vec<Option<usize>>,
    pub(crate) pinned: Vec<usize>,
}

impl Oracle {
    pub(crate) fn of_chat(messages: &[Value]) -> Self {
        let mut unit: Vec<Option<usize>> = vec![None; messages.len()];
        let mut at = 0;
        while at < messages.len() {
            let message = &messages[at];
            let role = message["role"].as_str().unwrap();
            let mut open: HashSet<&str> = ids(message).collect();
            let calls_function = message["function_call"].is_object();
            let is_silent = role == "assistant"
                && message["content"].is_null()
                && message["refusal"].is_null()
                && !calls_function
                && open.is_empty();
            let mut members = vec![at];
            let mut next = at + 1;
            if calls_function {
                if messages.get(next).is_some_and(|next| next["role"] == "function") {
                    members.push(next);
                    next += 1;
                }
            } else {
                while messages.get(next).is_some_and(|next| next["role"] == "tool") {
                    if open.remove(messages[next]["tool_call_id"].as_str().unwrap()) {
                        members.push(next);
                    }
                    next += 1;
                }
            }
            let lacks_result = !open.is_empty() || calls_function && members.len() == 1;
            let is_result = matches!(role, "tool" | "function");
            if !(lacks_result || is_silent || is_result) {
                members.iter().for_each(|member| unit[*member] = Some(at));
            }
            at = next;
        }
        Self::with_pins(messages, unit, &HashMap::new())
    }

    pub(crate) fn of_responses(items: &[Value]) -> Self {
        let kind = |at: usize| items.get(at).map_or("", |item| item["type"].as_str().unwrap());
        let is_output = |at: usize| {
            matches!(kind(at), "reasoning" | "function_call" | "custom_tool_call")
                || items.get(at).is_some_and(|item| item["role"] == "assistant")
        };
        // The unit of each item, as the first item of its turn or of its call.
        let mut unit: Vec<Option<usize>> = (0..items.len()).map(Some).collect();
        for at in 0..items.len() {
            let thinks = at > 0 && kind(unit[at - 1].unwrap_or(at - 1)) == "reasoning";
            if thinks && is_output(at) && is_output(at - 1) {
                unit[at] = unit[at - 1];
            }
        }
        // What stands after an output needs the last thoughts before it; a user ends the turn.
        let mut needs: HashMap<usize, usize> = HashMap::new();
        let mut thoughts = None;
        for (at, item) in items.iter().enumerate() {
            match (kind(at), item["role"].as_str()) {
                ("reasoning", _) => thoughts = Some(at),
                ("message", Some("user" | "developer")) => thoughts = None,
                _ if is_output(at) && unit[at] == Some(at) && item["id"].is_string() => {
                    needs.extend(thoughts.map(|thoughts| (at, thoughts)));
                }
                _ => {}
            }
        }
        let mut call_at: HashMap<&str, usize> = HashMap::new();
        let mut refused: HashSet<usize> = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            let id = item["call_id"].as_str().unwrap_or_default();
            match kind(at) {
                "function_call" | "custom_tool_call" => drop(call_at.insert(id, at)),
                "function_call_output" | "custom_tool_call_output" => match call_at.remove(id) {
                    Some(call) => unit[at] = unit[call],
                    None => drop(refused.insert(at)),
                },
                _ => {}
            }
        }
        refused.extend(call_at.values().filter_map(|at| unit[*at]));
        // Thoughts without their outcome, and the thoughts that led to those.
        for at in (0..items.len()).rev().filter(|at| kind(*at) == "reasoning") {
            if !is_output(at + 1) || refused.contains(&(at + 1)) && kind(at + 1) == "reasoning" {
                refused.insert(at);
                unit[at] = Some(at);
            }
        }
        for (at, thoughts) in &needs {
            if unit[*thoughts].is_some_and(|unit| refused.contains(&unit)) {
                refused.extend(unit[*at]);
            }
        }
        let unit =
            unit.into_iter().map(|unit| unit.filter(|unit| !refused.contains(unit))).collect();
        Self::with_pins(items, unit, &needs)
    }

    fn with_pins(
        messages: &[Value],
        unit: Vec<Option<usize>>,
        needs: &HashMap<usize, usize>,
    ) -> Self {
        let sound = |at: &usize| unit[*at].is_some();
        let all = || (0..messages.len()).filter(sound);
        let role = |at: usize| messages[at]["role"].as_str().unwrap_or_default();
        let is_blank_user = |at: usize| role(at) == "user" && is_blank(&messages[at]["content"]);
        let last_user = all().rfind(|at| role(*at) == "user" && !is_blank_user(*at));
        // A user's last message that says nothing does not hide the one before it.
        let latest = [
            all().next_back().map(|at| unit[at]),
            all().rfind(|at| !is_blank_user(*at)).map(|at| unit[at]),
        ];
        let needed = needs.iter().filter(|(at, _)| latest.contains(&Some(unit[**at])));
        let needed: HashSet<Option<usize>> = needed.map(|(_, needed)| unit[*needed]).collect();
        let pinned = all()
            .filter(|at| {
                matches!(role(*at), "system" | "developer")
                    || Some(*at) == last_user
                    || latest.contains(&Some(unit[*at]))
                    || needed.contains(&unit[*at])
            })
            .collect();
        Self { unit, pinned }
    }

    /// Messages the API would take, by position.
    pub(crate) fn sound(&self) -> impl Iterator<Item = usize> {
        (0..self.unit.len()).filter(|at| self.unit[*at].is_some())
    }
}

/// The ids of a chat message's calls.
fn ids(message: &Value) -> impl Iterator<Item = &str> {
    message["tool_calls"].as_array().into_iter().flatten().filter_map(|call| call["id"].as_str())
}

/// The tokens of some messages, by the server's count.
pub(crate) fn tokens_of(
    request: &Value,
    is_chat: bool,
    messages: &[Value],
    which: impl Iterator<Item = usize>,
) -> i64 {
    which.map(|at| tokens::message(request, is_chat, &messages[at])).sum()
}

/// Returns true for a content without words and media.
fn is_blank(content: &Value) -> bool {
    match content {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(parts) => parts
            .iter()
            .all(|part| part["text"].as_str().is_some_and(|text| text.trim().is_empty())),
        _ => true,
    }
}
