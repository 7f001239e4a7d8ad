//! Memory across conversations.

use std::time::Duration;

use super::Secret;

/// An archive of what was said, and how it is asked.
///
/// ```
/// use cupel_gateway::{Memory, Secret};
///
/// let memory = Memory::new(Secret::new("sqlite:///var/lib/cupel/archive.db"));
/// assert_eq!(memory.items, 20);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Memory {
    /// Its address, `sqlite://file` or `postgres://user:password@host/database`; it may hold a
    /// password.
    pub url: Secret,
    /// How many messages of other conversations are brought at most.
    pub items: usize,
    /// How long it may take.
    pub deadline: Duration,
    /// How many bytes may wait to be written; turns beyond them are dropped and counted.
    pub waiting_bytes: usize,
}

impl Memory {
    /// An archive that has a quarter of a second for 20 messages, and 128 MiB for what waits.
    #[must_use]
    pub fn new(url: Secret) -> Self {
        Self { url, items: 20, deadline: Duration::from_millis(250), waiting_bytes: 128 << 20 }
    }
}
