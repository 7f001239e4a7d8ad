//! The archive as sources of a layer: the recent history, and what belongs to the question.
//!
//! ```
//! use std::time::Duration;
//! use cupel::gather::Source;
//! use cupel_archive::Archive;
//! use cupel_archive::source::{Recall, history};
//!
//! struct Turn { thread: String, question: String }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let tenant = Archive::open("sqlite::memory:").await?.namespace("acme")?;
//! let of = tenant.clone();
//! let latest: Source<Turn> =
//!     history("history", 20, move |turn: &Turn| of.conversation(turn.thread.as_str()).ok());
//! let recalled: Source<Turn> = Recall::new(
//!     move |turn: &Turn| tenant.conversation(turn.thread.as_str()).ok(),
//!     |turn: &Turn| Some(turn.question.as_str().into()),
//! )
//! .deadline(Duration::from_millis(150))
//! .source("recall");
//! # let _ = (latest, recalled);
//! # Ok(())
//! # }
//! ```

mod history;
mod item;
mod recall;

pub use history::history;
pub use recall::Recall;
