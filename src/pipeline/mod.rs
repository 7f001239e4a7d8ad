//! The six stages: classify, score, deduplicate, sort, slice, place.
//!
//! ```
//! use cupel::{
//!     ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer, UShapedPlacer,
//! };
//!
//! let pipeline = Pipeline::builder()
//!     .scorer(ReflexiveScorer)
//!     .slicer(GreedySlice)
//!     .placer(UShapedPlacer)
//!     .build()?;
//!
//! let items = [
//!     ContextItem::builder("You answer briefly.", 5)
//!         .kind(ContextKind::system_prompt())
//!         .pinned(true)
//!         .build()?,
//!     ContextItem::builder("a close match", 40).future_relevance_hint(0.9).build()?,
//!     ContextItem::builder("a distant match", 40).future_relevance_hint(0.2).build()?,
//! ];
//! let budget = ContextBudget::builder(60).build()?;
//! let selected = pipeline.run(&items, &budget)?;
//! let texts: Vec<_> = selected.iter().map(ContextItem::content).collect();
//! assert_eq!(texts, ["You answer briefly.", "a close match"]);
//! # Ok::<(), cupel::CupelError>(())
//! ```

mod builder;
mod explain;
mod observe;
mod parts;
mod place;
mod rank;
mod run;
mod simulate;
mod slice;

pub use builder::PipelineBuilder;
pub(crate) use explain::Explain;
pub use parts::Pipeline;
pub(crate) use simulate::Simulation;
