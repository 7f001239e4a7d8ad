//! Stages 2 and 4: scores, and the order they give.

use super::classify::Classified;
use super::observe::Observer;
use crate::diagnostics::{PipelineStage, TraceCollector};
use crate::model::ScoredItem;
use crate::order;
use crate::scorer::Scorer;

/// Stage 2: every scoreable item with its score, in the caller's order.
pub(super) fn score<'a, C: TraceCollector + ?Sized>(
    scorer: &dyn Scorer,
    classified: &Classified<'a>,
    observer: &mut Observer<'_, C>,
) -> Vec<ScoredItem<'a>> {
    let items = &*classified.scoreable;
    let running = observer.enter(PipelineStage::Score, items.len());
    let mut scores = vec![0.0; items.len()];
    if !items.is_empty() {
        scorer.score_all(items, &mut scores);
    }
    let scored: Vec<ScoredItem<'a>> = classified
        .scoreable_refs()
        .zip(scores)
        .map(|(item, score)| ScoredItem::new(item, score))
        .collect();
    observer.scored(&scored);
    observer.leave(running, scored.len());
    scored
}

/// Stage 4: by score from the highest down, equal scores in their given order.
pub(super) fn sort<'a>(unique: &[ScoredItem<'a>]) -> Vec<ScoredItem<'a>> {
    order::by_score_descending(unique.iter().map(ScoredItem::score))
        .into_iter()
        .filter_map(|position| unique.get(position as usize).copied())
        .collect()
}
