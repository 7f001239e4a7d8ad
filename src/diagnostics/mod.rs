//! Why each item was included or left out, and how long each stage took.
//!
//! A collector is passed to [`Pipeline::run_traced`](crate::Pipeline::run_traced), one for each
//! run. [`NullTraceCollector`] costs nothing, [`DiagnosticTraceCollector`] yields a
//! [`SelectionReport`], and a collector of your own implements three methods:
//!
//! ```
//! use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
//! use cupel::diagnostics::{TraceCollector, TraceEvent};
//! use cupel::placer::UShapedPlacer;
//!
//! #[derive(Default)]
//! struct Slowest(Option<TraceEvent>);
//!
//! impl TraceCollector for Slowest {
//!     fn is_enabled(&self) -> bool {
//!         true
//!     }
//!
//!     fn record_stage_event(&mut self, event: TraceEvent) {
//!         if self.0.as_ref().is_none_or(|slowest| slowest.duration_ms < event.duration_ms) {
//!             self.0 = Some(event);
//!         }
//!     }
//!
//!     fn record_item_event(&mut self, _event: TraceEvent) {}
//! }
//!
//! let pipeline = Pipeline::builder()
//!     .scorer(ReflexiveScorer)
//!     .slicer(GreedySlice)
//!     .placer(UShapedPlacer)
//!     .build()?;
//! let items = [ContextItem::new("hello", 2)?];
//! let mut collector = Slowest::default();
//! pipeline.run_traced(&items, &ContextBudget::builder(10).build()?, &mut collector)?;
//! assert!(collector.0.is_some());
//! # Ok::<(), cupel::CupelError>(())
//! ```

mod collector;
mod report;

pub use crate::model::{ExclusionReason, InclusionReason};
pub use collector::{
    DiagnosticTraceCollector, NullTraceCollector, TraceCollector, TraceDetailLevel,
};
pub(crate) use collector::{TARGET, Watchers, tell};
pub use report::{
    ExcludedItem, IncludedItem, ItemDetails, OverflowEvent, PipelineStage, SelectionReport,
    TraceEvent,
};
