//! The parts of the retrieval example: simulated remote retrievers, and the printed timelines.

pub(crate) mod remote;
pub(crate) mod view;
