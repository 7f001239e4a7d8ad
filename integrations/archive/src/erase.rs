//! What erasing answers.

/// What was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Erased {
    /// How many messages.
    pub messages: u64,
    /// Whether the database's log, too, is free of them.
    ///
    /// SQLite's log is emptied unless another process reads from it all the time; the next erasing,
    /// or the last process that closes the file, does it then. PostgreSQL's log belongs to its
    /// server, and this is always `false`.
    pub log_emptied: bool,
}
