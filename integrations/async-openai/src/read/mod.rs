//! Reading requests: what a message says, whom it answers, and what it costs.
//!
//! Typed requests and raw bodies are read alike, from the JSON of each message.

mod bonds;
mod chat;
mod content;
mod head;
mod object;
mod responses;
mod seen;
mod view;

pub(crate) use content::user_text;
pub(crate) use head::Head;
pub(crate) use object::Object;
pub(crate) use object::{elements, string};
pub(crate) use seen::{MESSAGE_TOKENS, Seen};
pub use view::MessageView;

use crate::count::Meter;

/// Which of the two APIs a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// Chat Completions: `messages`.
    Chat,
    /// The Responses API: `input`.
    Responses,
}

impl Endpoint {
    /// Reads all messages of a conversation. `remote`: part of the conversation is on the server.
    pub(crate) fn read(self, meter: &Meter, messages: &[&str], remote: bool) -> Vec<Seen> {
        match self {
            Self::Chat => chat::read(meter, messages),
            Self::Responses => {
                let mut seen = responses::read(meter, messages);
                bonds::tie(&mut seen, remote);
                seen
            }
        }
    }
}
