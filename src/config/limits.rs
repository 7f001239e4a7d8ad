//! Limits of a configuration. What people write stays far below.

/// Bytes of one file of settings.
pub(crate) const FILE_BYTES: u64 = 1 << 20;
/// Bytes of one prompt.
pub(crate) const PROMPT_BYTES: u64 = 8 << 20;
/// Tables and lists inside each other.
pub(crate) const DEPTH: usize = 64;
/// Values and keys, each as often as an alias of YAML repeats it.
pub(crate) const VALUES: usize = 100_000;
/// Bytes of texts and keys together, counted the same way.
pub(crate) const TEXT_BYTES: usize = 8 << 20;
/// Bytes of one key.
pub(crate) const KEY_BYTES: usize = 1_024;

/// In every message about a limit.
pub(crate) const MARK: &str = "the limit is";
