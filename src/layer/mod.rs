//! A Tower layer that selects a request's context before the wrapped service sees it.
//!
//! ```
//! use std::convert::Infallible;
//! use std::time::Duration;
//! use cupel::gather::Source;
//! use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
//! use cupel::{ContextBudget, ContextItem, Policy};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let layer = CupelLayer::builder()
//!     .adapter(ContextRequestAdapter)
//!     .policy(Policy::rag())
//!     .budget(ContextBudget::builder(100).build()?)
//!     .source(
//!         Source::items("notes", vec![ContextItem::new("the office closes at six", 6)?])
//!             .deadline(Duration::from_millis(50)),
//!     )
//!     .build()?;
//! let model = service_fn(|request: ContextRequest<&'static str>| async move {
//!     Ok::<_, Infallible>(request.items().count())
//! });
//! let mut model = ServiceBuilder::new().layer(layer).service(model);
//!
//! let question = ContextItem::builder("When does the office close?", 7).pinned(true).build()?;
//! let request = ContextRequest::new("model-name").item(question);
//! let items_sent = model.ready().await?.call(request).await?;
//! assert_eq!(items_sent, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! A call runs like this: the budget is asked for, the sources are opened, the adapter takes the
//! candidates out of the request, a judge says how close they are to the question, the sources are
//! gathered under their deadlines, the pipeline selects, the adapter puts the selection back, the hooks are told, and the wrapped service is
//! called. What it returns passes through untouched, streams included.

mod adapter;
mod answers;
mod batch;
mod budget;
mod builder;
mod call;
mod call_log;
mod compaction;
mod compaction_task;
mod error;
mod exchange;
mod gathering;
mod hooks;
mod policy_handle;
mod request;
mod room;
mod selection;
mod selector;
mod service;
mod service_compactor;
mod spans;
mod summarise;
mod summary_report;
mod window;

pub use crate::conversation::plan::TurnReport;
pub use crate::conversation::{Edits, SentSummary};
pub use crate::gather::work_place::{WorkError, off_executor};
pub use crate::gather::{
    AsyncJudge, DroppedCounts, EmbedAs, Embedder, EmbeddingsJudge, JudgeWork, Snapshot,
    StreamReport, TextHash, VectorStore, WaitingJudge,
};
pub use crate::model::{Origin, PlacedItem, RefusedItem, Strategy};
pub use adapter::{ContextAdapter, RequestFacts, Split};
pub use budget::{BudgetOrigin, BudgetProvider};
pub use builder::{CupelLayerBuilder, NoAdapter};
pub use compaction::{Compaction, CompactionWork};
pub use error::{BudgetLimits, BuildError, ContextError, Error};
pub use hooks::{CallObserver, CallStart, SelectionHook};
pub use policy_handle::PolicyHandle;
pub use request::{ContextRequest, ContextRequestAdapter};
pub use selection::Selection;
pub use selector::{SelectedRequest, Selector};
pub use service::{
    CupelLayer, CupelService, ResponseFuture, ResponseMode, ResponseOnly, WithReport,
};
pub use service_compactor::ServiceCompactor;
pub use summary_report::{SummaryProblem, SummaryReport};
pub use window::{DEFAULT_OUTPUT_TOKENS, ModelLookup, ModelWindow, WindowLimits};
