//! Takes items by score until the budget is full.

use super::greedy::{fill, prepare_fill};
use super::{Monotonicity, PreparedSlice, Sliced, Slicer, StreamOrder};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};
use crate::order;

/// Fills the budget from the best score down, in one pass.
///
/// Where the best items matter more than many items, as the evidence for an answer does, this
/// beats [`GreedySlice`](crate::GreedySlice): a long text that answers is not pushed out by short
/// ones that are worth more by the token. An item that does not fit is passed over, and those
/// behind it may still be taken. Equal scores go by position; items without tokens are always taken.
///
/// ```
/// use cupel::{BestFirstSlice, ContextBudget, ContextItem, ScoredItem, Slicer};
///
/// let items = [ContextItem::new("short", 20)?, ContextItem::new("long", 80)?];
/// let scored = [ScoredItem::new(&items[0], 0.5), ScoredItem::new(&items[1], 0.9)];
/// let budget = ContextBudget::builder(90).build()?;
/// assert_eq!(BestFirstSlice.slice(&scored, &budget)?.indices, [1]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BestFirstSlice;

impl Slicer for BestFirstSlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<Sliced, CupelError> {
        Ok(fill(items, budget, score))
    }

    fn prepare<'s>(&'s self, items: &'s [ScoredItem<'s>]) -> PreparedSlice<'s> {
        prepare_fill(items, by_score(items))
    }

    fn one_pass_order(&self, items: &[ScoredItem<'_>]) -> Option<Vec<u32>> {
        Some(by_score(items))
    }

    fn stream_order(&self) -> Option<StreamOrder> {
        Some(StreamOrder::Score)
    }

    // As for `GreedySlice`, of which the specification says so.
    fn monotonicity(&self) -> Monotonicity {
        Monotonicity::Monotonic
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

fn score(scored: &ScoredItem<'_>) -> f64 {
    scored.score()
}

/// Positions by score, the highest first, equal ones in their given order.
pub(super) fn by_score(items: &[ScoredItem<'_>]) -> Vec<u32> {
    order::by_score_descending(items.iter().map(ScoredItem::score))
}
