//! The contestants: each takes items as they arrive and ends with the selected ones.

use cupel::slicer::{Sequence, StreamItem, StreamSlice};
use cupel::{
    ContextBudget, ContextItem, GreedySlice, Pipeline, Placer, ReflexiveScorer, ScoredItem, Slicer,
};

use crate::data::Arrival;

/// Collects everything, sorts by score as a pipeline does, and slices.
pub(crate) fn batch(arrivals: &[Arrival], budget: i64) -> Vec<u32> {
    let collected: Vec<(ContextItem, f64)> =
        arrivals.iter().map(|arrival| (arrival.item.clone(), arrival.score)).collect();
    // Scores here are in [0, 1), so their bits sort as they do; the position breaks ties.
    let mut keys: Vec<(u64, u32)> =
        (0..).zip(&collected).map(|(position, (_, score))| (!score.to_bits(), position)).collect();
    keys.sort_unstable();
    let scored: Vec<ScoredItem<'_>> = keys
        .iter()
        .map(|(_, position)| &collected[*position as usize])
        .map(|(item, score)| ScoredItem::new(item, *score))
        .collect();
    let budget = ContextBudget::builder(budget).build().unwrap();
    let indices = GreedySlice.slice(&scored, &budget).unwrap().indices;
    indices.into_iter().map(|index| keys[index].1).collect()
}

/// Slices while items arrive, and lets go of what cannot be selected.
pub(crate) fn stream(arrivals: &[Arrival], budget: i64) -> Vec<u32> {
    let selected = select(StreamSlice::new(budget), arrivals);
    selected.into_iter().map(|item| item.sequence.position as u32).collect()
}

/// The same, with duplicates reduced to the best one.
pub(crate) fn stream_deduplicated(arrivals: &[Arrival], budget: i64) -> Vec<ContextItem> {
    let selected = select(StreamSlice::deduplicating(budget), arrivals);
    selected.into_iter().map(|item| item.payload).collect()
}

fn select(
    mut slice: StreamSlice<ContextItem>,
    arrivals: &[Arrival],
) -> Vec<StreamItem<ContextItem>> {
    for (position, arrival) in (0..).zip(arrivals) {
        let item = arrival.item.clone();
        let sequence = Sequence::new(0, position);
        drop(slice.push(StreamItem::new(arrival.score, item.tokens(), sequence, item)));
    }
    slice.finish().selected
}

struct AsGiven;

impl Placer for AsGiven {
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        (0..items.len()).collect()
    }
}

pub(crate) fn pipeline() -> Pipeline {
    Pipeline::builder().scorer(ReflexiveScorer).slicer(GreedySlice).placer(AsGiven).build().unwrap()
}

/// Collects everything and runs a whole pipeline, which deduplicates.
pub(crate) fn batch_pipeline(
    pipeline: &Pipeline,
    arrivals: &[Arrival],
    budget: i64,
) -> Vec<ContextItem> {
    let collected: Vec<ContextItem> = arrivals.iter().map(|arrival| arrival.item.clone()).collect();
    pipeline.run(&collected, &ContextBudget::builder(budget).build().unwrap()).unwrap()
}

/// Returns true if two selections have the same items, in any order.
pub(crate) fn same_items(a: &[ContextItem], b: &[ContextItem]) -> bool {
    let among = |item: &ContextItem| b.iter().any(|other| ContextItem::same(item, other));
    a.len() == b.len() && a.iter().all(among)
}
