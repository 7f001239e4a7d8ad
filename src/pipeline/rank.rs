//! Stages 2 and 4: scores, and the order they give.

use super::classify::Classified;
use super::observe::Observer;
use crate::diagnostics::{PipelineStage, TraceCollector};
use crate::model::ScoredItem;
use crate::order;
use crate::scorer::Scorer;

/// Stage 2: the score of every scoreable item, in the caller's order.
pub(super) fn score<C: TraceCollector + ?Sized>(
    scorer: &dyn Scorer,
    classified: &Classified<'_>,
    observer: &mut Observer<'_, C>,
) -> Vec<f64> {
    let items = &*classified.scoreable_items;
    let running = observer.enter(PipelineStage::Score, items.len());
    // Scores and their explanations are read off one clock.
    let frozen = observer.wants_score_parts().then(|| scorer.freeze()).flatten();
    let scorer = frozen.as_deref().unwrap_or(scorer);
    let mut scores = vec![0.0; items.len()];
    if !items.is_empty() {
        scorer.score_all(items, &mut scores);
        observer.explain(scorer, items, &scores);
    }
    observer.scored(&scores);
    observer.leave(running, scores.len());
    scores
}

/// Stage 4: by score from the highest down, equal scores in their given order; the items with
/// their scores, and their positions among all candidates.
///
/// `dropped` are the places among the scoreable ones, ascending, that deduplication took out.
pub(super) fn sort<'a>(
    classified: &Classified<'a>,
    scores: &[f64],
    dropped: &[u32],
) -> (Vec<ScoredItem<'a>>, Vec<u32>) {
    let scoreable = &classified.scoreable;
    let mut keep = Vec::new();
    if !dropped.is_empty() {
        keep.resize(scoreable.len(), true);
        for place in dropped {
            if let Some(keep) = keep.get_mut(*place as usize) {
                *keep = false;
            }
        }
    }
    let mut sorted = Vec::with_capacity(scoreable.len() - dropped.len());
    let mut positions = Vec::with_capacity(scoreable.len() - dropped.len());
    for place in order::by_score_descending(scores.iter().copied()) {
        let place = place as usize;
        if let (Some(&position), Some(score), None | Some(true)) =
            (scoreable.get(place), scores.get(place), keep.get(place))
        {
            if let Some(item) = classified.item(position) {
                sorted.push(ScoredItem::new(item, *score));
                positions.push(position);
            }
        }
    }
    (sorted, positions)
}
