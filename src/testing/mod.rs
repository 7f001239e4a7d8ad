//! Assertions over a [`SelectionReport`](crate::SelectionReport), for tests.
//!
//! [`report.should()`](crate::SelectionReport::should) starts a chain. An assertion that holds
//! returns the chain; one that fails panics at the line that asked, with a message that says what
//! was expected and what the report holds. The messages show kinds, scores, tokens and reasons,
//! never an item's content.
//!
//! ```
//! use cupel::testing::ReasonKind;
//! use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer};
//! use cupel::placer::UShapedPlacer;
//!
//! let pipeline = Pipeline::builder()
//!     .scorer(ReflexiveScorer)
//!     .slicer(GreedySlice)
//!     .placer(UShapedPlacer)
//!     .build()?;
//! let items = [
//!     ContextItem::builder("What broke?", 150).future_relevance_hint(1.0).build()?,
//!     ContextItem::builder("a long log", 400).kind(ContextKind::tool_output()).build()?,
//! ];
//! let budget = ContextBudget::builder(200).build()?;
//! let report = pipeline.dry_run(&items, &budget)?;
//!
//! report
//!     .should()
//!     .include_item_with_kind(ContextKind::message())
//!     .exclude_item_with_reason(ReasonKind::BudgetExceeded)
//!     .have_budget_utilization_above(0.7, &budget)
//!     .place_top_n_scored_at_edges(1);
//!
//! let failure = report.should().try_have_kind_coverage_count(2).unwrap_err();
//! assert_eq!(
//!     failure.to_string(),
//!     "HaveKindCoverageCount(2) failed: expected at least 2 distinct ContextKind values in \
//!      Included, but found 1: [Message].",
//! );
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! Each assertion also has a `try_` form that returns the failure as a
//! [`SelectionReportAssertionError`], for tests that return `Result` and for helpers that collect
//! failures.

mod assertion;
mod chain;
mod text;

pub use chain::{SelectionReportAssertionChain, SelectionReportAssertionError};
pub use text::ReasonKind;
