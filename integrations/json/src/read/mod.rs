//! Messages of OpenAI's APIs as they were read: their texts, the calls they answer, their tokens.
//!
//! Typed requests and raw bodies are read alike, from the JSON of each message.

pub(crate) mod chat;
mod entry;
mod head;
pub(crate) mod responses;
mod tools;

pub use entry::{Endpoint, MessageView};
pub(crate) use entry::{Entry, user_text};
pub(crate) use head::Head;

/// Counter and rules of a model of OpenAI's.
pub(crate) type Meter = crate::models::Meter<crate::models::Model>;
