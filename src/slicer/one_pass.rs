//! Slicers that go through the items once and take whatever fits: by score per token, or by score.

use super::{Monotonicity, PreparedSlice, SliceResult, Slicer, SlicerFacts, StreamOrder};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};

/// Fills the budget with the items that give most score per token, in one pass.
///
/// Items without tokens come first and are always taken. Equal densities go by position. An item
/// that does not fit is passed over, and smaller ones behind it may still be taken.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, GreedySlice, ScoredItem, Slicer};
///
/// let items = [ContextItem::new("long", 80)?, ContextItem::new("short", 20)?];
/// let scored = [ScoredItem::new(&items[0], 0.9), ScoredItem::new(&items[1], 0.5)];
/// let budget = ContextBudget::builder(90).build()?;
/// // 0.5 / 20 beats 0.9 / 80, and then 80 no longer fits.
/// assert_eq!(GreedySlice.slice(&scored, &budget)?.indices, [1]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GreedySlice;

/// Fills the budget from the best score down, in one pass.
///
/// Use it instead of [`GreedySlice`] if the best items matter more than many items, as the evidence for
/// an answer does: short texts that are worth more by the token do not push out a long text that answers.
/// An item that does not fit is passed over, and those behind it may still be taken. Equal scores go by position; items without tokens are always taken.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, ScoredItem, Slicer};
/// use cupel::slicer::BestFirstSlice;
///
/// let items = [ContextItem::new("short", 20)?, ContextItem::new("long", 80)?];
/// let scored = [ScoredItem::new(&items[0], 0.5), ScoredItem::new(&items[1], 0.9)];
/// let budget = ContextBudget::builder(90).build()?;
/// assert_eq!(BestFirstSlice.slice(&scored, &budget)?.indices, [1]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BestFirstSlice;

/// Implements a slicer that takes whatever fits in one order. The specification calls `GreedySlice`
/// monotonic, so both are.
macro_rules! one_pass {
    ($Slicer:ident, $order:expr) => {
        impl Slicer for $Slicer {
            fn slice(
                &self,
                items: &[ScoredItem<'_>],
                budget: &ContextBudget,
            ) -> Result<SliceResult, CupelError> {
                prepare_fill(items, $order)(budget)
            }

            fn prepare<'s>(&'s self, items: &'s [ScoredItem<'s>]) -> PreparedSlice<'s> {
                prepare_fill(items, $order)
            }

            fn facts(&self) -> SlicerFacts {
                let facts = SlicerFacts::default().with_monotonicity(Monotonicity::Monotonic);
                facts.with_one_pass($order)
            }

            crate::names::as_any!();
        }
    };
}

one_pass!(GreedySlice, StreamOrder::Density);
one_pass!(BestFirstSlice, StreamOrder::Score);

/// Takes whatever fits in this order, for one budget after another.
fn prepare_fill<'s>(items: &'s [ScoredItem<'s>], order: StreamOrder) -> PreparedSlice<'s> {
    let order = order.positions(items);
    let tokens = || items.iter().map(ScoredItem::tokens);
    let free_items = tokens().filter(|tokens| *tokens == 0).count();
    let smallest = tokens().filter(|tokens| *tokens > 0).min().unwrap_or(i64::MAX);
    Box::new(move |budget| {
        let (mut remaining, mut free_items) = (budget.target_tokens(), free_items);
        let mut selected = Vec::new();
        if remaining <= 0 {
            return Ok(SliceResult::default());
        }
        for position in order.iter().map(|position| *position as usize) {
            // Nothing that is left can fit.
            if free_items == 0 && remaining < smallest {
                break;
            }
            let tokens = items.get(position).map_or(-1, ScoredItem::tokens);
            // Negative counts never reach a slicer through the pipeline; called directly, they are
            // left out rather than allowed to enlarge the budget.
            if (0..=remaining).contains(&tokens) {
                selected.push(position);
                remaining -= tokens;
                free_items -= usize::from(tokens == 0);
            }
        }
        Ok(SliceResult::from(selected))
    })
}
