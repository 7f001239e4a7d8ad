//! The best total score for a discretised budget, by dynamic programming.

use super::prefix_sums::PrefixSums;
use super::{Monotonicity, SliceResult, Slicer, SlicerFacts};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};

/// Solves the 0/1 knapsack problem over buckets of tokens.
///
/// Item sizes round up to whole buckets and the budget rounds down, so the selection always fits;
/// a coarse bucket under-fills. Scores count in steps of 0.0001.
///
/// A table of more than [`KnapsackSlice::MAX_CELLS`] cells is refused as
/// [`CupelError::TableTooLarge`], or computed with [wider buckets](KnapsackSlice::widen_buckets)
/// on request. Memory is taken for the budget or for the items, whichever is less.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, ScoredItem, Slicer};
/// use cupel::slicer::KnapsackSlice;
///
/// let items = [ContextItem::new("big", 60)?, ContextItem::new("half", 50)?, ContextItem::new("rest", 50)?];
/// let scored = [
///     ScoredItem::new(&items[0], 0.9), // most score per token, but it blocks the other two
///     ScoredItem::new(&items[1], 0.7),
///     ScoredItem::new(&items[2], 0.6),
/// ];
/// let budget = ContextBudget::builder(100).build()?;
/// let mut chosen = KnapsackSlice::new(10)?.slice(&scored, &budget)?.indices;
/// chosen.sort();
/// assert_eq!(chosen, [1, 2]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct KnapsackSlice {
    bucket_size: i64,
    pub(crate) widen_buckets: bool,
}

impl KnapsackSlice {
    /// The largest table that is computed, in cells.
    pub const MAX_CELLS: u64 = 50_000_000;

    /// Creates a slicer with buckets of `bucket_size` tokens.
    ///
    /// # Errors
    ///
    /// [`CupelError::SlicerConfig`] when `bucket_size` is not positive.
    pub fn new(bucket_size: i64) -> Result<Self, CupelError> {
        let mut problems = Problems::default();
        problems.require(
            bucket_size >= 1,
            &Path::Root.key("bucket_size"),
            "at least 1",
            bucket_size,
        );
        problems.slicer("KnapsackSlice")?;
        Ok(Self { bucket_size, widen_buckets: false })
    }

    /// Sets whether a table that would be too large gets wider buckets instead of an error; off
    /// unless set.
    ///
    /// Wider buckets under-fill more. The report says so: the event of the slice stage has a
    /// message with both sizes.
    ///
    /// ```
    /// use cupel::{ContextBudget, ContextItem, ScoredItem, Slicer};
    /// use cupel::slicer::KnapsackSlice;
    ///
    /// let items = [ContextItem::new("a", 400)?, ContextItem::new("b", 500)?];
    /// let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
    /// let budget = ContextBudget::builder(60_000_000).build()?;
    /// let exact = KnapsackSlice::new(1)?; // two items times 60 million buckets
    /// assert!(exact.slice(&scored, &budget).is_err());
    /// assert_eq!(exact.widen_buckets(true).slice(&scored, &budget)?.indices.len(), 2);
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    pub fn widen_buckets(mut self, enabled: bool) -> Self {
        self.widen_buckets = enabled;
        self
    }

    /// The bucket size for so many candidates, or why there is none.
    fn bucket_for(&self, candidates: usize, target: i64) -> Result<i64, CupelError> {
        let capacity = target / self.bucket_size;
        let cells = (candidates as u64).saturating_mul(capacity as u64);
        if cells <= Self::MAX_CELLS {
            return Ok(self.bucket_size);
        }
        let most = (Self::MAX_CELLS / candidates as u64) as i64;
        if !self.widen_buckets || most == 0 {
            return Err(CupelError::TableTooLarge {
                candidates,
                capacity: capacity as u64,
                cells,
                limit: Self::MAX_CELLS,
            });
        }
        // The narrowest bucket of which `target` holds no more than `most`.
        Ok(target / (most + 1) + 1)
    }

    /// Tokens in a bucket.
    pub fn bucket_size(&self) -> i64 {
        self.bucket_size
    }
}

impl Default for KnapsackSlice {
    fn default() -> Self {
        Self { bucket_size: 100, widen_buckets: false }
    }
}

impl Slicer for KnapsackSlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        if items.is_empty() || budget.target_tokens() <= 0 {
            return Ok(SliceResult::default());
        }
        let target = budget.target_tokens();
        let paid = items.iter().filter(|scored| scored.tokens() > 0).count();
        let mut sliced = SliceResult::default();
        let free = |(_, scored): &(usize, &ScoredItem<'_>)| scored.tokens() == 0;
        sliced.indices.extend(items.iter().enumerate().filter(free).map(|(index, _)| index));
        if paid == 0 || target < self.bucket_size {
            return Ok(sliced);
        }
        let bucket_size = self.bucket_for(paid, target)?;
        if bucket_size != self.bucket_size {
            sliced.notes.push(format!(
                "KnapsackSlice: buckets of {bucket_size} tokens instead of {}, because {paid} \
                 candidates for {target} tokens would need a table of more than {} cells",
                self.bucket_size,
                Self::MAX_CELLS
            ));
        }
        let mut capacity = target / bucket_size;
        let candidate = |(index, scored): (usize, &ScoredItem<'_>)| KnapsackItem {
            index,
            weight: (scored.tokens() - 1) / bucket_size + 1,
            // `as` turns NaN into 0 and saturates.
            value: ((scored.score() * SCORE_STEPS).floor() as i64).max(0),
        };
        let candidates: Vec<KnapsackItem> = items
            .iter()
            .enumerate()
            // Negative counts are not reachable through the pipeline.
            .filter(|(_, scored)| scored.tokens() > 0)
            .map(candidate)
            .collect();
        // No packing weighs more than everything that may be packed.
        let all = candidates
            .iter()
            .filter(|c| c.weight <= capacity && c.value > 0)
            .fold(0_i64, |sum, c| sum.saturating_add(c.weight));
        capacity = capacity.min(all);
        let worthwhile = drop_dominated(&candidates, capacity);
        let most = worthwhile.iter().map(|c| c.value).max().unwrap_or(0);
        // With scores up to 1.0 the small type is always enough.
        let fits_u32 = (most as u64).saturating_mul(worthwhile.len() as u64) <= u64::from(u32::MAX);
        let solve = if fits_u32 { solve::<u32> } else { solve::<u64> };
        sliced.indices.extend(solve(&worthwhile, capacity as usize));
        Ok(sliced)
    }

    fn facts(&self) -> SlicerFacts {
        // Buckets that widen with the target change with every token of it.
        let granularity = if self.widen_buckets { 1 } else { self.bucket_size };
        let monotonicity = Monotonicity::Monotonic;
        SlicerFacts { monotonicity, granularity, ..SlicerFacts::default() }
    }

    /// One step a cell, though the cells of dominated candidates are never computed.
    fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
        let capacity = (target_tokens.max(0) / self.bucket_size) as u64 + 1;
        let table = (candidates as u64).saturating_mul(capacity);
        let table = if self.widen_buckets { table.min(Self::MAX_CELLS) } else { table };
        table.max((candidates as u64).saturating_mul(64))
    }

    crate::names::as_any!();
}

/// Scores are counted in integer steps of one ten-thousandth.
const SCORE_STEPS: f64 = 10_000.0;

#[derive(Debug, Clone, Copy)]
struct KnapsackItem {
    index: usize,
    weight: i64,
    value: i64,
}

/// Leaves out candidates that cannot change any cell of the table.
///
/// Let `better` be the earlier candidates that weigh no more and are worth no less than this one.
/// If they do not all fit beside it, every packing that uses it leaves one of them out, and
/// swapping that one in is at least as good. Its row would therefore never improve on the row
/// before, and the solution, which prefers earlier rows, never looks at it. Skipping the row gives
/// the very same selection; on a long candidate list it leaves few rows to compute.
fn drop_dominated(candidates: &[KnapsackItem], capacity: i64) -> Vec<KnapsackItem> {
    let fits = candidates.iter().filter(|c| c.weight <= capacity && c.value > 0);
    // Through the pipeline values only fall, so "worth no less" is "earlier".
    if !candidates.is_sorted_by(|a, b| a.value >= b.value) {
        return fits.copied().collect();
    }
    let mut lighter = PrefixSums::new(capacity as usize + 1);
    fits.filter(|candidate| {
        let better = lighter.up_to(candidate.weight as usize);
        lighter.add(candidate.weight as usize, candidate.weight as u64);
        better + candidate.weight as u64 <= capacity as u64
    })
    .copied()
    .collect()
}

/// Integer type of the table's values. The smaller one fits twice as many cells into a vector register.
trait TableValue: Copy + Ord + Default {
    fn of(value: i64) -> Self;
    fn plus(self, other: Self) -> Self;
}

impl TableValue for u32 {
    fn of(value: i64) -> Self {
        value as u32
    }

    fn plus(self, other: Self) -> Self {
        // The caller has checked that the sum of all values fits.
        self.wrapping_add(other)
    }
}

impl TableValue for u64 {
    fn of(value: i64) -> Self {
        value as u64
    }

    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// Fills the table row by row and walks back through it, last candidate first.
fn solve<V: TableValue>(candidates: &[KnapsackItem], capacity: usize) -> Vec<usize> {
    let columns = capacity + 1;
    let words = columns.div_ceil(8);
    // One bit a cell: whether the row's candidate improved on the row before.
    let mut keep = vec![0_u8; candidates.len() * words];
    let mut best = vec![V::default(); columns];
    let mut next = vec![V::default(); columns];
    let mut improved = vec![0_u8; words * 8];

    for (candidate, keep) in candidates.iter().zip(keep.chunks_exact_mut(words)) {
        let weight = candidate.weight as usize;
        let value = V::of(candidate.value);
        let (Some((below, above)), Some((improved_below, improved_above))) =
            (next.split_at_mut_checked(weight), improved.split_at_mut_checked(weight))
        else {
            continue;
        };
        improved_below.fill(0);
        below.copy_from_slice(best.get(..weight).unwrap_or_default());
        // Reading the old row and writing a new one lets the compiler use vector instructions.
        let old = best.get(weight..).unwrap_or_default();
        for (((new, improved), &old), &lighter) in
            above.iter_mut().zip(improved_above).zip(old).zip(&best)
        {
            let with = lighter.plus(value);
            *improved = u8::from(with > old);
            *new = with.max(old);
        }
        for (bits, flags) in keep.iter_mut().zip(improved.chunks_exact(8)) {
            *bits = pack(flags);
        }
        std::mem::swap(&mut best, &mut next);
    }

    let mut left = capacity;
    let mut selected = Vec::new();
    for (candidate, keep) in candidates.iter().zip(keep.chunks_exact(words)).rev() {
        let bits = keep.get(left / 8).copied().unwrap_or(0);
        if bits & (1 << (left % 8)) != 0 {
            selected.push(candidate.index);
            left = left.saturating_sub(candidate.weight as usize);
        }
    }
    selected
}

/// Eight flags of 0 or 1 as the bits of one byte, the first flag lowest.
fn pack(flags: &[u8]) -> u8 {
    let flags = <[u8; 8]>::try_from(flags).unwrap_or_default();
    // Multiplying moves the flag of byte `i` to bit `56 + i`; no two products meet.
    (u64::from_le_bytes(flags).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}
