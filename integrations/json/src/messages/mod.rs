//! Anthropic's Messages: the third protocol, over the same bodies.

mod adapter;
mod binding;
mod caches;
mod draft;
mod expect;
mod head;
mod meter;
mod models;
mod read;
mod result;
mod table;
mod texts;

pub use adapter::MessagesAdapter;
pub use binding::BINDING_BETA;
pub use models::{ClaudeModel, ClaudeModels, ClaudeWindow};
