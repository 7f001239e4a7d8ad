//! Which items of the Responses API only make sense together.
//!
//! Reasoning is one unit with the items right after it, up to the first that the model did not
//! write, and with the results of their calls. Calls may also stand after the results of others, as
//! in `reasoning, call 1, result 1, call 2, result 2`. By its order such a call cannot be told from
//! one of a later response that came without reasoning, so it is sent only with the last reasoning
//! before it. It does not hold that reasoning's unit: a long loop stays many units.

use std::collections::{HashMap, HashSet};

use super::Entry;

/// Keeps reasoning with what the model went on to write, and outputs whose calls are on the server.
pub(super) fn keep_together(items: &mut [Entry], remote: bool) {
    keep_reasoning_with_output(items);
    keep_later_output_with_reasoning(items);
    let remote = remote || items.iter().any(|item| item.reference);
    let called: HashSet<String> =
        items.iter().flat_map(|item| item.message.calls.clone()).collect();
    let answered: HashSet<String> =
        items.iter().flat_map(|item| item.message.answers.clone()).collect();
    for item in items {
        // An approval may still be waited for.
        if item.label == "mcp_approval_request" {
            item.message.calls.retain(|id| answered.contains(id));
        }
        if remote
            && !item.message.answers.is_empty()
            && item.message.answers.iter().all(|id| !called.contains(id))
        {
            // Without it, the call on the server would have no answer.
            item.message.answers.clear();
            item.message.required = true;
        }
    }
}

fn keep_reasoning_with_output(items: &mut [Entry]) {
    // From the end, so that a chain of thoughts that leads nowhere is entry to.
    let mut next_is_output = false;
    for item in items.iter_mut().rev() {
        if item.reasoning && !next_is_output {
            item.refuse("reasoning without the output that followed it");
        }
        item.message.with_next |= next_is_output && (item.reasoning || item.reference);
        next_is_output = (item.output || item.reference) && item.message.refused.is_none();
    }
    let mut in_turn = false;
    for item in items {
        let goes_on = in_turn && item.output && item.message.refused.is_none();
        item.message.with_previous |= goes_on;
        in_turn = goes_on || (item.reasoning && item.message.refused.is_none());
    }
}

/// What stands after a tool's result needs the last thoughts of its turn. A turn ends where
/// somebody else speaks and no call waits for a result that comes.
fn keep_later_output_with_reasoning(items: &mut [Entry]) {
    let mut answered_at: HashMap<String, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        answered_at.extend(item.message.answers.iter().map(|id| (id.clone(), index)));
    }
    let mut thoughts = None;
    let mut waits_until = 0;
    for (index, item) in items.iter_mut().enumerate() {
        let is_result = !item.message.answers.is_empty();
        if item.reasoning {
            thoughts = Some(index);
        } else if item.led_to && !item.message.with_previous {
            item.message.needs = thoughts;
        } else if !item.output && !item.reference && !is_result && waits_until < index {
            thoughts = None;
        }
        let answers = item.message.calls.iter().filter_map(|id| answered_at.get(id).copied());
        waits_until = answers.fold(waits_until, usize::max);
    }
}
