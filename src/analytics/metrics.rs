//! Numbers about the selection in a report.

use crate::diagnostics::{IncludedItem, InclusionReason, SelectionReport};
use crate::model::{ContextBudget, ContextKind};
use crate::slicer::{KindQuota, QuotaUnit, Slicer};

fn tokens<'a>(included: impl Iterator<Item = &'a IncludedItem>) -> i64 {
    included.fold(0, |sum, included| sum.saturating_add(included.item.tokens()))
}

/// The selection's tokens divided by `maxTokens`; 0.0 when `maxTokens` is 0.
///
/// ```
/// # use cupel::{analytics::budget_utilization, ContextBudget, ContextItem, Policy};
/// let budget = ContextBudget::builder(200).build()?;
/// let report = Policy::chat().dry_run(&[ContextItem::new("hello", 50)?], &budget)?;
/// assert_eq!(budget_utilization(&report, &budget), 0.25);
/// # Ok::<(), cupel::CupelError>(())
/// ```
pub fn budget_utilization(report: &SelectionReport, budget: &ContextBudget) -> f64 {
    if budget.max_tokens() == 0 {
        return 0.0;
    }
    tokens(report.included.iter()) as f64 / budget.max_tokens() as f64
}

/// Number of different kinds in the selection.
///
/// ```
/// # use cupel::{analytics::kind_diversity, ContextBudget, ContextItem, Policy};
/// let budget = ContextBudget::builder(200).build()?;
/// let report = Policy::chat().dry_run(&[ContextItem::new("hello", 50)?], &budget)?;
/// assert_eq!(kind_diversity(&report), 1);
/// # Ok::<(), cupel::CupelError>(())
/// ```
pub fn kind_diversity(report: &SelectionReport) -> usize {
    let mut kinds: Vec<&ContextKind> = report.included.iter().map(|i| i.item.kind()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.len()
}

/// The share of selected items that have a timestamp; 0.0 for an empty selection.
///
/// ```
/// # use cupel::{analytics::timestamp_coverage, ContextBudget, ContextItem, Policy};
/// let budget = ContextBudget::builder(200).build()?;
/// let now = chrono::Utc::now();
/// let items = [ContextItem::builder("a", 1).timestamp(now).build()?, ContextItem::new("b", 1)?];
/// let report = Policy::chat().dry_run(&items, &budget)?;
/// assert_eq!(timestamp_coverage(&report), 0.5);
/// # Ok::<(), cupel::CupelError>(())
/// ```
pub fn timestamp_coverage(report: &SelectionReport) -> f64 {
    if report.included.is_empty() {
        return 0.0;
    }
    let dated = report.included.iter().filter(|i| i.item.timestamp().is_some()).count();
    dated as f64 / report.included.len() as f64
}

/// Use that a kind made of its quota.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaUtilization {
    /// The kind's quota, and its unit.
    pub quota: KindQuota,
    /// Amount of the kind in the selection, in that unit; pinned items are outside of quotas.
    pub actual: f64,
}

impl QuotaUtilization {
    /// The actual amount divided by the cap; 0.0 when the cap is 0.
    pub fn of_cap(&self) -> f64 {
        if self.quota.cap == 0.0 { 0.0 } else { self.actual / self.quota.cap }
    }

    /// Returns `true` if the kind has at least what its quota requires.
    pub fn meets_requirement(&self) -> bool {
        self.actual >= self.quota.require
    }
}

/// Use that each kind made of its quota, for the quotas of `slicer`, in their order.
///
/// Percentages are of the effective target: what the budget leaves beside pinned items, reserved
/// slots, the output reserve and the safety margin. Slicers without quotas give an empty list.
///
/// ```
/// use cupel::analytics::quota_utilization;
/// use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer};
/// use cupel::placer::UShapedPlacer;
/// use cupel::slicer::{QuotaSet, QuotaSlice};
///
/// let quotas = QuotaSet::builder().cap(ContextKind::document(), 50.0).build()?;
/// let slicer = QuotaSlice::new(quotas, GreedySlice);
/// let pipeline = Pipeline::builder()
///     .scorer(ReflexiveScorer)
///     .slicer(slicer.clone())
///     .placer(UShapedPlacer)
///     .build()?;
/// let doc = ContextItem::builder("doc", 25).kind(ContextKind::document()).build()?;
/// let budget = ContextBudget::builder(100).build()?;
/// let report = pipeline.dry_run(&[doc], &budget)?;
/// let used = quota_utilization(&report, &budget, &slicer);
/// assert_eq!((used[0].actual, used[0].of_cap()), (25.0, 0.5));
/// # Ok::<(), cupel::CupelError>(())
/// ```
pub fn quota_utilization(
    report: &SelectionReport,
    budget: &ContextBudget,
    slicer: &dyn Slicer,
) -> Vec<QuotaUtilization> {
    let is_pinned = |included: &&IncludedItem| included.reason == InclusionReason::Pinned;
    let pinned_tokens = tokens(report.included.iter().filter(is_pinned));
    let target = budget.effective(pinned_tokens).target_tokens();
    let measure = |quota: KindQuota| {
        let own = || {
            let sliced = report.included.iter().filter(|included| !is_pinned(included));
            sliced.filter(|included| *included.item.kind() == quota.kind)
        };
        let actual = match quota.unit {
            QuotaUnit::Items => own().count() as f64,
            QuotaUnit::Percent if target == 0 => 0.0,
            QuotaUnit::Percent => tokens(own()) as f64 / target as f64 * 100.0,
        };
        QuotaUtilization { quota, actual }
    };
    slicer.facts().quotas.into_iter().map(measure).collect()
}
