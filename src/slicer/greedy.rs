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
        let (mut positive_tokens, mut smallest, mut free_items) = (0_i64, i64::MAX, 0_usize);
        let mut keys: Vec<u128> = Vec::with_capacity(items.len());
        for (index, scored) in (0_u32..).zip(items) {
            let tokens = scored.tokens();
            // Negative counts never reach a slicer through the pipeline; called directly, they
            // are left out rather than allowed to enlarge the budget.
            if tokens < 0 {
                continue;
            }
            if tokens == 0 {
                free_items += 1;
            } else {
                smallest = smallest.min(tokens);
                positive_tokens = positive_tokens.saturating_add(tokens);
            }
            keys.push(order::keyed(order::descending(density(scored.score(), tokens)), index));
        }

        // About as many items as the budget holds of average size, and some more.
        let paid_items = (keys.len() - free_items) as f64;
        let expected = paid_items * remaining as f64 / positive_tokens.max(1) as f64;
        let mut ordered = InOrder::new(&mut keys, free_items + (expected * 1.25) as usize + 32);

        let mut selected = Vec::new();
        while let Some(chunk) = ordered.next_chunk() {
            for &key in &*chunk {
                let index = order::index_of(key) as usize;
                let Some(scored) = items.get(index) else {
                    continue;
                };
                if scored.tokens() <= remaining {
                    selected.push(index);
                    remaining -= scored.tokens();
                    free_items -= usize::from(scored.tokens() == 0);
                }
            }
            // Nothing that is left can fit, so its order does not matter.
            if remaining < smallest && free_items == 0 {
                break;
            }
        }
        Ok(Sliced::from(selected))
    }

    fn monotonicity(&self) -> Monotonicity {
        Monotonicity::Monotonic
    }
}

/// Hands out keys from the smallest up, sorting no more of them than are asked for.
struct InOrder<'a> {
    rest: &'a mut [u128],
    chunk: usize,
}

impl<'a> InOrder<'a> {
    fn new(keys: &'a mut [u128], first_chunk: usize) -> Self {
        Self { rest: keys, chunk: first_chunk.max(1) }
    }

    fn next_chunk(&mut self) -> Option<&'a mut [u128]> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        // Cutting off a part pays only when it is well below the whole.
        if self.chunk.saturating_mul(2) > rest.len() {
            rest.sort_unstable();
            return Some(rest);
        }
        rest.select_nth_unstable(self.chunk);
        let (chunk, rest) = rest.split_at_mut(self.chunk);
        chunk.sort_unstable();
        self.rest = rest;
        self.chunk *= 2;
        Some(chunk)
    }
}
