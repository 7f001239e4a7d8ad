//! Whatever is chosen of whatever was stored, an API accepts it.

use std::collections::BTreeSet;

use cupel::ContextItem;
use cupel::conversation::{Conversation, Message, Role, Rules};
use proptest::prelude::*;

use crate::common::place;

/// A message as they come out of agents that are interrupted, resumed and badly stored.
#[derive(Debug, Clone)]
struct Stored {
    role: Role,
    calls: Vec<String>,
    answers: Vec<String>,
    with_next: bool,
}

impl Stored {
    fn message(&self) -> Message {
        let message = Message::new(self.role, "text", 3);
        let message = self.calls.iter().fold(message, Message::calls);
        let message = self.answers.iter().fold(message, Message::answers);
        if self.with_next { message.with_next() } else { message }
    }
}

fn any_message() -> impl Strategy<Value = Stored> {
    let ids = |count| prop::collection::vec((0..4_u8).prop_map(|id| format!("call_{id}")), count);
    let plain = |role| Stored { role, calls: vec![], answers: vec![], with_next: false };
    prop_oneof![
        1 => Just(plain(Role::System)),
        3 => Just(plain(Role::User)),
        3 => ids(0..3).prop_map(move |calls| Stored { calls, ..plain(Role::Assistant) }),
        4 => ids(1..3).prop_map(move |answers| Stored { answers, ..plain(Role::Tool) }),
        1 => Just(Stored { with_next: true, ..plain(Role::Assistant) }),
    ]
}

/// Every call is answered once, right after it, and every answer has its call.
fn is_accepted<'a>(messages: impl Iterator<Item = &'a Stored>) -> bool {
    let mut open = BTreeSet::new();
    for Stored { calls, answers, .. } in messages {
        if answers.is_empty() && !open.is_empty() {
            return false;
        }
        if !answers.iter().all(|id| open.remove(id)) || !calls.iter().all(|id| open.insert(id)) {
            return false;
        }
    }
    open.is_empty()
}

proptest! {
    #[test]
    fn any_choice_of_units_is_a_conversation_an_api_accepts(
        messages in prop::collection::vec((any_message(), any::<bool>()), 1..30),
    ) {
        let (stored, chosen): (Vec<Stored>, Vec<bool>) = messages.into_iter().unzip();
        let messages = stored.iter().map(Stored::message).collect();
        let mut conversation = Conversation::new(messages, &Rules::new()).unwrap();
        let candidates = conversation.candidates();
        let units: Vec<usize> = (0..candidates.len())
            .filter(|unit| chosen[*unit] || candidates[*unit].pinned())
            .collect();
        let kept = place(&conversation, units.iter().rev().copied());
        prop_assert!(kept.is_sorted());
        prop_assert!(is_accepted(kept.iter().map(|index| &stored[*index])), "{kept:?}");
        // Nothing is lost: every message is a candidate or refused.
        let everything = place(&conversation, 0..candidates.len()).len();
        let refused: usize = conversation
            .take_refused()
            .iter()
            .map(|refused| refused.item.content().lines().count())
            .sum();
        prop_assert_eq!(everything + refused, stored.len());
        prop_assert!(candidates.is_empty() || candidates.iter().any(ContextItem::pinned));
    }
}
