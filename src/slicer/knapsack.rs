//! The best total score for a discretised budget, by dynamic programming.

use super::{Monotonicity, Sliced, Slicer};
use crate::config::{Path, Problems};
use crate::error::CupelError;
use crate::model::{ContextBudget, ScoredItem};

/// Solves the 0/1 knapsack problem over buckets of tokens.
///
/// Item sizes round up to whole buckets and the budget rounds down, so the selection always fits;
/// a coarse bucket under-fills. Scores count in steps of 0.0001.
///
/// A table of more than [`KnapsackSlice::MAX_CELLS`] cells is refused as
/// [`CupelError::TableTooLarge`].
///
/// ```
/// use cupel::{ContextBudget, ContextItem, KnapsackSlice, ScoredItem, Slicer};
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
pub struct KnapsackSlice {
    bucket_size: i64,
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
        Ok(Self { bucket_size })
    }

    /// Tokens in a bucket.
    #[must_use]
    pub fn bucket_size(&self) -> i64 {
        self.bucket_size
    }
}

impl Default for KnapsackSlice {
    fn default() -> Self {
        Self { bucket_size: 100 }
    }
}

impl Slicer for KnapsackSlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<Sliced, CupelError> {
        if items.is_empty() || budget.target_tokens() <= 0 {
            return Ok(Sliced::default());
        }
        let (mut indices, mut candidates) = (Vec::new(), Vec::new());
        let capacity = budget.target_tokens() / self.bucket_size;
        for (index, scored) in items.iter().enumerate() {
            match scored.tokens() {
                0 => indices.push(index),
                tokens if tokens > 0 => candidates.push(Candidate {
                    index,
                    weight: (tokens - 1) / self.bucket_size + 1,
                    // `as` turns NaN into 0 and saturates.
                    value: ((scored.score() * SCORE_STEPS).floor() as i64).max(0),
                }),
                // Not reachable through the pipeline.
                _ => {}
            }
        }
        if candidates.is_empty() || capacity == 0 {
            return Ok(Sliced::from(indices));
        }
        let cells = (candidates.len() as u64).saturating_mul(capacity as u64);
        if cells > Self::MAX_CELLS {
            return Err(CupelError::TableTooLarge {
                candidates: candidates.len(),
                capacity: capacity as u64,
                cells,
                limit: Self::MAX_CELLS,
            });
        }
        let worthwhile = drop_dominated(&candidates, capacity);
        let most = worthwhile.iter().map(|c| c.value).max().unwrap_or(0);
        // The small type fits twice as many cells in a vector register; with scores up to 1.0
        // it is always enough.
        let fits_u32 = (most as u64).saturating_mul(worthwhile.len() as u64) <= u64::from(u32::MAX);
        indices.extend(if fits_u32 {
            solve::<u32>(&worthwhile, capacity as usize)
        } else {
            solve::<u64>(&worthwhile, capacity as usize)
        });
        Ok(Sliced::from(indices))
    }

    fn monotonicity(&self) -> Monotonicity {
        Monotonicity::Monotonic
    }

    /// One step a cell, though the cells of dominated candidates are never computed.
    fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
        let capacity = (target_tokens.max(0) / self.bucket_size) as u64 + 1;
        (candidates as u64).saturating_mul(capacity.max(64))
    }

    fn is_knapsack(&self) -> bool {
        true
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

/// Scores are counted in integer steps of one ten-thousandth.
const SCORE_STEPS: f64 = 10_000.0;

#[derive(Debug, Clone, Copy)]
struct Candidate {
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
fn drop_dominated(candidates: &[Candidate], capacity: i64) -> Vec<Candidate> {
    let fits = candidates.iter().filter(|c| c.weight <= capacity && c.value > 0);
    // Through the pipeline values only fall, so "worth no less" is "earlier".
    if !candidates.is_sorted_by(|a, b| a.value >= b.value) {
        return fits.copied().collect();
    }
    let mut lighter = PrefixSums::new(capacity as usize);
    fits.filter(|candidate| {
        let better = lighter.up_to(candidate.weight as usize);
        lighter.add(candidate.weight as usize, candidate.weight as u64);
        better + candidate.weight as u64 <= capacity as u64
    })
    .copied()
    .collect()
}

/// Sums over prefixes that can be updated, each in logarithmic time (a Fenwick tree).
struct PrefixSums(Vec<u64>);

impl PrefixSums {
    fn new(len: usize) -> Self {
        Self(vec![0; len + 1])
    }

    fn add(&mut self, mut position: usize, amount: u64) {
        while let Some(sum) = self.0.get_mut(position) {
            *sum += amount;
            position += position & position.wrapping_neg();
        }
    }

    fn up_to(&self, mut position: usize) -> u64 {
        let mut total = 0;
        while position > 0 {
            total += self.0.get(position).copied().unwrap_or(0);
            position &= position - 1;
        }
        total
    }
}

/// The integer type of the table's values.
trait Value: Copy + Ord + Default {
    fn from_score(value: i64) -> Self;
    fn plus(self, other: Self) -> Self;
}

impl Value for u32 {
    fn from_score(value: i64) -> Self {
        value as u32
    }

    fn plus(self, other: Self) -> Self {
        // The caller has checked that the sum of all values fits.
        self.wrapping_add(other)
    }
}

impl Value for u64 {
    fn from_score(value: i64) -> Self {
        value as u64
    }

    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// Fills the table row by row and walks back through it, last candidate first.
fn solve<V: Value>(candidates: &[Candidate], capacity: usize) -> Vec<usize> {
    let columns = capacity + 1;
    let words = columns.div_ceil(8);
    // One bit a cell: whether the row's candidate improved on the row before.
    let mut keep = vec![0_u8; candidates.len() * words];
    let mut best = vec![V::default(); columns];
    let mut next = vec![V::default(); columns];
    let mut improved = vec![0_u8; words * 8];

    for (candidate, keep) in candidates.iter().zip(keep.chunks_exact_mut(words)) {
        let weight = candidate.weight as usize;
        let value = V::from_score(candidate.value);
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
