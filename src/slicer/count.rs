//! Slicers with item counts per kind: over any slicer, or over the knapsack.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

use super::{KindQuota, KnapsackSlice, Monotonicity, QuotaUnit, SliceResult, Slicer, SlicerFacts};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::{
    ContextBudget, ContextKind, CountRequirementShortfall, ExclusionReason, KindMap, ScoredItem,
    by_score_descending, descending_key,
};

/// Number of items of a kind that a selection must and may have.
///
/// ```
/// use cupel::ContextKind;
/// use cupel::slicer::CountQuotaEntry;
///
/// let entry = CountQuotaEntry::new(ContextKind::tool_output(), 1, 3)?;
/// assert_eq!((entry.require_count(), entry.cap_count()), (1, 3));
/// assert!(CountQuotaEntry::new(ContextKind::tool_output(), 2, 1).is_err());
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountQuotaEntry {
    pub(crate) kind: ContextKind,
    pub(crate) require_count: usize,
    pub(crate) cap_count: usize,
}

impl CountQuotaEntry {
    /// Creates an entry: at least `require_count` and at most `cap_count` items of `kind`.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when `require_count` is above `cap_count`.
    pub fn new(
        kind: ContextKind,
        require_count: usize,
        cap_count: usize,
    ) -> Result<Self, CupelError> {
        let mut problems = Problems::default();
        let valid = format!("at most its cap_count of {cap_count}");
        let (ok, path) = (require_count <= cap_count, Path::Root.key("require_count"));
        problems.require(ok, &path, &valid, require_count);
        problems.slicer(&format!("CountQuotaEntry for {kind}"))?;
        Ok(Self { kind, require_count, cap_count })
    }

    fn as_quota(&self) -> KindQuota {
        KindQuota {
            kind: self.kind.clone(),
            unit: QuotaUnit::Items,
            require: self.require_count as f64,
            cap: self.cap_count as f64,
        }
    }

    /// The kind.
    pub fn kind(&self) -> &ContextKind {
        &self.kind
    }

    /// Number of items of the kind that are committed first.
    pub fn require_count(&self) -> usize {
        self.require_count
    }

    /// Largest number of items of the kind.
    pub fn cap_count(&self) -> usize {
        self.cap_count
    }
}

/// Reaction of a count slicer when a kind has fewer candidates than it requires. It also applies if
/// required items do not fit and the slicer takes them
/// [within its budget](crate::slicer::CountQuotaSlice::within_budget) only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ScarcityBehavior {
    /// Take all there are and record a [`CountRequirementShortfall`].
    #[default]
    Degrade,
    /// Return [`CupelError::CountRequirementUnmet`] or
    /// [`CupelError::CountRequirementDoesNotFit`].
    Throw,
}

/// Rejects two entries for one kind, since it is not clear which one should hold.
fn check_entries(entries: &[CountQuotaEntry]) -> Problems {
    let mut problems = Problems::default();
    problems.kinds_once(&Path::Root.key("entries"), entries.iter().map(|entry| &entry.kind));
    problems
}

/// Commits the best required items of every kind, fills the rest with an inner slicer, and drops
/// what that one chose beyond a kind's cap.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, ScoredItem, Slicer};
/// use cupel::slicer::{CountQuotaEntry, CountQuotaSlice, ScarcityBehavior};
///
/// let entries = vec![CountQuotaEntry::new(ContextKind::tool_output(), 1, 1)?];
/// let slicer = CountQuotaSlice::new(entries, GreedySlice, ScarcityBehavior::Degrade)?;
///
/// let tool = |text| ContextItem::builder(text, 10).kind(ContextKind::tool_output()).build();
/// let items = [tool("newest")?, tool("older")?];
/// let scored = [ScoredItem::new(&items[0], 0.9), ScoredItem::new(&items[1], 0.8)];
/// let budget = ContextBudget::builder(100).build()?;
/// assert_eq!(slicer.slice(&scored, &budget)?.indices, [0]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CountQuotaSlice {
    pub(crate) entries: Vec<CountQuotaEntry>,
    pub(crate) inner: Arc<dyn Slicer>,
    pub(crate) scarcity: ScarcityBehavior,
    pub(crate) within_budget: bool,
}

impl CountQuotaSlice {
    /// Creates a slicer.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when `inner` is a knapsack slicer (use
    /// [`CountConstrainedKnapsackSlice`](crate::slicer::CountConstrainedKnapsackSlice)) or a kind has two
    /// entries.
    pub fn new(
        entries: Vec<CountQuotaEntry>,
        inner: impl Slicer + 'static,
        scarcity: ScarcityBehavior,
    ) -> Result<Self, CupelError> {
        let mut problems = check_entries(&entries);
        if inner.as_any().is_some_and(<dyn Any>::is::<KnapsackSlice>) {
            let message = "must not be a knapsack (KnapsackSlice); use greedy, or \
                           count_constrained_knapsack instead of count_quota";
            problems.add(&Path::Root.key("inner"), message);
        }
        problems.slicer(Self::NAME)?;
        Ok(Self { entries, inner: Arc::new(inner), scarcity, within_budget: false })
    }
}

/// Commits the best required items of every kind, packs the rest with a knapsack, and drops what
/// goes beyond a kind's cap, lowest scores first.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, ContextKind, ScoredItem, Slicer};
/// use cupel::slicer::{CountConstrainedKnapsackSlice, CountQuotaEntry, KnapsackSlice, ScarcityBehavior};
///
/// let entries = vec![CountQuotaEntry::new(ContextKind::new("tool")?, 3, 5)?];
/// let slicer =
///     CountConstrainedKnapsackSlice::new(entries, KnapsackSlice::new(10)?, ScarcityBehavior::Throw)?;
///
/// let only = ContextItem::builder("tool-a", 10).kind(ContextKind::new("tool")?).build()?;
/// let budget = ContextBudget::builder(100).build()?;
/// let error = slicer.slice(&[ScoredItem::new(&only, 0.9)], &budget).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "CountConstrainedKnapsackSlice: candidate pool for kind 'tool' has 1 items but RequireCount is 3.",
/// );
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CountConstrainedKnapsackSlice {
    pub(crate) entries: Vec<CountQuotaEntry>,
    pub(crate) knapsack: KnapsackSlice,
    pub(crate) scarcity: ScarcityBehavior,
    pub(crate) within_budget: bool,
}

impl CountConstrainedKnapsackSlice {
    /// Creates a slicer.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when a kind has two entries.
    pub fn new(
        entries: Vec<CountQuotaEntry>,
        knapsack: KnapsackSlice,
        scarcity: ScarcityBehavior,
    ) -> Result<Self, CupelError> {
        check_entries(&entries).slicer(Self::NAME)?;
        Ok(Self { entries, knapsack, scarcity, within_budget: false })
    }
}

/// Implements the methods that both count slicers share. They have `entries`, an inner slicer, a
/// `scarcity` and a flag `within_budget`.
macro_rules! count_slicer {
    ($Slicer:ident, inner: $inner:ident, sort_inner: $sort_inner:literal) => {
        impl $Slicer {
            const NAME: &'static str = stringify!($Slicer);

            /// Sets whether required items are taken only as far as they fit the budget; off
            /// unless set.
            ///
            /// The specification commits required items whatever they cost, and leaves what is too
            /// much to the overflow strategy. With this, the best required items that fit are
            /// committed, and a kind that stays short is a shortfall or an error, as the scarcity
            /// behaviour says.
            #[must_use]
            pub fn within_budget(mut self, enabled: bool) -> Self {
                self.within_budget = enabled;
                self
            }
        }

        impl Slicer for $Slicer {
            fn slice(
                &self,
                items: &[ScoredItem<'_>],
                budget: &ContextBudget,
            ) -> Result<SliceResult, CupelError> {
                let phases = CountPhases {
                    slicer: Self::NAME,
                    entries: &self.entries,
                    scarcity: self.scarcity,
                    within_budget: self.within_budget,
                    inner: &self.$inner,
                    sort_inner: $sort_inner,
                };
                phases.slice(items, budget)
            }

            fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
                self.$inner.steps(candidates, target_tokens)
            }

            fn facts(&self) -> SlicerFacts {
                SlicerFacts {
                    monotonicity: Monotonicity::NonMonotonic,
                    order: self.$inner.facts().order,
                    quota_unit: Some(QuotaUnit::Items),
                    quotas: self.entries.iter().map(CountQuotaEntry::as_quota).collect(),
                    ..SlicerFacts::default()
                }
            }

            crate::names::as_any!();
        }
    };
}

count_slicer!(CountQuotaSlice, inner: inner, sort_inner: false);
count_slicer!(CountConstrainedKnapsackSlice, inner: knapsack, sort_inner: true);

/// The phases both count slicers go through; they differ in what fills the rest of the budget.
struct CountPhases<'a> {
    slicer: &'static str,
    entries: &'a [CountQuotaEntry],
    scarcity: ScarcityBehavior,
    /// `true` if required items are taken only as far as they fit the budget.
    within_budget: bool,
    inner: &'a dyn Slicer,
    /// `true` if the inner selection is put back into score order before caps are counted.
    sort_inner: bool,
}

impl CountPhases<'_> {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let target = budget.target_tokens();
        if items.is_empty() || target <= 0 && !self.within_budget {
            return Ok(SliceResult::default());
        }
        let mut by_kind = KindMap::default();
        for (number, entry) in self.entries.iter().enumerate() {
            by_kind.get_or_insert(&entry.kind, number);
        }
        // The entry of every item, by number.
        let entry_of: Vec<Option<usize>> =
            items.iter().map(|scored| by_kind.get(scored.item().kind()).copied()).collect();
        let mut counts = vec![0_usize; self.entries.len()];
        let mut result = self.commit_required(items, target, &entry_of, &mut counts)?;
        if target <= 0 {
            return Ok(result);
        }

        let committed: HashSet<usize> = result.indices.iter().copied().collect();
        let (positions, residual): (Vec<usize>, Vec<ScoredItem<'_>>) = items
            .iter()
            .enumerate()
            .filter(|(position, _)| !committed.contains(position))
            .map(|(position, scored)| (position, *scored))
            .unzip();
        let committed = committed.iter().filter_map(|position| items.get(*position));
        let committed_tokens = committed.map(ScoredItem::tokens).fold(0, i64::saturating_add);
        let left = target.saturating_sub(committed_tokens).max(0);
        let rest = ContextBudget::bare(budget.max_tokens(), left.min(budget.max_tokens()));

        let mut filled = SliceResult::default();
        filled.absorb(self.inner.slice(&residual, &rest)?, &positions, self.inner.name())?;
        if self.sort_inner {
            // A knapsack answers last candidate first; of equal scores the earlier item should
            // stay, as everywhere else.
            filled.indices.sort_by_key(|&position| {
                let scored = items.get(position);
                (scored.map(|scored| descending_key(scored.score())), position)
            });
        }
        self.enforce_caps(&entry_of, filled, &mut counts, &mut result);
        Ok(result)
    }

    /// Phase 1: the best candidates of every kind that requires some, whatever they cost or as far
    /// as they fit.
    fn commit_required(
        &self,
        items: &[ScoredItem<'_>],
        target: i64,
        entry_of: &[Option<usize>],
        counts: &mut [usize],
    ) -> Result<SliceResult, CupelError> {
        // The candidates of every entry, best first. Through the pipeline the items are sorted
        // already; called directly they may not be.
        let mut candidates = vec![Vec::new(); self.entries.len()];
        for position in by_score_descending(items.iter().map(ScoredItem::score)) {
            let position = position as usize;
            let entry = entry_of.get(position).copied().flatten();
            if let Some(candidates) = entry.and_then(|entry| candidates.get_mut(entry)) {
                candidates.push(position);
            }
        }
        let mut result = SliceResult::default();
        let mut left = target.max(0);
        for ((entry, count), candidates) in self.entries.iter().zip(counts).zip(candidates) {
            let available = candidates.len();
            for position in candidates {
                if *count >= entry.require_count {
                    break;
                }
                let tokens = items.get(position).map_or(0, ScoredItem::tokens);
                if self.within_budget {
                    // Nothing is selected for a target of zero, free items neither.
                    if target <= 0 || tokens > left {
                        continue;
                    }
                    left -= tokens.max(0);
                }
                result.indices.push(position);
                *count += 1;
            }
            if *count < entry.require_count {
                self.record_shortage(entry, *count, available, target, &mut result)?;
            }
        }
        Ok(result)
    }

    fn record_shortage(
        &self,
        entry: &CountQuotaEntry,
        satisfied: usize,
        available: usize,
        target_tokens: i64,
        result: &mut SliceResult,
    ) -> Result<(), CupelError> {
        let (slicer, kind, required) = (self.slicer, entry.kind.clone(), entry.require_count);
        match self.scarcity {
            ScarcityBehavior::Throw if available < required => {
                Err(CupelError::CountRequirementUnmet { slicer, kind, available, required })
            }
            ScarcityBehavior::Throw => Err(CupelError::CountRequirementDoesNotFit {
                slicer,
                kind,
                fitting: satisfied,
                required,
                target_tokens,
            }),
            ScarcityBehavior::Degrade => {
                result.shortfalls.push(CountRequirementShortfall {
                    kind,
                    required_count: required,
                    satisfied_count: satisfied,
                });
                Ok(())
            }
        }
    }

    /// Phase 3: what the inner slicer chose, as far as the caps allow. Counts go on from phase 1.
    fn enforce_caps(
        &self,
        entry_of: &[Option<usize>],
        filled: SliceResult,
        counts: &mut [usize],
        result: &mut SliceResult,
    ) {
        result.shortfalls.extend(filled.shortfalls);
        result.exclusions.extend(filled.exclusions);
        result.notes.extend(filled.notes);
        for position in filled.indices {
            let entry = entry_of.get(position).copied().flatten();
            let Some((count, entry)) =
                entry.and_then(|slot| Some((counts.get_mut(slot)?, self.entries.get(slot)?)))
            else {
                result.indices.push(position);
                continue;
            };
            if *count >= entry.cap_count {
                let reason = ExclusionReason::CountCapExceeded {
                    kind: entry.kind.clone(),
                    cap: entry.cap_count,
                    count: *count,
                };
                result.exclusions.push((position, reason));
            } else {
                *count += 1;
                result.indices.push(position);
            }
        }
    }
}
