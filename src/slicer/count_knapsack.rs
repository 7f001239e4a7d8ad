//! Item counts per kind over the knapsack.

use super::count::{CountPhases, check_entries, count_slicer};
use super::{
    CountQuotaEntry, KnapsackSlice, Monotonicity, QuotaUnit, ScarcityBehavior, Sliced, Slicer,
    SlicerFacts,
};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};

/// Commits the best required items of every kind, packs the rest with a knapsack, and drops what
/// goes beyond a kind's cap, lowest scores first.
///
/// ```
/// use cupel::{
///     ContextBudget, ContextItem, ContextKind, CountConstrainedKnapsackSlice, CountQuotaEntry,
///     KnapsackSlice, ScarcityBehavior, ScoredItem, Slicer,
/// };
///
/// let entries = vec![CountQuotaEntry::new(ContextKind::new("tool")?, 3, 5)?];
/// let slicer =
///     CountConstrainedKnapsackSlice::new(entries, KnapsackSlice::new(10)?, ScarcityBehavior::Throw)?;
///
/// let only = ContextItem::builder("tool-a", 10).kind(ContextKind::new("tool")?).build()?;
/// let budget = ContextBudget::builder(100).build()?;
/// let error = slicer.slice(&[ScoredItem::new(&only, 0.9)], &budget).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "CountConstrainedKnapsackSlice: candidate pool for kind 'tool' has 1 items but RequireCount is 3.",
/// );
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CountConstrainedKnapsackSlice {
    entries: Vec<CountQuotaEntry>,
    knapsack: KnapsackSlice,
    scarcity: ScarcityBehavior,
    within_budget: bool,
}

count_slicer!(CountConstrainedKnapsackSlice, inner: knapsack, sort_inner: true);

impl CountConstrainedKnapsackSlice {
    /// Creates a slicer.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when a kind has two entries.
    pub fn new(
        entries: Vec<CountQuotaEntry>,
        knapsack: KnapsackSlice,
        scarcity: ScarcityBehavior,
    ) -> Result<Self, CupelError> {
        check_entries(&entries).slicer(Self::NAME)?;
        Ok(Self { entries, knapsack, scarcity, within_budget: false })
    }

    /// The knapsack that fills the rest of the budget.
    #[must_use]
    pub fn knapsack(&self) -> &KnapsackSlice {
        &self.knapsack
    }
}
