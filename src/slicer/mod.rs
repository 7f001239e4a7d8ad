//! Slicers choose which scored items fit the budget.
//!
//! A slicer of your own answers with positions in the list it was given, so it cannot invent,
//! copy or change an item. This one takes items in score order and stops at the first that does
//! not fit:
//!
//! ```
//! use cupel::{ContextBudget, ContextItem, CupelError, ScoredItem, Slicer};
//! use cupel::slicer::SliceResult;
//!
//! struct StopAtFirst;
//!
//! impl Slicer for StopAtFirst {
//!     fn slice(
//!         &self,
//!         items: &[ScoredItem<'_>],
//!         budget: &ContextBudget,
//!     ) -> Result<SliceResult, CupelError> {
//!         let mut left = budget.target_tokens();
//!         let fits = items.iter().take_while(|scored| {
//!             left = left.saturating_sub(scored.tokens());
//!             left >= 0
//!         });
//!         Ok(SliceResult::from((0..fits.count()).collect::<Vec<_>>()))
//!     }
//! }
//!
//! let items = [ContextItem::new("a", 60)?, ContextItem::new("b", 60)?, ContextItem::new("c", 1)?];
//! let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
//! let budget = ContextBudget::builder(100).build()?;
//! assert_eq!(StopAtFirst.slice(&scored, &budget)?.indices, [0]);
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! A position that is out of range or named twice makes the pipeline return
//! [`CupelError::Contract`].

mod count;
mod fill;
mod knapsack;
mod one_pass;
mod prefix_sums;
mod quota;
pub mod stream;

use std::any::Any;
use std::fmt;

use auto_impl::auto_impl;

use crate::error::CupelError;
use crate::model::{ContextBudget, ContextKind, ExclusionReason, ScoredItem};

pub use crate::model::CountRequirementShortfall;
pub use count::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, ScarcityBehavior,
};
pub use fill::FillSlice;
pub use knapsack::KnapsackSlice;
pub use one_pass::{BestFirstSlice, GreedySlice};
pub(crate) use quota::Quota;
pub use quota::{QuotaSet, QuotaSetBuilder, QuotaSlice};
pub use stream::{
    Sequence, StreamBounds, StreamContent, StreamItem, StreamOrder, StreamPush, StreamSelection,
    StreamSlice,
};

/// Decision of a slicer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SliceResult {
    /// Positions of the selected items, in the slicer's own order.
    pub indices: Vec<usize>,
    /// Kinds whose required count could not be met.
    pub shortfalls: Vec<CountRequirementShortfall>,
    /// Positions of items that were left out for another reason than the budget.
    pub exclusions: Vec<(usize, ExclusionReason)>,
    /// Remarks for the reader of a report, for example that an answer is less exact than requested.
    /// They are the message of the slice stage's event.
    pub notes: Vec<String>,
}

impl From<Vec<usize>> for SliceResult {
    fn from(indices: Vec<usize>) -> Self {
        Self { indices, ..Self::default() }
    }
}

impl SliceResult {
    /// Adds what an inner slicer decided about the items at `positions` of the outer list.
    pub(crate) fn absorb(
        &mut self,
        inner: SliceResult,
        positions: &[usize],
        slicer: &str,
    ) -> Result<(), CupelError> {
        let outer = |index: usize| {
            positions
                .get(index)
                .copied()
                .ok_or_else(|| CupelError::out_of_range(slicer, index, positions.len()))
        };
        for index in inner.indices {
            self.indices.push(outer(index)?);
        }
        for (index, reason) in inner.exclusions {
            self.exclusions.push((outer(index)?, reason));
        }
        self.shortfalls.extend(inner.shortfalls);
        self.notes.extend(inner.notes);
        Ok(())
    }
}

/// Promise that a larger budget selects everything that a smaller one does. Budget simulation relies
/// on it.
///
/// The specification says so of [`GreedySlice`] and [`KnapsackSlice`], though both can give
/// up an item for a better one that only the larger budget holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Monotonicity {
    /// The slicer does not say: budget simulation refuses it.
    #[default]
    Undeclared,
    /// A larger budget selects what a smaller one does, and more.
    Monotonic,
    /// A larger budget may leave out what a smaller one selects: budget simulation refuses it.
    NonMonotonic,
}

/// Slices items it has already seen; see [`Slicer::prepare`].
pub type PreparedSlice<'s> = Box<dyn Fn(&ContextBudget) -> Result<SliceResult, CupelError> + 's>;

/// Share or count that a slicer guarantees and allows one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindQuota {
    /// The kind.
    pub kind: ContextKind,
    /// Unit of the numbers.
    pub unit: QuotaUnit,
    /// The least the kind is guaranteed.
    pub require: f64,
    /// The most the kind is allowed.
    pub cap: f64,
}

/// Unit of a [`KindQuota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuotaUnit {
    /// Percent of the effective target.
    Percent,
    /// Items.
    Items,
}

/// Properties of a [`Slicer`], as it declares them.
///
/// ```
/// use cupel::slicer::{Monotonicity, SlicerFacts};
///
/// let facts = SlicerFacts::default().with_monotonicity(Monotonicity::Monotonic);
/// assert_eq!((facts.granularity, facts.streams), (1, false));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct SlicerFacts {
    /// Monotonicity of the selection; budget simulation asks for it.
    pub monotonicity: Monotonicity,
    /// Order in which the slicer, or the innermost one that fills for it, takes items.
    pub order: StreamOrder,
    /// `true` if the slicer goes through the items once in [`order`](Self::order) and takes
    /// whatever still fits.
    ///
    /// A [`StreamSlice`] then replaces it while items arrive, and [`Slicer::slice`] is not
    /// called. The smallest budget that selects an item is computed instead of tried.
    pub streams: bool,
    /// Step of the target, in tokens, at which the selection may change. It may also change from
    /// a target of 0 to 1.
    pub granularity: i64,
    /// Unit of the quotas that the slicer enforces; none if it enforces none.
    pub quota_unit: Option<QuotaUnit>,
    /// Shares or counts that the slicer gives to kinds.
    pub quotas: Vec<KindQuota>,
}

impl Default for SlicerFacts {
    fn default() -> Self {
        Self {
            monotonicity: Monotonicity::default(),
            order: StreamOrder::default(),
            streams: false,
            granularity: 1,
            quota_unit: None,
            quotas: Vec::new(),
        }
    }
}

impl SlicerFacts {
    /// Sets the monotonicity of the selection.
    pub fn with_monotonicity(mut self, monotonicity: Monotonicity) -> Self {
        self.monotonicity = monotonicity;
        self
    }

    /// Declares that one pass in this order selects what the slicer does. A layer that selects while
    /// items arrive makes this pass itself and does not call [`Slicer::slice`].
    pub fn with_one_pass(mut self, order: StreamOrder) -> Self {
        (self.order, self.streams) = (order, true);
        self
    }
}

/// Selects a subset of the items that fits the budget.
#[auto_impl(Arc, Box)]
pub trait Slicer: Send + Sync {
    /// Chooses from `items`, which are sorted by score, highest first.
    ///
    /// `budget` is the effective one: pinned items, output reserve, reserved slots and safety
    /// margin are already off. The selection should stay within its target.
    ///
    /// # Errors
    ///
    /// Whatever makes a selection impossible; the pipeline returns it unchanged.
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError>;

    /// A function that slices the same items for one budget after another.
    ///
    /// Override it when part of the work does not depend on the budget; the answers must be
    /// those of [`slice`](Self::slice).
    fn prepare<'s>(&'s self, items: &'s [ScoredItem<'s>]) -> PreparedSlice<'s> {
        Box::new(move |budget| self.slice(items, budget))
    }

    /// Properties that the rest of the library asks for. The default declares nothing.
    fn facts(&self) -> SlicerFacts {
        SlicerFacts::default()
    }

    /// About how long slicing takes, in steps of roughly a nanosecond.
    ///
    /// The layer moves long selections to the blocking pool. The default is that of a sort.
    fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
        let _ = target_tokens;
        (candidates as u64).saturating_mul(64)
    }

    /// Returns `true` if this slicer enforces item counts per kind.
    fn is_count_quota(&self) -> bool {
        self.facts().quota_unit == Some(QuotaUnit::Items)
    }

    /// The name to use in messages; the type's name unless overridden.
    fn name(&self) -> &str {
        crate::names::short_type_name::<Self>()
    }

    /// The slicer itself, for code that knows its type; handles answer for what they point to.
    ///
    /// The built-in slicers answer, so that a policy can be written down as data.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

impl fmt::Debug for dyn Slicer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
