//! Receipts: where they are written, and for which calls.

use std::path::PathBuf;

use crate::credentials::Secret;

/// Receipts of calls: hashes of the client's request and of the one that was sent.
///
/// ```
/// use cupel_gateway::{ReceiptConfig, Secret};
///
/// let mut receipts = ReceiptConfig::new("/var/lib/cupel/receipts");
/// receipts.secret = Some(Secret::new("a long random text"));
/// assert!(!receipts.every_call);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReceiptConfig {
    /// Folder that the files are written to.
    pub folder: PathBuf,
    /// Key of the hashes. Without one, short texts can be guessed from their hashes.
    pub secret: Option<Secret>,
    /// Set if every fitted call gets a receipt. By default those get one whose clients ask for it.
    pub every_call: bool,
}

impl ReceiptConfig {
    /// Writes receipts into a folder, for clients that ask.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), secret: None, every_call: false }
    }
}
