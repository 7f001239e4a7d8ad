//! Fits the requests of a language model to its token window, and says what was left out and why.
//!
//! An agent has more context than its model has window: history, documents, tool results, memories. This library
//! is a [Tower](https://docs.rs/tower) layer in front of the model call. It gathers candidates from async sources under
//! deadlines, selects what fits the budget, sends the smaller request, and reports every decision.
//!
//! ```
//! use std::time::Duration;
//!
//! use cupel::{
//!     ContextBudget, ContextItem, ContextRequest, ContextRequestAdapter, CupelLayer, Policy, Source,
//! };
//! use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), BoxError> {
//!     let layer = CupelLayer::builder()
//!         .adapter(ContextRequestAdapter) // reads the request, and writes the selection back
//!         .policy(Policy::rag()) // scores candidates and orders the selection
//!         .budget(ContextBudget::builder(8_192).output_reserve(1_024).build()?)
//!         .source(
//!             Source::list("manual", |request: &ContextRequest<String>| {
//!                 search(request.payload.clone())
//!             })
//!             .deadline(Duration::from_millis(150)), // items that arrived by then are used
//!         )
//!         .build()?;
//!     let mut model = ServiceBuilder::new().layer(layer).service(service_fn(call_the_model));
//!
//!     let question = ContextItem::builder("Why was my card charged twice?", 8).pinned(true).build()?;
//!     let request = ContextRequest::new("double charge".to_owned()).item(question);
//!     let answer = model.ready().await?.call(request).await?;
//!     assert_eq!(answer, "Why was my card charged twice?\nA passage about the double charge.");
//!     Ok(())
//! }
//!
//! /// Stands for a retriever.
//! async fn search(query: String) -> Result<Vec<ContextItem>, BoxError> {
//!     let passage = format!("A passage about the {query}.");
//!     Ok(vec![ContextItem::builder(passage, 6).future_relevance_hint(0.9).build()?])
//! }
//!
//! /// Stands for a client. It gets the selected items in their final order.
//! async fn call_the_model(request: ContextRequest<String>) -> Result<String, BoxError> {
//!     Ok(request.items().map(ContextItem::content).collect::<Vec<_>>().join("\n"))
//! }
//! ```
//!
//! The [`guide`] has a chapter per question. For a chat, take one of the integrations: they read the requests of
//! model APIs, and plan each turn so that the provider's prompt cache keeps its prefix.
//!
//! # Modules
//!
//! | module | contents |
//! | --- | --- |
//! | [`layer`] | [`CupelLayer`], [`Selector`], request adapters, hooks, the [`Selection`] of a call |
//! | [`gather`] | async sources with deadlines, async judges |
//! | [`policy`] | [`Policy`] with its presets, and policies in files |
//! | [`conversation`] | chat messages, the plan of a turn, dry runs of a turn |
//! | [`relevance`] | judges: how close is a text to the question |
//! | [`standing`] | sentences in which the user gives an instruction for later |
//! | [`tool_choice`] | which definitions of tools are sent with a request that does not fit |
//! | [`scorer`], [`slicer`], [`placer`] | score items, fill the budget, order the selection |
//! | [`pipeline`] | the six stages, without async code |
//! | [`model`] | items, budgets, kinds, settings of a plan |
//! | [`tokens`] | exact and estimated token counts |
//! | [`contract`] | a check at start-up that every step fits its model |
//! | [`diagnostics`] | the [`SelectionReport`] and trace collectors |
//! | [`config`] | settings from JSON, TOML and YAML files, with a path for every mistake |
//! | [`error`] | errors of the synchronous core, and lists of invalid settings |
//! | [`explain`] | a selection as text and as an HTML page |
//! | [`analytics`] | selections under other budgets and policies |
//! | [`testing`] | assertions over a report |
//! | [`guide`] | the guide |
//!
//! # Integrations
//!
//! | package | for |
//! | --- | --- |
//! | [`tower-cupel-json`](https://docs.rs/tower-cupel-json) | JSON bodies of Chat Completions, Responses and Anthropic's Messages |
//! | [`tower-cupel-async-openai`](https://docs.rs/tower-cupel-async-openai) | the client `async-openai` |
//! | [`tower-cupel-rig`](https://docs.rs/tower-cupel-rig) | rig agents, with vector indexes, memories and embedding models |
//! | [`tower-cupel-gateway`](https://docs.rs/tower-cupel-gateway) | an HTTP gateway for clients in any language |
//! | [`tower-cupel-audit`](https://docs.rs/tower-cupel-audit) | replays recorded conversations: cost, cache, and what a model would miss |
//! | [`tower-cupel-archive`](https://docs.rs/tower-cupel-archive) | conversations in SQLite or PostgreSQL |
//! | [`tower-cupel-model2vec`](https://docs.rs/tower-cupel-model2vec) | a judge that compares meanings |
//! | [`tower-cupel-otel`](https://docs.rs/tower-cupel-otel) | OpenTelemetry spans and metrics |
//!
//! # Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `layer` (default) | [`gather`] and [`layer`], on tokio and tower |
//! | `serde` | serde for items, budgets, reports and policies; the HTML page of [`explain`] |
//! | `config` | policies in JSON, TOML and YAML files, and contracts in folders |
//! | `tiktoken` | exact token counts for OpenAI's models, 2.3 MB in the binary; `o200k` (1.6 MB) and `cl100k` (0.7 MB) are its halves |
//! | `tokenizers` | exact token counts for any model with a `tokenizer.json`, and its chat template |
//! | `tools` | token counts of tool definitions, by OpenAI's published rule |
//! | `testing` | assertions over a report |
//! | `full` | all of these but `tokenizers` |

// The published pages say which feature brings an item.
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without the layer some functions and imports for it are unused. The published pages have all features, so links to items
// of other features are broken only in local builds without them.
#![cfg_attr(not(feature = "layer"), allow(dead_code, unused_imports))]
#![cfg_attr(
    not(all(feature = "config", feature = "layer", feature = "testing")),
    allow(rustdoc::broken_intra_doc_links)
)]
// Types that are built step by step are `#[must_use]`. A getter whose value is not used does no harm.
#![allow(clippy::must_use_candidate)]

mod caught;
#[cfg(feature = "config")]
pub mod config;
#[cfg(not(feature = "config"))]
mod config;
pub mod error;
mod names;
mod text_cache;

pub mod analytics;
pub mod contract;
pub mod conversation;
pub mod diagnostics;
pub mod explain;
#[cfg(feature = "layer")]
pub mod gather;
#[cfg(all(feature = "config", feature = "layer", feature = "testing"))]
pub mod guide;
#[cfg(feature = "layer")]
pub mod layer;
pub mod model;
pub mod pipeline;
pub mod placer;
pub mod policy;
pub mod relevance;
pub mod scorer;
pub mod slicer;
pub mod standing;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tokens;
pub mod tool_choice;

pub use analytics::policy_sensitivity;
pub use diagnostics::SelectionReport;
pub use error::CupelError;
#[cfg(feature = "layer")]
pub use gather::Source;
#[cfg(feature = "layer")]
pub use layer::{
    ContextAdapter, ContextRequest, ContextRequestAdapter, CupelLayer, Selection, Selector,
};
pub use model::{
    ContextBudget, ContextItem, ContextItemBuilder, ContextKind, ContextSource, OverflowStrategy,
    ScoredItem,
};
pub use pipeline::Pipeline;
pub use placer::{ChronologicalPlacer, Placer};
#[cfg(feature = "serde")]
pub use policy::spec::PolicySpec;
pub use policy::{Policy, PolicyBuilder};
pub use relevance::{Judge, Question};
pub use scorer::{PriorityScorer, ReflexiveScorer, Scorer};
pub use slicer::{GreedySlice, Slicer};
