//! Candidates from async sources, gathered concurrently and under deadlines.
//!
//! A source is anything that turns a request into a stream of items. A [`Source`] adds its name,
//! its deadline and item limit, and what happens when it fails:
//!
//! ```
//! use std::time::Duration;
//! use cupel::gather::Source;
//! use cupel::{ContextItem, ContextKind, CupelError};
//! use futures::stream;
//!
//! struct Question(String);
//!
//! // A closure that returns a stream,
//! let rag: Source<Question> = Source::stream("rag", |question: &Question| {
//!     let text = format!("a passage about {}", question.0);
//!     stream::iter([ContextItem::new(text, 12)])
//! })
//! .deadline(Duration::from_millis(150))
//! .default_kind(ContextKind::document());
//!
//! // an async function that returns a list, without which the call fails,
//! let memories: Source<Question> = Source::list("memories", |_: &Question| async {
//!     Ok::<_, CupelError>(vec![ContextItem::new("prefers short answers", 4)?])
//! })
//! .required();
//!
//! // or a fixed list.
//! let rules: Source<Question> = Source::items("rules", vec![ContextItem::new("be kind", 2)?]);
//! # let _ = (rag, memories, rules);
//! # Ok::<(), CupelError>(())
//! ```
//!
//! Sources are optional: one that fails, panics or is late costs the call nothing but its items, and
//! what arrived before is used. The report and one warning in the log name it. A
//! [required](Source::required) source fails the call instead.
//!
//! Pinned items of an optional source cannot fail a call either. Those that do not fit lose their pin,
//! and compete like other items; [`SourceReport::pins_lifted`] counts them.
//!
//! Sources are polled inside the future of the call, so dropping the call drops them at once.
//! A source yields to the others after a batch of items or about a millisecond, so one that is
//! always ready, or slow in `poll`, starves nobody. What is ready is read before anybody is judged
//! to be late. A source that blocks its thread inside `poll` cannot be interrupted by anybody; give
//! it to `spawn_blocking`.
//!
//! A timer is needed only while a source has to be waited for: lists that are ready need none, and
//! no Tokio runtime either.

mod arrivals;
mod async_judge;
mod candidates;
mod compactor;
mod conversation;
mod dropped;
mod embedder;
mod embedding_queue;
mod embeddings_judge;
mod judge_queue;
mod report;
mod run;
mod source;
mod spans;
mod stream;
mod streaming;
mod streaming_check;
mod summary_memory;
mod summary_store;
pub(crate) mod work_place;
mod work_time;

pub(crate) use arrivals::{Arrivals, Intake};
pub use async_judge::{AsyncJudge, JudgeWork, WaitingJudge};
pub(crate) use candidates::{
    Candidates, SelectionFailure, SelectionOutcome, SourceFacts, facts_of,
};
pub use compactor::{
    Compactor, CompactorPrice, OutlineCompactor, SUMMARY_PROMPT, compactor_version,
};
pub use conversation::ConversationStore;
pub use embedder::{EmbedAs, Embedder, TextHash, VectorStore};
pub use embeddings_judge::EmbeddingsJudge;
pub(crate) use judge_queue::{JudgeQueue, PlanAnswers};
pub use report::{
    DroppedCounts, GatherReport, JudgeReport, SourceOutcome, SourceReport, StopReason, StreamReport,
};
pub(crate) use run::{Gather, GatherError, new_timer};
pub use source::{CandidateSource, CandidateStream, FailurePolicy, Source};
pub use streaming::Snapshot;
pub(crate) use streaming::{ProgressHook, StreamingMode, StreamingSelection};
pub(crate) use streaming_check::check_streaming;
pub use summary_memory::MemorySummaries;
pub use summary_store::{
    ClaimOutcome, FoundSummaries, LeaseHolder, SummaryClaim, SummaryLedger, SummaryScope,
    SummaryStore,
};
pub(crate) use work_time::LearnedCost;

/// The error of a source, an adapter or a budget: Tower's own boxed error.
pub use tower::BoxError;
