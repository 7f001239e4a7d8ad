//! Stores conversations in a database that the user already runs.
//!
//! Messages that no longer fit a model's window can be found again, after a restart and from another machine.
//! An [`Archive`] keeps conversations in SQLite, embedded in the process, or in PostgreSQL when
//! several machines share it.
//!
//! - [`Archive::open`] opens a file or connects to a server, and makes the tables.
//! - [`Archive::namespace`] is one tenant's part of it; there is no other way to a message.
//! - [`ConversationHandle::append`] returns when the messages are on the disk, once and in order.
//!
//! ```
//! use cupel_archive::{Append, Archive, ArchiveMessage};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), cupel_archive::ArchiveError> {
//! let archive = Archive::open("sqlite::memory:").await?;
//! let conversation = archive.namespace("acme")?.conversation("thread-1")?;
//!
//! let turn = [ArchiveMessage::user("Where is INV-2041?"), ArchiveMessage::assistant("In Lyon.")];
//! let appended = conversation.append(Append::new(turn).key("turn-1")).await?;
//! assert_eq!(appended.numbers(), 1..=2);
//!
//! conversation.forget().await?;
//! assert!(conversation.recent(10).await?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! The [`guide`] has the promises, the search, both databases and the measurements.

mod address;
mod append;
mod archive;
mod blocking;
mod conversation;
mod digest;
mod erase;
mod error;
pub mod guide;
mod index;
mod meaning;
mod message;
mod names;
mod namespace;
mod options;
pub mod original;
mod overlap;
mod page;
pub mod record;
#[cfg(feature = "rig")]
mod rig;
mod search;
mod shared;
pub mod source;
mod store;
mod summaries;

pub use append::{Append, AppendOutcome};
pub use archive::{Archive, ArchiveBuilder};
pub use conversation::ConversationHandle;
pub use erase::EraseOutcome;
pub use error::{ArchiveError, Failure};
pub use meaning::{ArchiveEmbedder, EmbeddingStatus};
pub use message::{ArchiveMessage, StoredMessage};
pub use namespace::Namespace;
pub use page::Page;
pub use search::{Search, SearchHit};
pub use summaries::ArchiveSummaries;

/// Types of the core that appear in this crate's API.
pub use cupel::conversation::Role;
pub use cupel::relevance::{Language, Question};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
