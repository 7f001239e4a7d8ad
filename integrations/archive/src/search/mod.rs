//! Searching by a question.
//!
//! A short conversation is read whole and judged in memory. For others the database's index says which
//! messages have the question's words; how rare each word is in what is searched decides which few
//! hundred are read, and the core's lexical judge ranks these, with the statistics of what was
//! searched and nothing else. Neighbours of a hit are read with it: an answer stands next to what it
//! answers.

mod hits;
mod query;
mod rank;
mod run;

pub(crate) use hits::{Hits, MOST_WITH_WORD, MessagePlace};
pub(crate) use query::{SHORT_BYTES, SHORT_MESSAGES};
pub use query::{Search, SearchHit};
pub(crate) use run::run;
