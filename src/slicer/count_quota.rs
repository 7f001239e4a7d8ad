//! Item counts per kind over any slicer but the knapsack.

use std::any::Any;
use std::sync::Arc;

use super::count::{CountPhases, check_entries, count_slicer};
use super::{
    CountQuotaEntry, KnapsackSlice, Monotonicity, QuotaUnit, ScarcityBehavior, Sliced, Slicer,
    SlicerFacts,
};
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

count_slicer!(CountQuotaSlice, inner: inner, sort_inner: false);

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
        if inner.as_any().is_some_and(<dyn Any>::is::<KnapsackSlice>) {
            let message = "must not be a knapsack (KnapsackSlice); use greedy, or \
                           count_constrained_knapsack instead of count_quota";
            problems.add(&Path::Root.key("inner"), message);
        }
        problems.slicer(Self::NAME)?;
        Ok(Self { entries, inner: Arc::new(inner), scarcity, within_budget: false })
    }

    /// The slicer that fills the rest of the budget.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn Slicer> {
        &self.inner
    }
}
