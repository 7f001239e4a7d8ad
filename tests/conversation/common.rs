//! Messages with one price for each role, and ways to look at a conversation.

use cupel::ContextItem;
use cupel::conversation::{Answers, Conversation, Message, Role, Rules};
use cupel::model::{Origin, PlacedItem};

pub(crate) fn system(text: &str) -> Message {
    Message::new(Role::System, text, 1)
}

pub(crate) fn user(text: &str) -> Message {
    Message::new(Role::User, text, 10)
}

pub(crate) fn assistant(text: &str) -> Message {
    Message::new(Role::Assistant, text, 100)
}

pub(crate) fn tool(text: &str, call: &str) -> Message {
    Message::new(Role::Tool, text, 1_000).answers(call)
}

pub(crate) fn conversation(messages: impl IntoIterator<Item = Message>) -> Conversation {
    Conversation::new(messages.into_iter().collect(), &Rules::new()).unwrap()
}

pub(crate) fn later(messages: impl IntoIterator<Item = Message>) -> Conversation {
    let rules = Rules::new().answers(Answers::Later);
    Conversation::new(messages.into_iter().collect(), &rules).unwrap()
}

pub(crate) fn contents(items: &[ContextItem]) -> Vec<&str> {
    items.iter().map(ContextItem::content).collect()
}

/// The contents of what is pinned.
pub(crate) fn pinned(conversation: &Conversation) -> Vec<String> {
    let candidates = conversation.candidates().into_iter().filter(ContextItem::pinned);
    candidates.map(|item| item.content().to_owned()).collect()
}

pub(crate) fn refused(mut conversation: Conversation) -> Vec<(String, String)> {
    let refused = conversation.take_refused().into_iter();
    refused.map(|refused| (refused.item.content().to_owned(), refused.why)).collect()
}

pub(crate) fn place(
    conversation: &Conversation,
    units: impl IntoIterator<Item = usize>,
) -> Vec<usize> {
    let candidates = conversation.candidates();
    let placed = units
        .into_iter()
        .map(|unit| PlacedItem { item: candidates[unit].clone(), origin: Origin::Request(unit) });
    conversation.arrange(&placed.collect::<Vec<_>>()).kept
}
