//! Exact limit at which both implementations refuse a knapsack table.

use cupel::Slicer as _;
use published::Slicer as _;

use crate::items::{self, Blueprint};

/// Items no table of these tests can hold: building the table costs nothing, the guard sees it all.
const TOO_LARGE: i64 = 10_000_000;

/// Candidates, capacity and cells, as the refusal tells them.
type RefusedItem = (usize, u64, u64);

fn items(candidates: i64) -> Vec<Blueprint> {
    (0..candidates).map(|id| Blueprint::new(id, TOO_LARGE, 0.5)).collect()
}

fn ours(candidates: i64, target: i64, bucket: i64) -> Option<RefusedItem> {
    let items = items::ours(&items(candidates));
    let scored: Vec<_> = items.iter().map(|item| cupel::ScoredItem::new(item, 0.5)).collect();
    let slicer = cupel::slicer::KnapsackSlice::new(bucket).unwrap();
    match slicer.slice(&scored, &items::budget((target, target, 0))) {
        Ok(_) => None,
        Err(cupel::CupelError::TableTooLarge { candidates, capacity, cells, .. }) => {
            Some((candidates, capacity, cells))
        }
        Err(error) => panic!("{error}"),
    }
}

fn theirs(candidates: i64, target: i64, bucket: i64) -> Option<RefusedItem> {
    let scored: Vec<_> = items(candidates)
        .iter()
        .map(|item| published::ScoredItem { item: item.theirs(), score: 0.5 })
        .collect();
    let slicer = published::KnapsackSlice::new(bucket).unwrap();
    match slicer.slice(&scored, &items::their_budget((target, target, 0))) {
        Ok(_) => None,
        Err(published::CupelError::TableTooLarge { candidates, capacity, cells }) => {
            Some((candidates, capacity as u64, cells))
        }
        Err(error) => panic!("{error}"),
    }
}

/// "Exceeds 50 M cells": candidates times buckets, in both.
#[test]
fn the_guard_counts_candidates_times_buckets() {
    for refuses in [ours, theirs] {
        assert_eq!(refuses(500, 100_000, 1), None);
        assert_eq!(refuses(500, 100_001, 1), Some((500, 100_001, 50_000_500)));
        assert_eq!(refuses(500, 1_000_009, 10), None);
    }
}
