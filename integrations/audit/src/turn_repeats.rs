//! Repeats in the newest turn of a request: a meter for regret that needs no state.

use cupel_json::JsonBody;

use crate::item::Item;
use crate::planner::PlannedRequest;
use crate::repeats::{Repeat, RepeatKind, repeated_calls, repeated_message};

/// Repeats in the newest turn of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TurnRepeats {
    /// Set if the request before this one was cut.
    pub is_cut: bool,
    /// Calls and messages that repeat earlier ones. In a conversation that was cut, only those whose earlier
    /// copies were cut.
    pub repeats: u64,
}

impl TurnRepeats {
    /// Finds the repeats in the newest turn of a request. The request before it is a prefix of this one, so it
    /// is planned again, with `plan`. None if there was no request before, or if it could not be fitted.
    ///
    /// The rate after a cut means something only beside the rate in conversations that were not cut: tools are
    /// called again, and users ask again, for reasons of their own.
    ///
    /// ```
    /// use cupel::{ContextBudget, Policy};
    /// use cupel_audit::{Planner, TurnRepeats};
    /// use cupel_json::{Endpoint, JsonBody};
    ///
    /// let json = r#"{"model": "gpt-4o", "messages": [
    ///     {"role": "user", "content": "My order W-5582 has not arrived."},
    ///     {"role": "assistant", "content": "I am sorry."},
    ///     {"role": "user", "content": "My order W-5582 has not arrived!"}]}"#;
    /// let body = JsonBody::parse(Endpoint::Chat, json).ok_or("no messages")?;
    /// let (policy, budget) = (Policy::chat(), ContextBudget::builder(8_000).build()?);
    /// let repeats = TurnRepeats::find(&body, |body| Planner::new().plan(body, &policy, &budget));
    /// let repeats = repeats.ok_or("there was no turn before")?;
    /// assert_eq!((repeats.is_cut, repeats.repeats), (false, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn find<T: Clone>(
        body: &JsonBody<T>,
        plan: impl FnOnce(JsonBody<T>) -> Result<PlannedRequest<T>, String>,
    ) -> Option<Self> {
        let (repeats, start) = newest_turn(body)?;
        let planned = plan(body.first_messages(start)?).ok()?;
        let was_cut = |repeat: &Repeat| {
            repeat.earlier.iter().all(|at| match (planned.forms.get(*at), repeat.kind) {
                // The call that is repeated came later than the request.
                (None, _) => false,
                (Some(form), RepeatKind::ToolCall) => {
                    *form != cupel::conversation::RehearsedMessage::Whole
                }
                (Some(form), RepeatKind::UserMessage) => !form.is_in_view(),
            })
        };
        let counted = repeats.iter().filter(|repeat| !planned.is_cut || was_cut(repeat)).count();
        Some(Self { is_cut: planned.is_cut, repeats: u64::try_from(counted).unwrap_or(u64::MAX) })
    }

    /// Finds the repeats in the newest turn of a request that was sent whole. The request before it was
    /// shorter, so it is taken to have been sent whole, too, and is not planned again.
    ///
    /// None if there was no request before.
    #[must_use]
    pub fn find_in_whole<T>(body: &JsonBody<T>) -> Option<Self> {
        let (repeats, _) = newest_turn(body)?;
        Some(Self { is_cut: false, repeats: u64::try_from(repeats.len()).unwrap_or(u64::MAX) })
    }
}

/// The repeats in the newest turn of a request, and the number of messages of the request before it.
fn newest_turn<T>(body: &JsonBody<T>) -> Option<(Vec<Repeat>, usize)> {
    let items: Vec<Item> = body.messages().map(|json| Item::new(body.endpoint(), json)).collect();
    let end = items.iter().rposition(|item| item.is_output)? + 1;
    let before = items.get(..end).unwrap_or_default();
    let start = before.iter().rposition(|item| !item.is_output)? + 1;
    let repeats = repeated_calls(&items, start..end).into_iter();
    Some((repeats.chain(repeated_message(&items)).collect(), start))
}
