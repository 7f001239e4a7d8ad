//! Sources of items beside the request: retrievers, and memory across conversations.

use std::time::Duration;

use crate::secret::Secret;

/// A retriever over HTTP. It is sent `{"query": …, "limit": …}` and answers with a list of
/// `{"text": …, "score": …}`, or a line for each.
///
/// ```
/// use cupel_gateway::Retriever;
///
/// let retriever = Retriever::new("manual", "http://127.0.0.1:9000/search");
/// assert_eq!(retriever.items, 50);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Retriever {
    /// Its name in reports.
    pub name: String,
    /// Its address.
    pub url: String,
    /// A key to show it; the client's is never shown.
    pub key: Option<Secret>,
    /// How long it may take; what has arrived by then is used.
    pub deadline: Duration,
    /// How many items are taken.
    pub items: usize,
    /// How large its answer may be.
    pub bytes: usize,
    /// Whether a request cannot be fitted without it.
    pub required: bool,
}

impl Retriever {
    /// A retriever that has half a second for 50 items in a mebibyte.
    #[must_use]
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            key: None,
            deadline: Duration::from_millis(500),
            items: 50,
            bytes: 1 << 20,
            required: false,
        }
    }
}

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
    /// Bytes that may wait to be written; turns beyond them are dropped and counted.
    pub waiting_bytes: usize,
    /// Does not start without it. Otherwise a gateway whose archive cannot be opened starts without memory,
    /// and tries again.
    pub required: bool,
}

impl Memory {
    /// An archive that has a quarter of a second for 20 messages.
    #[must_use]
    pub fn new(url: Secret) -> Self {
        let deadline = Duration::from_millis(250);
        Self { url, items: 20, deadline, required: false, waiting_bytes: 128 << 20 }
    }
}
