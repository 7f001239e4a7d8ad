//! Shares the budget among kinds by percentages.

use std::sync::Arc;

use super::{KindQuota, Monotonicity, QuotaUnit, SliceResult, Slicer, SlicerFacts};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextKind, KindMap, ScoredItem};

/// The smallest and largest share of the budget for each kind, in percent.
///
/// ```
/// use cupel::ContextKind;
/// use cupel::slicer::QuotaSet;
///
/// let quotas = QuotaSet::builder()
///     .require(ContextKind::document(), 40.0)
///     .cap(ContextKind::tool_output(), 25.0)
///     .build()?;
/// // A share that is not set is 0 at least and 100 at most.
/// assert_eq!(quotas.iter().next(), Some((&ContextKind::document(), 40.0, 100.0)));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuotaSet {
    quotas: KindMap<Quota>,
}

/// Smallest and largest share of one kind, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quota {
    pub(crate) require: f64,
    pub(crate) cap: f64,
}

/// The quota of a kind that is not configured.
const FREE: Quota = Quota { require: 0.0, cap: 100.0 };

impl QuotaSet {
    /// Starts an empty set.
    pub fn builder() -> QuotaSetBuilder {
        QuotaSetBuilder::default()
    }

    /// A set of kinds with their required and largest shares.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when a percentage is outside 0 to 100, a kind requires more
    /// than its cap or is there twice, or the required shares add up to more than 100.
    pub fn new(
        quotas: impl IntoIterator<Item = (ContextKind, f64, f64)>,
    ) -> Result<Self, CupelError> {
        let quota = |(kind, require, cap)| (kind, Quota { require, cap });
        let quotas: Vec<(ContextKind, Quota)> = quotas.into_iter().map(quota).collect();
        check(&quotas)?;
        Ok(Self::trusted(quotas))
    }

    /// A set of quotas that are known to be valid.
    pub(crate) fn trusted(quotas: impl IntoIterator<Item = (ContextKind, Quota)>) -> Self {
        let mut set = Self::default();
        for (kind, quota) in quotas {
            set.quotas.get_or_insert(&kind, quota);
        }
        set
    }

    /// The configured kinds with their required and largest shares, in configuration order.
    pub fn iter(&self) -> impl Iterator<Item = (&ContextKind, f64, f64)> {
        self.quotas.entries().iter().map(|(kind, quota)| (kind, quota.require, quota.cap))
    }
}

fn check(quotas: &[(ContextKind, Quota)]) -> Result<(), CupelError> {
    let path = Path::Root.key("quotas");
    let mut problems = Problems::default();
    problems.kinds_once(&path, quotas.iter().map(|(kind, _)| kind));
    for (index, (kind, Quota { require, cap })) in quotas.iter().enumerate() {
        let path = path.index(index);
        let percent = 0.0..=100.0;
        for (key, share) in [("require", require), ("cap", cap)] {
            let (ok, got) = (percent.contains(share), format_args!("{share} ({kind})"));
            problems.require(ok, &path.key(key), "between 0 and 100 percent", got);
        }
        if percent.contains(require) && percent.contains(cap) {
            let valid = format!("at most its cap of {cap}");
            let got = format_args!("{require} ({kind})");
            problems.require(require <= cap, &path.key("require"), &valid, got);
        }
    }
    let total: f64 = quotas.iter().map(|(_, quota)| quota.require).sum();
    // Decimal percentages such as 33.3 + 33.3 + 33.4 may add up to a hair above 100.
    if total > 100.0 + 1e-9 {
        let message = format!("the required shares must not add up to more than 100, got {total}");
        problems.add(&path, message);
    }
    problems.slicer("QuotaSet")
}

/// Builds a [`QuotaSet`].
#[derive(Debug, Clone, Default)]
#[must_use = "a quota set exists only after build()"]
pub struct QuotaSetBuilder {
    set: QuotaSet,
}

impl QuotaSetBuilder {
    /// Guarantees a kind at least this share of the budget.
    #[allow(clippy::needless_pass_by_value)] // kinds are made where they are passed
    pub fn require(mut self, kind: ContextKind, percent: f64) -> Self {
        if let Some(quota) = self.set.quotas.get_or_insert(&kind, FREE) {
            quota.require = percent;
        }
        self
    }

    /// Limits a kind to this share of the budget.
    #[allow(clippy::needless_pass_by_value)] // as above
    pub fn cap(mut self, kind: ContextKind, percent: f64) -> Self {
        if let Some(quota) = self.set.quotas.get_or_insert(&kind, FREE) {
            quota.cap = percent;
        }
        self
    }

    /// Finishes the set.
    ///
    /// # Errors
    ///
    /// As [`QuotaSet::new`].
    pub fn build(self) -> Result<QuotaSet, CupelError> {
        check(self.set.quotas.entries())?;
        Ok(self.set)
    }
}

/// Splits the budget among the kinds and lets an inner slicer fill each part.
///
/// Every kind gets its required share, the rest goes by the tokens each kind has on offer, and no
/// kind gets more than its cap. All conversions to tokens round down.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, ScoredItem, Slicer};
/// use cupel::slicer::{QuotaSet, QuotaSlice};
///
/// let quotas = QuotaSet::builder().cap(ContextKind::tool_output(), 50.0).build()?;
/// let slicer = QuotaSlice::new(quotas, GreedySlice);
///
/// let tool = |text| ContextItem::builder(text, 40).kind(ContextKind::tool_output()).build();
/// let items = [tool("log 1")?, tool("log 2")?];
/// let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.9)).collect();
/// let budget = ContextBudget::builder(100).build()?;
/// assert_eq!(slicer.slice(&scored, &budget)?.indices, [0]); // the second would pass 50 tokens
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct QuotaSlice {
    pub(crate) quotas: QuotaSet,
    pub(crate) inner: Arc<dyn Slicer>,
}

impl QuotaSlice {
    /// Creates a slicer that shares the budget by `quotas` and fills each part with `inner`.
    pub fn new(quotas: QuotaSet, inner: impl Slicer + 'static) -> Self {
        Self { quotas, inner: Arc::new(inner) }
    }
}

/// The items of one kind, by position, in order.
#[derive(Default)]
struct Partition {
    positions: Vec<usize>,
    tokens: i64,
}

/// Groups items by kind; kinds come in the order in which they first appear.
fn partition(items: &[ScoredItem<'_>]) -> KindMap<Partition> {
    let mut partitions = KindMap::<Partition>::default();
    for (position, scored) in items.iter().enumerate() {
        let kind = scored.item().kind();
        if let Some(partition) = partitions.get_or_insert(kind, Partition::default()) {
            partition.positions.push(position);
            partition.tokens = partition.tokens.saturating_add(scored.tokens());
        }
    }
    partitions
}

pub(super) fn percent_of(percent: f64, tokens: i64) -> i64 {
    (percent / 100.0 * tokens as f64).floor() as i64
}

impl Slicer for QuotaSlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let target = budget.target_tokens();
        if items.is_empty() || target <= 0 {
            return Ok(SliceResult::default());
        }
        let required = self.quotas.iter().map(|(_, require, _)| percent_of(require, target));
        let unassigned = target.saturating_sub(required.fold(0, i64::saturating_add)).max(0);
        // The tokens that a kind requires, and the most it may have.
        let limits = |kind: &ContextKind| match self.quotas.quotas.get(kind) {
            Some(quota) => (percent_of(quota.require, target), percent_of(quota.cap, target)),
            None => (0, target),
        };
        let partitions = partition(items);
        let is_open = |(require, cap)| cap > require;
        let open = partitions.entries().iter().filter(|(kind, _)| is_open(limits(kind)));
        let mass: i128 = open.map(|(_, partition)| i128::from(partition.tokens)).sum();
        let mut all = SliceResult::default();
        for (kind, partition) in partitions.entries() {
            let (mut share, cap) = limits(kind);
            if mass > 0 && is_open((share, cap)) {
                // At most `unassigned`, so it fits again.
                let part = i128::from(unassigned) * i128::from(partition.tokens) / mass;
                share = share.saturating_add(i64::try_from(part).unwrap_or(unassigned)).min(cap);
            }
            if share <= 0 {
                continue;
            }
            let own: Vec<ScoredItem<'_>> = partition
                .positions
                .iter()
                .filter_map(|&position| items.get(position).copied())
                .collect();
            let sliced = self.inner.slice(&own, &ContextBudget::bare(cap.max(share), share))?;
            all.absorb(sliced, &partition.positions, self.inner.name())?;
        }
        Ok(all)
    }

    fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
        self.inner.steps(candidates, target_tokens)
    }

    fn facts(&self) -> SlicerFacts {
        let unit = QuotaUnit::Percent;
        let quota = |(kind, require, cap): (&ContextKind, f64, f64)| KindQuota {
            kind: kind.clone(),
            unit,
            require,
            cap,
        };
        SlicerFacts {
            monotonicity: Monotonicity::NonMonotonic,
            order: self.inner.facts().order,
            quota_unit: Some(unit),
            quotas: self.quotas.iter().map(quota).collect(),
            ..SlicerFacts::default()
        }
    }

    crate::names::as_any!();
}
