//! Regret of one call: values that the next call needed and that exist only in what was cut.

use std::ops::Range;

use cupel::conversation::RehearsedMessage;

use crate::item::Item;
use crate::repeats::{Repeat, repeated_calls, repeated_message};
use crate::search;

/// A value of the next call that is in the whole request and not in the one that would be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingValue {
    pub(crate) tool: String,
    pub(crate) value: String,
}

/// Values in the calls of an answer that are in the whole request only.
pub(crate) fn missing_values(items: &[Item], whole: &str, sent: &str) -> Vec<MissingValue> {
    // The same bytes lack nothing.
    if whole == sent {
        return Vec::new();
    }
    let mut missing: Vec<MissingValue> = Vec::new();
    for call in items.iter().flat_map(|item| &item.calls) {
        for value in search::values(&call.arguments) {
            let is_known = missing.iter().any(|other| other.value == value);
            if !is_known && search::is_in(whole, &value) && !search::is_in(sent, &value) {
                missing.push(MissingValue { tool: call.name.clone(), value });
            }
        }
    }
    missing
}

/// Repeats of a turn whose earlier copies would all have been cut by then.
pub(crate) fn cut_repeats(
    items: &[Item],
    known: usize,
    answer: &Range<usize>,
    forms: &[RehearsedMessage],
) -> Vec<Repeat> {
    let form = |at: &usize| forms.get(*at).copied().unwrap_or(RehearsedMessage::Dropped);
    let calls = repeated_calls(items, answer.clone());
    let calls = calls.into_iter().filter(|repeat| {
        // An excerpt may lack what the model looked for.
        repeat.earlier.iter().all(|at| form(at) != RehearsedMessage::Whole)
    });
    let message = repeated_message(items.get(..known).unwrap_or_default());
    let message = message.filter(|repeat| repeat.earlier.iter().all(|at| !form(at).is_in_view()));
    calls.chain(message).collect()
}
