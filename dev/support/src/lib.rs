//! Small helpers that benchmarks, examples and tests of several packages share.

pub mod random;
pub mod recorder;
pub mod table;
pub mod terminal;

mod effort;

pub use effort::{Effort, median};
