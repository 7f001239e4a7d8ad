//! Item counts per kind over any slicer but the knapsack.

use std::sync::Arc;

use super::count::{CountPhases, check_entries};
use super::{CountQuotaEntry, KindQuota, Monotonicity, ScarcityBehavior, Sliced, Slicer};
use crate::config::Path;
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};

/// Commits the best required items of every kind, fills the rest with an inner slicer, and drops
/// what that one chose beyond a kind's cap.
///
/// ```
/// use cupel::{
///     ContextBudget, ContextItem, ContextKind, CountQuotaEntry, CountQuotaSlice, GreedySlice,
///     ScarcityBehavior, ScoredItem, Slicer,
/// };
///
/// let entries = vec![CountQuotaEntry::new(ContextKind::tool_output(), 1, 1)?];
/// let slicer = CountQuotaSlice::new(entries, GreedySlice, ScarcityBehavior::Degrade)?;
///
/// let tool = |text| ContextItem::builder(text, 10).kind(ContextKind::tool_output()).build();
/// let items = [tool("newest")?, tool("older")?];
/// let scored = [ScoredItem::new(&items[0], 0.9), ScoredItem::new(&items[1], 0.8)];
/// let budget = ContextBudget::builder(100).build()?;
/// assert_eq!(slicer.slice(&scored, &budget)?.indices, [0]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CountQuotaSlice {
    entries: Vec<CountQuotaEntry>,
    inner: Arc<dyn Slicer>,
    scarcity: ScarcityBehavior,
    within_budget: bool,
}

const NAME: &str = "CountQuotaSlice";

impl CountQuotaSlice {
    /// Creates a slicer.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when `inner` is a knapsack slicer (use
    /// [`CountConstrainedKnapsackSlice`](crate::CountConstrainedKnapsackSlice)) or a kind has two
    /// entries.
    pub fn new(
        entries: Vec<CountQuotaEntry>,
        inner: impl Slicer + 'static,
        scarcity: ScarcityBehavior,
    ) -> Result<Self, CupelError> {
        let mut problems = check_entries(&entries);
        if inner.is_knapsack() {
            let message = "must not be a knapsack (KnapsackSlice); use greedy, or \
                           count_constrained_knapsack instead of count_quota";
            problems.add(&Path::Root.key("inner"), message);
        }
        problems.slicer(NAME)?;
        Ok(Self { entries, inner: Arc::new(inner), scarcity, within_budget: false })
    }

    /// The entries, in configuration order.
    #[must_use]
    pub fn entries(&self) -> &[CountQuotaEntry] {
        &self.entries
    }

    /// The slicer that fills the rest of the budget.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn Slicer> {
        &self.inner
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

impl Slicer for CountQuotaSlice {
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
            inner: &*self.inner,
            sort_inner: false,
        };
        phases.slice(items, budget)
    }

    fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
        self.inner.steps(candidates, target_tokens)
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
