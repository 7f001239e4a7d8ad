//! Progress of the embedding.

/// Progress of an archive's embedding; see [`Archive::embedding_status`](crate::Archive::embedding_status).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EmbeddingStatus {
    /// Messages without vectors so far, of all tenants.
    pub waiting: u64,
    /// Messages that this process gave vectors.
    pub embedded: u64,
    /// Messages that the model refuses, as this process saw it. They are found by their words.
    pub refused: u64,
    /// Failed requests for vectors of messages, each tried again.
    pub failures: u64,
    /// Searches of this process that went by words alone, because the vectors of their questions were
    /// late, wrong, or failed.
    pub words_alone: u64,
}
