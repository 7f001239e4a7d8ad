//! What a hook sees of a message.

use super::Entry;

/// One message, for a hook that sets its priority, relevance and the like.
///
/// See [`OpenAiAdapter::attributes`](crate::OpenAiAdapter::attributes).
#[derive(Debug, Clone, Copy)]
pub struct MessageView<'a> {
    pub(crate) index: usize,
    pub(crate) entry: &'a Entry,
    pub(crate) json: &'a str,
}

impl<'a> MessageView<'a> {
    /// Its position in the request.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its role (`"user"`), or the type of an item that is no message (`"function_call"`).
    #[must_use]
    pub fn role(&self) -> &'a str {
        &self.entry.label
    }

    /// The name of whoever spoke, where one is given.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.entry.name.as_deref()
    }

    /// Its text; images, sounds and files as `[image]`, `[audio]`, `[file]`, calls as
    /// `name(arguments)`.
    #[must_use]
    pub fn text(&self) -> &'a str {
        &self.entry.message.text
    }

    /// Its tokens, with what the format adds.
    #[must_use]
    pub fn tokens(&self) -> i64 {
        self.entry.message.tokens
    }

    /// The message as it is sent.
    #[must_use]
    pub fn json(&self) -> &'a str {
        self.json
    }
}
