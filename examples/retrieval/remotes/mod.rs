//! The parts of the retrieval example: simulated remote retrievers, and the printed timelines.

pub(crate) mod remote;
mod two_ways;
pub(crate) mod view;
