//! The settings of an archive.

use std::time::Duration;

use cupel::relevance::Language;

use crate::meaning::ArchiveEmbedder;

/// The settings of an archive.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Longest wait for a lock of somebody else, and for a free connection.
    pub(crate) lock_timeout: Duration,
    /// Timeout of one call.
    pub(crate) timeout: Duration,
    pub(crate) connections: u32,
    pub(crate) language: Option<Language>,
    pub(crate) embedder: Option<ArchiveEmbedder>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lock_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            connections: 8,
            language: None,
            embedder: None,
        }
    }
}
