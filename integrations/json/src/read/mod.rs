//! Reading requests: what a message says, whom it answers, and what it costs.
//!
//! Typed requests and raw bodies are read alike, from the JSON of each message.

mod chat;
mod content;
mod entry;
mod head;
mod object;
mod responses;
mod together;
mod view;

pub(crate) use content::user_text;
pub(crate) use entry::Entry;
pub(crate) use head::Head;
pub(crate) use object::{Object, elements, string, text_of, whole_characters};
pub use view::MessageView;

use crate::count::Meter;

/// Which of the APIs a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// Chat Completions: `messages`.
    Chat,
    /// The Responses API: `input`.
    Responses,
    /// Anthropic's Messages: `messages`, for [`MessagesAdapter`](crate::MessagesAdapter).
    Messages,
}

impl Endpoint {
    /// Reads all messages of a conversation. `remote`: part of the conversation is on the server.
    pub(crate) fn read(self, meter: &Meter, messages: &[&str], remote: bool) -> Vec<Entry> {
        match self {
            Self::Chat | Self::Messages => chat::read(meter, messages),
            Self::Responses => {
                let mut entries = responses::read(meter, messages);
                together::keep_together(&mut entries, remote);
                entries
            }
        }
    }
}
