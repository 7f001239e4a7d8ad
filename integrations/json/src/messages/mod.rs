//! Anthropic's Messages: the third protocol, over the same bodies.

mod adapter;
mod binding;
mod caches;
mod draft;
mod expect;
mod head;
mod meter;
mod read;
mod result;

pub use adapter::{MessagesAdapter, MessagesApi};
pub use binding::BINDING_BETA;
