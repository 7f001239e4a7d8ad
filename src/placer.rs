//! Placers decide in which order the selected items are presented.
//!
//! A placer of your own answers with a permutation of the positions it was given:
//!
//! ```
//! use cupel::{ContextItem, Placer, ScoredItem};
//!
//! struct LongestLast;
//!
//! impl Placer for LongestLast {
//!     fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
//!         let mut order: Vec<usize> = (0..items.len()).collect();
//!         order.sort_by_key(|&position| items[position].tokens());
//!         order
//!     }
//! }
//!
//! let items = [ContextItem::new("long", 9)?, ContextItem::new("short", 2)?];
//! let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
//! assert_eq!(LongestLast.place(&scored), [1, 0]);
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! An answer that is not a permutation makes the pipeline return
//! [`CupelError::Contract`](crate::CupelError::Contract).

use std::any::Any;
use std::fmt;

use auto_impl::auto_impl;

use crate::model::{ScoredItem, ages, by_score_descending};

/// Orders the selected items.
#[auto_impl(Arc, Box)]
pub trait Placer: Send + Sync {
    /// The positions of `items` in presentation order, each exactly once.
    ///
    /// Pinned items come first in `items` and carry a score of 1.0.
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize>;

    /// As [`place`](Self::place), for a placer that also looks at where each item stood among the
    /// candidates. The pipeline calls this one.
    fn place_by_position(&self, items: &[ScoredItem<'_>], positions: &[usize]) -> Vec<usize> {
        let _ = positions;
        self.place(items)
    }

    /// The name to use in messages; the type's name unless overridden.
    fn name(&self) -> &str {
        crate::names::short_type_name::<Self>()
    }

    /// The placer itself, for code that knows its type; handles answer for what they point to.
    ///
    /// The built-in placers answer, so that a policy can be written down as data.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

impl fmt::Debug for dyn Placer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Orders items from the oldest to the newest, and takes the position among the candidates for the
/// age of items without a date.
///
/// An item without a date comes right after the newest dated item that stood before it. Items from
/// sources count as older than the request's own candidates. Documents, memories and system
/// prompts without a date come first, in their given order: what is said last is read last.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
/// use cupel::placer::AgePlacer;
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

/// Puts the highest scores at the start and the end, where models attend most.
///
/// Ranks alternate: first to the left edge, second to the right edge, third next to the first.
///
/// ```
/// use cupel::{ContextItem, Placer, ScoredItem};
/// use cupel::placer::UShapedPlacer;
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
        let ranked = by_score_descending(items.iter().map(ScoredItem::score));
        let ranked = || ranked.iter().map(|&position| position as usize);
        let left = ranked().step_by(2);
        let right = ranked().skip(1).step_by(2);
        let mut order: Vec<usize> = left.collect();
        order.extend(right.rev());
        order
    }

    crate::names::as_any!();
}
