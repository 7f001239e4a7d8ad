//! Which items of the Responses API only make sense together.
//!
//! Reasoning belongs to the items right after it, up to the first that the model did not write.
//! A call after the output of another cannot be told from a call of the next turn, which may have
//! come without reasoning; to join all of them would make one unit of a whole tool loop. So the
//! calls of a turn have to stand before their outputs, as the API returns them.

use std::collections::HashSet;

use super::Entry;

/// Keeps reasoning with what the model went on to write, and outputs whose calls are on the server.
pub(super) fn keep_together(items: &mut [Entry], remote: bool) {
    keep_reasoning_with_output(items);
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
