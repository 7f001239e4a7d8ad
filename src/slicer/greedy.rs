//! Takes items by score per token until the budget is full.

use super::{Monotonicity, Sliced, Slicer};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};
use crate::order;

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

/// Score per token; the largest finite number for items without tokens.
pub(crate) fn density(score: f64, tokens: i64) -> f64 {
    if tokens == 0 { f64::MAX } else { score / tokens as f64 }
}

impl Slicer for GreedySlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<Sliced, CupelError> {
        let mut remaining = budget.target_tokens();
        if items.is_empty() || remaining <= 0 {
            return Ok(Sliced::default());
        }
        let mut left = Left::count(items);
        let mut by_density = order::Ranking::new(
            items.iter().map(|scored| density(scored.score(), scored.tokens())),
        );
        let mut selected = Vec::new();
        let mut count = left.likely_selected(remaining);
        while let Some(best) = by_density.next_best(count) {
            for position in best {
                let position = position as usize;
                let tokens = items.get(position).map_or(-1, ScoredItem::tokens);
                // Negative counts never reach a slicer through the pipeline; called directly,
                // they are left out rather than allowed to enlarge the budget.
                if (0..=remaining).contains(&tokens) {
                    selected.push(position);
                    remaining -= tokens;
                    left.free -= usize::from(tokens == 0);
                }
            }
            if left.nothing_fits(remaining) {
                break;
            }
            count = count.saturating_mul(2);
        }
        Ok(Sliced::from(selected))
    }

    fn monotonicity(&self) -> Monotonicity {
        Monotonicity::Monotonic
    }
}

/// What can still be selected: tells when the order of the rest no longer matters.
struct Left {
    /// Items without tokens that are not selected yet.
    free: usize,
    /// All items with tokens, and their tokens.
    paid: usize,
    paid_tokens: i64,
    smallest: i64,
}

impl Left {
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

    fn nothing_fits(&self, remaining: i64) -> bool {
        self.free == 0 && remaining < self.smallest
    }
}
