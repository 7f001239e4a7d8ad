//! Numbers about a selection, and what another budget or policy would have selected.
//!
//! ```
//! use cupel::analytics::{budget_utilization, kind_diversity, timestamp_coverage};
//! use cupel::{ContextBudget, ContextItem, ContextKind, Policy};
//!
//! let items = [
//!     ContextItem::builder("question", 20).future_relevance_hint(0.9).build()?,
//!     ContextItem::builder("answer", 30)
//!         .kind(ContextKind::document())
//!         .future_relevance_hint(0.8)
//!         .build()?,
//! ];
//! let budget = ContextBudget::builder(100).build()?;
//! let report = Policy::rag().dry_run(&items, &budget)?;
//! assert_eq!(budget_utilization(&report, &budget), 0.5);
//! assert_eq!(kind_diversity(&report), 2);
//! assert_eq!(timestamp_coverage(&report), 0.0);
//! # Ok::<(), cupel::CupelError>(())
//! ```

mod metrics;
mod sensitivity;
mod simulation;

pub use metrics::{
    QuotaUtilization, budget_utilization, kind_diversity, quota_utilization, timestamp_coverage,
};
pub use sensitivity::{
    ItemStatus, PolicySensitivityDiffEntry, PolicySensitivityReport, policy_sensitivity,
    policy_sensitivity_from_pipelines,
};
pub use simulation::BudgetPoint;
