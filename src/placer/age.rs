//! Oldest first, where position stands in for a date that is missing.

use super::Placer;
use crate::model::{ScoredItem, ages};

/// Orders items from the oldest to the newest, and takes the position among the candidates for the
/// age of items without a date.
///
/// An item without a date comes right after the newest dated item that stood before it. What a
/// source gave counts as older than the request's own candidates. Documents, memories and system
/// prompts without a date come first, in their given order: what is said last is read last.
///
/// ```
/// use cupel::{AgePlacer, ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
///
/// let pipeline =
///     Pipeline::builder().scorer(ReflexiveScorer).slicer(GreedySlice).placer(AgePlacer).build()?;
/// let items = [
///     ContextItem::new("said first", 10)?,
///     ContextItem::builder("said next", 10).future_relevance_hint(0.9).build()?,
///     ContextItem::builder("the question", 10).pinned(true).build()?,
/// ];
/// let placed = pipeline.run(&items, &ContextBudget::builder(100).build()?)?;
/// let texts: Vec<_> = placed.iter().map(ContextItem::content).collect();
/// assert_eq!(texts, ["said first", "said next", "the question"]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgePlacer;

impl Placer for AgePlacer {
    /// Takes the order of `items` for the order of the candidates.
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        let order: Vec<usize> = (0..items.len()).collect();
        self.place_by_position(items, &order)
    }

    fn place_by_position(&self, items: &[ScoredItem<'_>], positions: &[usize]) -> Vec<usize> {
        let mut given: Vec<(usize, &ScoredItem<'_>, usize)> = positions
            .iter()
            .zip(items)
            .enumerate()
            .map(|(index, (position, scored))| (*position, scored, index))
            .collect();
        given.sort_by_key(|(position, _, index)| (*position, *index));
        let ages = ages(given.iter().map(|(_, scored, _)| scored.item()));
        let mut order: Vec<_> = given.iter().map(|(.., index)| *index).zip(ages).collect();
        // Stable: items of the same date, and those without a place in time, stay in order.
        order.sort_by_key(|(_, age)| *age);
        order.into_iter().map(|(index, _)| index).collect()
    }

    crate::names::as_any!();
}
