//! Anthropic's Messages: the third protocol, over the same bodies.

mod adapter;
mod caches;
mod read;

pub use adapter::{BINDING_BETA, MessagesAdapter, MessagesApi};
