//! Which items of the Responses API only make sense together.
//!
//! Reasoning belongs to the items right after it, up to the first that the model did not write.
//! A call after the output of another cannot be told from a call of the next turn, which may have
//! come without reasoning; to join all of them would make one unit of a whole tool loop. So the
//! calls of a turn have to stand before their outputs, as the API returns them.

use std::collections::HashSet;

use super::Seen;

/// Ties reasoning to what the model went on to write, and lets outputs stand whose calls are on
/// the server.
pub(super) fn tie(items: &mut [Seen], remote: bool) {
    tie_reasoning(items);
    let remote = remote || items.iter().any(|item| item.reference);
    let called: HashSet<String> = items.iter().flat_map(|item| item.calls.clone()).collect();
    let answered: HashSet<String> = items.iter().flat_map(|item| item.answers.clone()).collect();
    for item in items {
        // An approval may still be waited for.
        if item.label == "mcp_approval_request" {
            item.calls.retain(|id| answered.contains(id));
        }
        if remote && !item.answers.is_empty() && item.answers.iter().all(|id| !called.contains(id))
        {
            // Without it, the call on the server would have no answer.
            item.answers.clear();
            item.pinned = true;
        }
    }
}

fn tie_reasoning(items: &mut [Seen]) {
    // From the end, so that a chain of thoughts that leads nowhere is seen to.
    let mut next_is_output = false;
    for item in items.iter_mut().rev() {
        if item.reasoning && !next_is_output {
            item.refused = Some("reasoning without the output that followed it");
        }
        item.with_next |= next_is_output && (item.reasoning || item.reference);
        next_is_output = (item.output || item.reference) && item.refused.is_none();
    }
    let mut in_turn = false;
    for item in items {
        let goes_on = in_turn && item.output && item.refused.is_none();
        item.with_previous |= goes_on;
        in_turn = goes_on || (item.reasoning && item.refused.is_none());
    }
}
