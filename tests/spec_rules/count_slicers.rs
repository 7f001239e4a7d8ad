//! Construction, shortages and caps of the two slicers that count items.

use std::sync::Arc;

use cupel::diagnostics::ExclusionReason;
use cupel::model::CountRequirementShortfall;
use cupel::slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, KnapsackSlice,
    ScarcityBehavior,
};
use cupel::{ContextItem, ContextKind, CupelError, GreedySlice, Slicer};

use super::common::{budget, pipeline, scored};

fn tool() -> ContextKind {
    ContextKind::new("tool").unwrap()
}

fn entry(require: usize, cap: usize) -> Vec<CountQuotaEntry> {
    vec![CountQuotaEntry::new(tool(), require, cap).unwrap()]
}

fn tools(count: usize) -> Vec<ContextItem> {
    (0..count)
        .map(|n| {
            let hint = 0.9 - n as f64 / 10.0;
            let item = ContextItem::builder(format!("t{n}"), 10).kind(tool());
            item.future_relevance_hint(hint).build().unwrap()
        })
        .collect()
}

fn both(entries: &[CountQuotaEntry], scarcity: ScarcityBehavior) -> [Arc<dyn Slicer>; 2] {
    let knapsack = KnapsackSlice::new(1).unwrap();
    [
        Arc::new(CountQuotaSlice::new(entries.to_vec(), GreedySlice, scarcity).unwrap()),
        Arc::new(CountConstrainedKnapsackSlice::new(entries.to_vec(), knapsack, scarcity).unwrap()),
    ]
}

#[test]
fn entries_are_validated_at_construction() {
    for (require, cap) in [(1, 0), (3, 2), (usize::MAX, 1)] {
        let entry = CountQuotaEntry::new(tool(), require, cap);
        assert!(matches!(entry, Err(CupelError::SlicerConfig(_))), "{require}..{cap}");
    }
    for (require, cap) in [(0, 0), (0, 1), (2, 2)] {
        CountQuotaEntry::new(tool(), require, cap).unwrap();
    }
}

#[test]
fn a_knapsack_is_refused_inside_whatever_it_is_wrapped_in() {
    let knapsack = KnapsackSlice::default();
    let degrade = ScarcityBehavior::Degrade;
    let inner: [Box<dyn Slicer>; 3] =
        [Box::new(knapsack), Box::new(Arc::new(knapsack)), Box::new(Box::new(knapsack))];
    for inner in inner {
        let error = CountQuotaSlice::new(entry(1, 2), inner, degrade).unwrap_err();
        assert!(matches!(error, CupelError::SlicerConfig(_)), "{error}");
        assert!(error.to_string().contains("KnapsackSlice"), "{error}");
    }
    // The other slicer is the knapsack wrapper itself and has no such guard.
    assert!(CountConstrainedKnapsackSlice::new(entry(1, 2), knapsack, degrade).is_ok());
}

#[test]
fn degrading_is_the_default() {
    assert_eq!(ScarcityBehavior::default(), ScarcityBehavior::Degrade);
}

#[test]
fn a_shortage_is_recorded_in_full_and_reported() {
    let items = tools(1);
    let expected =
        [CountRequirementShortfall { kind: tool(), required_count: 3, satisfied_count: 1 }];
    for slicer in both(&entry(3, 5), ScarcityBehavior::Degrade) {
        let sliced = slicer.slice(&scored(&items, &[0.9]), &budget(100)).unwrap();
        assert_eq!(sliced.shortfalls, expected);
        let report =
            pipeline().slicer(slicer).build().unwrap().dry_run(&items, &budget(100)).unwrap();
        assert_eq!(report.count_requirement_shortfalls, expected);
    }
}

#[test]
fn a_shortage_can_be_an_error_that_says_everything() {
    let items = tools(2);
    for (slicer, name) in both(&entry(3, 5), ScarcityBehavior::Throw)
        .into_iter()
        .zip(["CountQuotaSlice", "CountConstrainedKnapsackSlice"])
    {
        let error = slicer.slice(&scored(&items, &[0.9, 0.8]), &budget(100)).unwrap_err();
        let expected =
            format!("{name}: candidate pool for kind 'tool' has 2 items but RequireCount is 3.");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn capped_items_say_kind_cap_and_count() {
    let items = tools(4);
    for slicer in both(&entry(1, 2), ScarcityBehavior::Degrade) {
        let report =
            pipeline().slicer(slicer).build().unwrap().dry_run(&items, &budget(100)).unwrap();
        let cut: Vec<_> = report.excluded.iter().map(|e| (e.item.content(), &e.reason)).collect();
        let reason = ExclusionReason::CountCapExceeded { kind: tool(), cap: 2, count: 2 };
        assert_eq!(cut, [("t2", &reason), ("t3", &reason)]);
    }
}

#[test]
fn committed_items_are_never_cut_by_the_cap() {
    // Phase 1 fills the cap; the cap then cuts only what phase 2 adds.
    let items = tools(4);
    for slicer in both(&entry(2, 2), ScarcityBehavior::Degrade) {
        let sliced = slicer.slice(&scored(&items, &[0.9, 0.8, 0.7, 0.6]), &budget(100)).unwrap();
        assert_eq!(sliced.indices, [0, 1]);
        assert_eq!(sliced.exclusions.len(), 2);
    }
}

#[test]
fn counting_slicers_say_so() {
    for slicer in both(&[], ScarcityBehavior::Degrade) {
        assert!(slicer.is_count_quota(), "{}", slicer.name());
    }
    assert!(!GreedySlice.is_count_quota());
}

#[test]
fn a_table_beyond_the_guard_is_its_own_error() {
    let items = tools(2);
    let items = scored(&items, &[0.9, 0.8]);
    let exact = KnapsackSlice::new(1).unwrap();
    let slicer =
        CountConstrainedKnapsackSlice::new(entry(1, 2), exact, ScarcityBehavior::Degrade).unwrap();
    // One candidate is left after phase 1, so its buckets are the cells.
    let error = slicer.slice(&items, &budget(KnapsackSlice::MAX_CELLS as i64 + 11)).unwrap_err();
    assert!(matches!(error, CupelError::TableTooLarge { candidates: 1, .. }), "{error}");
    assert_eq!(KnapsackSlice::MAX_CELLS, 50_000_000);
}
