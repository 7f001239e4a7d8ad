//! What rig keeps elsewhere, as sources of candidates: vector indexes, memories, histories.

mod history;
mod index;
mod query;
mod score;

pub use history::{MemorySource, history_items};
pub use index::IndexSource;
pub use query::last_user_text;
pub use score::ScoreScale;
