//! The best items at both ends, the weakest in the middle.

use super::Placer;
use crate::model::ScoredItem;
use crate::order;

/// Puts the highest scores at the start and the end, where models attend most.
///
/// Ranks alternate: first to the left edge, second to the right edge, third next to the first.
///
/// ```
/// use cupel::{ContextItem, Placer, ScoredItem, UShapedPlacer};
///
/// let items = ["a", "b", "c", "d"].map(|text| ContextItem::new(text, 1).unwrap());
/// let scores = [0.9, 0.8, 0.7, 0.6];
/// let scored: Vec<_> = items.iter().zip(scores).map(|(i, s)| ScoredItem::new(i, s)).collect();
/// assert_eq!(UShapedPlacer.place(&scored), [0, 2, 3, 1]);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UShapedPlacer;

impl Placer for UShapedPlacer {
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        let ranked = order::by_score_descending(items.iter().map(ScoredItem::score));
        let ranked = || ranked.iter().map(|&position| position as usize);
        let left = ranked().step_by(2);
        let right = ranked().skip(1).step_by(2);
        let mut order: Vec<usize> = left.collect();
        order.extend(right.rev());
        order
    }

    crate::names::as_any!();
}
