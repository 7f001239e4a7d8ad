//! Summaries in the place of what left the window: when they are used, what faults do, what replicas send.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "compaction/chat.rs"]
mod chat;
#[path = "compaction/faults.rs"]
mod faults;
#[path = "compaction/placing.rs"]
mod placing;
#[path = "compaction/replicas.rs"]
mod replicas;
#[path = "compaction/settings.rs"]
mod settings;
#[path = "compaction/stores.rs"]
mod stores;
