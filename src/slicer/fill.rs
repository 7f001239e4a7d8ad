//! Fills what another slicer leaves of the budget.

use std::sync::Arc;

use super::quota::percent_of;
use super::{KindQuota, Monotonicity, QuotaUnit, SliceResult, Slicer, SlicerFacts};
use crate::error::CupelError;
use crate::model::{ContextBudget, KindMap, ScoredItem};

/// Lets another slicer choose first, and then fills what it leaves, as far as its caps allow.
///
/// A [`QuotaSlice`](crate::slicer::QuotaSlice) shares the whole budget out among the kinds there are: a
/// kind whose items are too large for its share keeps it, unused. Around it, this slicer goes
/// through everything left out, most score per token first (or the best first, where the other
/// slicer fills so), and takes what fits the rest of the budget and the cap of its kind. So nothing
/// is left out that would still fit.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, ScoredItem, Slicer};
/// use cupel::slicer::{FillSlice, QuotaSet, QuotaSlice};
///
/// let quotas = QuotaSet::builder().require(ContextKind::document(), 50.0).build()?;
/// let slicer = FillSlice::new(QuotaSlice::new(quotas, GreedySlice));
///
/// let manual = ContextItem::builder("the whole manual", 900).kind(ContextKind::document());
/// let items = [manual.build()?, ContextItem::new("a message", 80)?];
/// let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
/// let budget = ContextBudget::builder(100).build()?;
/// // The manual's kind has 50 tokens for itself, and by its size nearly all of the others.
/// assert!(slicer.inner().slice(&scored, &budget)?.indices.is_empty());
/// assert_eq!(slicer.slice(&scored, &budget)?.indices, [1]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FillSlice {
    inner: Arc<dyn Slicer>,
}

impl FillSlice {
    /// Creates a slicer that fills what `inner` leaves.
    pub fn new(inner: impl Slicer + 'static) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// The slicer that chooses first.
    pub fn inner(&self) -> &Arc<dyn Slicer> {
        &self.inner
    }
}

/// Room that is left for a kind.
#[derive(Clone, Copy)]
struct KindRoom {
    tokens: i64,
    items: usize,
}

impl KindRoom {
    const UNLIMITED: Self = Self { tokens: i64::MAX, items: usize::MAX };

    fn of(quota: &KindQuota, target: i64) -> Self {
        match quota.unit {
            QuotaUnit::Percent => match percent_of(quota.cap, target) {
                // A kind that may have nothing may not have its free items either.
                0 => Self { tokens: 0, items: 0 },
                tokens => Self { tokens, ..Self::UNLIMITED },
            },
            // `as` saturates, and no list has more items than a float counts.
            QuotaUnit::Items => Self { items: quota.cap as usize, ..Self::UNLIMITED },
        }
    }

    fn holds(self, tokens: i64) -> bool {
        self.items > 0 && tokens <= self.tokens
    }

    fn take(&mut self, tokens: i64) {
        self.items = self.items.saturating_sub(1);
        self.tokens = self.tokens.saturating_sub(tokens);
    }
}

impl Slicer for FillSlice {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let target = budget.target_tokens();
        let mut sliced = self.inner.slice(items, budget)?;
        if items.is_empty() || target <= 0 {
            return Ok(sliced);
        }
        let facts = self.inner.facts();
        let mut rooms = KindMap::default();
        for quota in facts.quotas {
            rooms.get_or_insert(&quota.kind, KindRoom::of(&quota, target));
        }
        let mut taken = vec![false; items.len()];
        let mut left = target;
        for &position in &sliced.indices {
            if let (Some(scored), Some(taken)) = (items.get(position), taken.get_mut(position)) {
                *taken = true;
                left = left.saturating_sub(scored.tokens());
                if let Some(room) = rooms.get_mut(scored.item().kind()) {
                    room.take(scored.tokens());
                }
            }
        }
        // One pass is enough: neither the rest nor any room grows.
        for position in facts.order.positions(items) {
            let position = position as usize;
            let Some(scored) = items.get(position).filter(|_| taken.get(position) == Some(&false))
            else {
                continue;
            };
            let tokens = scored.tokens();
            let mut unlimited = KindRoom::UNLIMITED;
            let room = rooms.get_mut(scored.item().kind()).unwrap_or(&mut unlimited);
            if (0..=left).contains(&tokens) && room.holds(tokens) {
                room.take(tokens);
                left -= tokens;
                sliced.indices.push(position);
            }
        }
        Ok(sliced)
    }

    fn steps(&self, candidates: usize, target_tokens: i64) -> u64 {
        let own = (candidates as u64).saturating_mul(64);
        self.inner.steps(candidates, target_tokens).saturating_add(own)
    }

    fn facts(&self) -> SlicerFacts {
        let (monotonicity, streams) = (Monotonicity::NonMonotonic, false);
        SlicerFacts { monotonicity, streams, granularity: 1, ..self.inner.facts() }
    }

    crate::names::as_any!();
}
