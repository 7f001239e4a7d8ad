//! What a plan asks an adapter for: the texts of messages, when they are needed.

use std::borrow::Cow;
use std::fmt;

use super::super::message::Message;
use crate::model::ContextItem;
use crate::tokens::TokenCounter;

/// The texts of a conversation's messages, and how their tokens are counted.
pub trait Texts {
    /// Counts texts as the messages were counted.
    fn counter(&self) -> &dyn TokenCounter;

    /// Adds the whole text of a message to the end of `out`, as it may be quoted: media by name, and
    /// nothing of what only its provider can read.
    fn write(&self, message: usize, out: &mut String);

    /// The text of a tool's result, by its number in its message; none when it is not text.
    fn result(&self, message: usize, number: usize) -> Option<Cow<'_, str>>;

    /// The text of what a source gave; the item's content unless overridden.
    fn retrieved<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Borrowed(item.content())
    }
}

/// The texts of messages that hold them.
#[derive(Clone, Copy)]
pub struct Plain<'a> {
    messages: &'a [Message],
    counter: &'a dyn TokenCounter,
}

impl<'a> Plain<'a> {
    /// Texts of these messages.
    #[must_use]
    pub fn new(messages: &'a [Message], counter: &'a dyn TokenCounter) -> Self {
        Self { messages, counter }
    }
}

impl Texts for Plain<'_> {
    fn counter(&self) -> &dyn TokenCounter {
        self.counter
    }

    fn write(&self, message: usize, out: &mut String) {
        out.push_str(self.messages.get(message).map_or("", |message| &message.text));
    }

    fn result(&self, message: usize, number: usize) -> Option<Cow<'_, str>> {
        let message = self.messages.get(message)?;
        (number == 0 && message.results.len() == 1).then_some(Cow::Borrowed(&*message.text))
    }
}

impl fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}
