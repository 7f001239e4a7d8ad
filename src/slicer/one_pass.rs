//! Slicers that go through the items once and take whatever fits: by score per token, or by score.

use super::{Monotonicity, PreparedSlice, Sliced, Slicer, SlicerFacts, StreamOrder};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};
use crate::order::Ranking;

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

/// Implements a slicer that takes whatever fits in one order. The specification calls `GreedySlice`
/// monotonic, so both are.
macro_rules! one_pass {
    ($Slicer:ident, $order:expr) => {
        impl Slicer for $Slicer {
            fn slice(
                &self,
                items: &[ScoredItem<'_>],
                budget: &ContextBudget,
            ) -> Result<Sliced, CupelError> {
                Ok(fill(items, budget, $order))
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

/// Takes whatever fits in this order.
fn fill(items: &[ScoredItem<'_>], budget: &ContextBudget, order: StreamOrder) -> Sliced {
    if items.is_empty() || budget.target_tokens() <= 0 {
        return Sliced::default();
    }
    let left = ItemTotals::count(items);
    let mut ranking = Ranking::new(order.values(items));
    let mut filling = BudgetFill::new(items, budget, left);
    let mut count = left.likely_selected(filling.remaining);
    while let Some(best) = ranking.next_best(count) {
        best.into_iter().for_each(|position| filling.take(position));
        if filling.is_full() {
            break;
        }
        count = count.saturating_mul(2);
    }
    Sliced::from(filling.selected)
}

/// Takes whatever fits in this order, for one budget after another.
fn prepare_fill<'s>(items: &'s [ScoredItem<'s>], order: StreamOrder) -> PreparedSlice<'s> {
    let order = order.positions(items);
    let left = ItemTotals::count(items);
    Box::new(move |budget| {
        let mut filling = BudgetFill::new(items, budget, left);
        if filling.remaining > 0 {
            let _ = order.iter().all(|&position| {
                filling.take(position);
                !filling.is_full()
            });
        }
        Ok(Sliced::from(filling.selected))
    })
}

/// A budget being filled.
struct BudgetFill<'s> {
    items: &'s [ScoredItem<'s>],
    left: ItemTotals,
    remaining: i64,
    selected: Vec<usize>,
}

impl<'s> BudgetFill<'s> {
    fn new(items: &'s [ScoredItem<'s>], budget: &ContextBudget, left: ItemTotals) -> Self {
        Self { items, left, remaining: budget.target_tokens(), selected: Vec::new() }
    }

    /// Takes the item at a position if it fits.
    fn take(&mut self, position: u32) {
        let position = position as usize;
        let tokens = self.items.get(position).map_or(-1, ScoredItem::tokens);
        // Negative counts never reach a slicer through the pipeline; called directly, they are
        // left out rather than allowed to enlarge the budget.
        if (0..=self.remaining).contains(&tokens) {
            self.selected.push(position);
            self.remaining -= tokens;
            self.left.free -= usize::from(tokens == 0);
        }
    }

    /// Returns `true` if nothing that is left can fit.
    fn is_full(&self) -> bool {
        self.left.free == 0 && self.remaining < self.left.smallest
    }
}

/// Totals of the items that are left. They tell when the order of the rest no longer matters.
#[derive(Clone, Copy)]
struct ItemTotals {
    /// Items without tokens that are not selected yet.
    free: usize,
    /// All items with tokens, and their tokens.
    paid: usize,
    paid_tokens: i64,
    smallest: i64,
}

impl ItemTotals {
    fn count(items: &[ScoredItem<'_>]) -> Self {
        let mut left = Self { free: 0, paid: 0, paid_tokens: 0, smallest: i64::MAX };
        for scored in items {
            match scored.tokens() {
                0 => left.free += 1,
                tokens if tokens > 0 => {
                    left.paid += 1;
                    left.paid_tokens = left.paid_tokens.saturating_add(tokens);
                    left.smallest = left.smallest.min(tokens);
                }
                _ => {}
            }
        }
        left
    }

    /// Somewhat more items than the budget holds of average size.
    fn likely_selected(&self, remaining: i64) -> usize {
        let share = remaining as f64 / self.paid_tokens.max(1) as f64;
        self.free + (self.paid as f64 * share * 1.25) as usize + 32
    }
}
