//! Texts of a request's messages, written only when the plan needs them.

use std::borrow::Cow;

use super::Message;
use crate::model::ContextItem;

/// Texts of one request, for the plan of its turn. Every method has a default that uses
/// [`Message::text`], so an adapter overrides only what it keeps elsewhere.
pub trait Texts {
    /// Whole text of a message as it may be quoted: media by name, and nothing that only its provider
    /// can read.
    fn message<'a>(&'a self, index: usize, message: &'a Message) -> Cow<'a, str> {
        let _ = index;
        Cow::Borrowed(&message.text)
    }

    /// Text of a tool's result, by its number in its message. None if it is not text.
    fn result<'a>(
        &'a self,
        index: usize,
        message: &'a Message,
        number: usize,
    ) -> Option<Cow<'a, str>> {
        let _ = index;
        (number == 0 && !message.results.is_empty()).then_some(Cow::Borrowed(&*message.text))
    }

    /// Text of an item that a source gave, as it is quoted. Defaults to the item's content.
    fn source<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Borrowed(item.content())
    }
}

/// The texts that the messages themselves hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct MessageTexts;

impl Texts for MessageTexts {}
