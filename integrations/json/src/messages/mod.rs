//! Anthropic's Messages: the third protocol, over the same bodies.

mod adapter;
mod binding;
mod draft;
mod head;
mod meter;
mod models;
mod read;
mod result;
mod table;

pub use adapter::MessagesAdapter;
pub use binding::BINDING_BETA;
pub use models::{ClaudeModel, ClaudeModels, ClaudeWindow};
