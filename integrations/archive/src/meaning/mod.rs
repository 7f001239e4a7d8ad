//! Vectors of messages: made in the background, kept beside the words, and searched with them.
//!
//! A task of the archive's own embeds each message after it was appended. The database is its queue: it
//! knows up to which number a conversation's messages have vectors, so that a restart goes on where
//! another process ended. A search embeds its question and compares it with all vectors of its scope.

mod closeness;
mod embed;
mod embedder;
mod keys;
mod progress;
mod queue;
mod rounds;
mod state;
mod status;
mod store;
mod vector;
mod worker;

pub(crate) use closeness::Closeness;
pub use embedder::ArchiveEmbedder;
pub(crate) use keys::{VectorKey, keys_of};
pub(crate) use state::MeaningState;
pub use status::EmbeddingStatus;
pub(crate) use vector::{from_bytes, to_bytes};
pub(crate) use worker::embed_in_background;
