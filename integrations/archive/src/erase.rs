//! The result of erasing.

/// Result of erasing messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EraseOutcome {
    /// Number of erased messages.
    pub messages: u64,
    /// True if the messages are gone from the database's log, too.
    ///
    /// SQLite's log is emptied unless another process reads from it all the time; the next erasing,
    /// or the last process that closes the file, does it then. PostgreSQL's log belongs to its
    /// server, and this is always `false`.
    pub log_emptied: bool,
}
