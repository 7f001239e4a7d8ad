//! The batch: everything that has arrived, sorted by score, through `GreedySlice`.

use std::cmp::Ordering;

use cupel::slicer::{Sequence, StreamItem, StreamSlice};
use cupel::{ContextBudget, ContextItem, GreedySlice, ScoredItem, Slicer};

/// An item with all a batch and a stream want to know of it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) score: f64,
    pub(crate) sequence: Sequence,
    pub(crate) item: ContextItem,
}

impl Candidate {
    pub(crate) fn new(score: f64, tokens: i64, sequence: Sequence, content: &str) -> Self {
        Self { score, sequence, item: ContextItem::new(content, tokens).unwrap() }
    }

    pub(crate) fn to_stream(&self) -> StreamItem<ContextItem> {
        StreamItem::new(self.score, self.item.tokens(), self.sequence, self.item.clone())
    }
}

/// From the highest down, NaN last.
pub(crate) fn by_score(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The candidates as a pipeline hands them to its slicer.
fn sorted(candidates: &[Candidate]) -> Vec<&Candidate> {
    let mut sorted: Vec<&Candidate> = candidates.iter().collect();
    sorted.sort_by_key(|candidate| candidate.sequence);
    sorted.sort_by(|a, b| by_score(a.score, b.score));
    sorted
}

/// Selections of a batch from these candidates for each budget, in its order.
pub(crate) fn batch_for(
    candidates: &[Candidate],
    budgets: impl IntoIterator<Item = i64>,
) -> Vec<Vec<Sequence>> {
    let sorted = sorted(candidates);
    let scored: Vec<ScoredItem<'_>> =
        sorted.iter().map(|candidate| ScoredItem::new(&candidate.item, candidate.score)).collect();
    let slice = GreedySlice.prepare(&scored);
    let select = |budget: i64| {
        let budget = ContextBudget::builder(budget).build().unwrap();
        let indices = slice(&budget).unwrap().indices;
        indices.into_iter().map(|index| sorted[index].sequence).collect()
    };
    budgets.into_iter().map(select).collect()
}

/// Selection of a batch from these candidates, in its order.
pub(crate) fn batch(candidates: &[Candidate], budget: i64) -> Vec<Sequence> {
    let sorted = sorted(candidates);
    let scored: Vec<ScoredItem<'_>> =
        sorted.iter().map(|candidate| ScoredItem::new(&candidate.item, candidate.score)).collect();
    let budget = ContextBudget::builder(budget).build().unwrap();
    let indices = GreedySlice.slice(&scored, &budget).unwrap().indices;
    indices.into_iter().map(|index| sorted[index].sequence).collect()
}

/// Current selection of a stream, in its order.
pub(crate) fn selected<P>(slice: &StreamSlice<P>) -> Vec<Sequence> {
    slice.selection().map(|item| item.sequence).collect()
}
