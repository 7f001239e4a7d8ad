//! Item counts per kind over the knapsack.

use super::count::{CountPhases, check_entries};
use super::{
    CountQuotaEntry, KindQuota, KnapsackSlice, Monotonicity, ScarcityBehavior, Sliced, Slicer,
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

const NAME: &str = "CountConstrainedKnapsackSlice";

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
        check_entries(&entries).slicer(NAME)?;
        Ok(Self { entries, knapsack, scarcity, within_budget: false })
    }

    /// The entries, in configuration order.
    #[must_use]
    pub fn entries(&self) -> &[CountQuotaEntry] {
        &self.entries
    }

    /// The knapsack that fills the rest of the budget.
    #[must_use]
    pub fn knapsack(&self) -> &KnapsackSlice {
        &self.knapsack
    }

    /// What happens when a kind is short of candidates.
    #[must_use]
    pub fn scarcity(&self) -> ScarcityBehavior {
        self.scarcity
    }

    /// Sets whether required items are taken only as far as they fit the budget; off unless set.
    ///
    /// The specification commits required items whatever they cost, and leaves what is too much to
    /// the overflow strategy. With this, the best required items that fit are committed, and a
    /// kind that stays short is a shortfall or an error, as the scarcity behaviour says.
    #[must_use]
    pub fn within_budget(mut self, enabled: bool) -> Self {
        self.within_budget = enabled;
        self
    }

    /// Whether required items are taken only as far as they fit the budget.
    #[must_use]
    pub fn is_within_budget(&self) -> bool {
        self.within_budget
    }
}

impl Slicer for CountConstrainedKnapsackSlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<Sliced, CupelError> {
        let phases = CountPhases {
            slicer: NAME,
            entries: &self.entries,
            scarcity: self.scarcity,
            within_budget: self.within_budget,
            inner: &self.knapsack,
            sort_inner: true,
        };
        phases.slice(items, budget)
    }

    fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
        self.knapsack.steps(candidates, target_tokens)
    }

    fn monotonicity(&self) -> Monotonicity {
        Monotonicity::NonMonotonic
    }

    fn quotas(&self) -> Vec<KindQuota> {
        self.entries.iter().map(CountQuotaEntry::as_quota).collect()
    }

    fn is_count_quota(&self) -> bool {
        true
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}
