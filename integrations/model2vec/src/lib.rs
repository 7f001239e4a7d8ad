//! Relevance by meaning, from files on your disk.
//!
//! [`Model2Vec`] is a [judge](cupel::relevance::Judge) over static embeddings: every token of a
//! model's vocabulary has a vector, and the vector of a text is their mean. That takes a fraction
//! of a millisecond for a new message and microseconds for a known one, needs no network and no GPU,
//! and finds what words alone miss: an *automobile* in answer to a question about a *car*. It is best
//! beside the words, as a [`Blend`](cupel::relevance::Blend):
//!
//! ```no_run
//! use cupel::Policy;
//! use cupel::policy::Relevance;
//! use cupel::relevance::{Blend, Lexical};
//! use cupel_model2vec::Model2Vec;
//!
//! let model = Model2Vec::load("models/potion-base-8M")?; // the files are yours: nothing is fetched
//! let chat = Policy::chat();
//! let relevance = chat.relevance().cloned().unwrap_or_else(|| Relevance::new(Lexical::new()));
//! let policy = chat.with_relevance(relevance.with_judge(Blend::new(Lexical::new(), model)));
//! # let _ = policy;
//! # Ok::<(), cupel_model2vec::LoadError>(())
//! ```
//!
//! Nothing leaves the process: texts and vectors stay in its memory.

mod error;
mod files;
mod judge;

pub use error::LoadError;
pub use judge::Model2Vec;
#[cfg(feature = "config")]
pub use judge::register;

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
