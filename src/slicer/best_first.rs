//! Takes items by score until the budget is full.

use super::StreamOrder;
use super::greedy::one_pass;

/// Fills the budget from the best score down, in one pass.
///
/// Use it instead of [`GreedySlice`](crate::GreedySlice) if the best items matter more than many items, as
/// the evidence for an answer does: short texts that are worth more by the token do not push out a
/// long text that answers. An item that does not fit is passed over, and those
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

one_pass!(BestFirstSlice, StreamOrder::Score);
