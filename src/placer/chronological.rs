//! Oldest first.

use super::Placer;
use crate::model::ScoredItem;

/// Orders items by timestamp, oldest first; items without one come last, in their given order.
///
/// ```
/// use chrono::DateTime;
/// use cupel::{ChronologicalPlacer, ContextItem, Placer, ScoredItem};
///
/// let at = |secs| DateTime::from_timestamp(secs, 0).unwrap();
/// let items = [
///     ContextItem::new("undated", 1)?,
///     ContextItem::builder("later", 1).timestamp(at(9)).build()?,
///     ContextItem::builder("earlier", 1).timestamp(at(3)).build()?,
/// ];
/// let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
/// assert_eq!(ChronologicalPlacer.place(&scored), [2, 1, 0]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChronologicalPlacer;

impl Placer for ChronologicalPlacer {
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        let mut order: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(position, scored)| {
                let timestamp = scored.item().timestamp();
                (timestamp.is_none(), timestamp, position)
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, _, position)| position).collect()
    }

    crate::names::as_any!();
}
