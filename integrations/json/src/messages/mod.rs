//! Anthropic's Messages: the third protocol, over the same bodies.

mod adapter;
mod binding;
mod caches;
mod meter;
mod read;

pub use adapter::{MessagesAdapter, MessagesApi};
pub use binding::BINDING_BETA;
