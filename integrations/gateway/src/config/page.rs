//! The page of recent calls.

use std::path::PathBuf;

use super::Secret;

/// The page: who may see it, and how much it remembers.
///
/// ```
/// use cupel_gateway::Page;
///
/// assert!(Page::default().token.is_none());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Page {
    /// What is asked for before anything is shown. Without one there is no page.
    pub token: Option<Secret>,
    /// Where the binary writes a token, for its owner only; unless set, it is shown on a terminal.
    pub token_file: Option<PathBuf>,
    /// How many bytes of recent calls are remembered, about.
    pub bytes: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { token: None, token_file: None, bytes: 64 << 20 }
    }
}
