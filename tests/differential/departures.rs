//! Rules that the published implementation breaks: one small case each.
//!
//! Each test holds the library to the rule and shows the departure, so that it is noticed when the
//! published implementation changes.

use cupel::{Placer as _, ScoredItem};
use published::Placer as _;

use crate::expected::{Refusal, Run};
use crate::items::{self, Blueprint};
use crate::pipelines::{Overflow, PipelineCase};
use crate::slicers::Plan;

fn of_kind(kind: &'static str, item: Blueprint) -> Blueprint {
    Blueprint { kind, ..item }
}

fn reasons(run: &Run) -> Vec<(i64, &str)> {
    run.excluded.iter().map(|(id, _, reason)| (*id, reason.as_str())).collect()
}

/// CountQuotaSlice: "for each entry in entries". Published: kinds by name.
#[test]
fn required_kinds_are_committed_in_the_order_of_the_entries() {
    let kinds = ["Message", "Memory", "Document"];
    let items = kinds.map(|kind| of_kind(kind, Blueprint::new(kind.len() as i64, 1, 0.5)));
    let entries = kinds.map(|kind| (kind, 1, 1)).to_vec();
    let plan = Plan::CountQuota(entries, false);
    let ours = items::ours(&items);
    let scored: Vec<_> = ours.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
    let sliced = plan.ours().slice(&scored, &items::budget((9, 9, 0))).unwrap();
    assert_eq!(sliced.indices, [0, 1, 2]);
    let scored: Vec<_> = items
        .iter()
        .map(|item| published::ScoredItem { item: item.theirs(), score: 0.5 })
        .collect();
    let sliced = plan.theirs().slice(&scored, &items::their_budget((9, 9, 0))).unwrap();
    let kinds: Vec<_> = sliced.iter().map(|item| item.kind().as_str()).collect();
    assert_eq!(kinds, ["Document", "Memory", "Message"]);
}

/// QuotaSlice leaves the order of its kinds open. Ours: by first appearance, so the kind with the
/// best item comes first. Published: by name.
#[test]
fn quota_kinds_go_by_first_appearance() {
    let kinds = ["Message", "Memory", "Document"];
    let item = |(kind, id)| of_kind(kind, Blueprint::new(id, 1, 0.5));
    let items: Vec<_> = kinds.into_iter().zip(0..).map(item).collect();
    let case = PipelineCase {
        slicer: Plan::Quota(Vec::new(), Box::new(Plan::Greedy)),
        ..PipelineCase::plain(9, items)
    };
    assert_eq!(case.ours().unwrap().ids(), [0, 1, 2]);
    assert_eq!(case.theirs().unwrap().ids(), [2, 1, 0]);
}

/// Stage 5: scores come back "using reference identity". Published: by content.
#[test]
fn items_with_equal_content_keep_their_own_scores() {
    let twin = |id, tokens, hint| Blueprint {
        content: "twin".to_owned(),
        ..Blueprint::new(id, tokens, hint)
    };
    let case = PipelineCase {
        deduplication: false,
        ..PipelineCase::plain(30, vec![twin(0, 0, 0.25), twin(1, 40, 1.0)])
    };
    let ours = case.ours().unwrap();
    assert_eq!((ours.ids(), reasons(&ours)), (vec![0], vec![(1, "BudgetExceeded 40 of 30")]));
    assert_eq!(ours.included[0].1, 0.25);
    // The one that is left out is reported as the one that is in.
    let theirs = case.theirs().unwrap();
    assert_eq!((theirs.ids(), reasons(&theirs)), (vec![0], vec![(0, "BudgetExceeded 0 of 30")]));
}

/// CountQuotaSlice: `partitions[entry.kind] (empty if absent)`, so an absent kind is short.
/// Published: never looks at it, and never fills `count_requirement_shortfalls` either.
#[test]
fn a_required_kind_without_candidates_is_short() {
    for knapsack in [false, true] {
        let case = |throw, kind| {
            let counts = vec![(kind, 2, 3)];
            let slicer = match knapsack {
                true => Plan::CountKnapsack(counts, 1, throw),
                false => Plan::CountQuota(counts, throw),
            };
            PipelineCase { slicer, ..PipelineCase::plain(9, vec![Blueprint::new(0, 1, 0.5)]) }
        };
        assert!(case(true, "Memory").ours().is_err());
        assert!(case(true, "Memory").theirs().is_ok());
        assert!(case(true, "Message").ours().is_err());
        assert!(case(true, "Message").theirs().is_err());
        let short = |kind: &str, satisfied| vec![(kind.to_owned(), 2, satisfied)];
        assert_eq!(case(false, "Memory").ours().unwrap().shortfalls, short("memory", 0));
        assert_eq!(case(false, "Message").ours().unwrap().shortfalls, short("message", 1));
        assert_eq!(case(false, "Message").theirs().unwrap().shortfalls, []);
    }
}

/// Phase 3 excludes for the cap what phase 2 had chosen. Published: everything that would have
/// fitted alone, once the kind is full.
#[test]
fn only_what_the_cap_stopped_is_reported_as_over_the_cap() {
    let items = vec![
        Blueprint::new(0, 6, 0.9),
        Blueprint::new(1, 3, 0.8), // chosen, then stopped by the cap
        Blueprint::new(2, 8, 0.7), // never fitted beside the first two
    ];
    let case = PipelineCase {
        slicer: Plan::CountQuota(vec![("Message", 1, 1)], false),
        ..PipelineCase::plain(10, items)
    };
    let over_cap = "CountCapExceeded message";
    let ours = case.ours().unwrap();
    assert_eq!(reasons(&ours), [(1, over_cap), (2, "BudgetExceeded 8 of 4")]);
    assert_eq!(reasons(&case.theirs().unwrap()), [(1, over_cap), (2, over_cap)]);
}

/// Stage 5 takes the output reserve off the window only. Published: off the target as well, when it
/// asks whether an item would have fitted without pinned ones.
#[test]
fn the_output_reserve_does_not_hide_a_pinned_override() {
    let items = vec![Blueprint::new(0, 4, 0.0).pinned(), Blueprint::new(1, 8, 0.5)];
    let case = PipelineCase { budget: (20, 10, 5), ..PipelineCase::plain(0, items) };
    assert_eq!(reasons(&case.ours().unwrap()), [(1, "PinnedOverride by \"item 0\"")]);
    assert_eq!(reasons(&case.theirs().unwrap()), [(1, "BudgetExceeded 8 of 6")]);
}

/// The text has PinnedOverride for truncation in the first place. Published: only when slicing.
#[test]
fn truncation_tells_what_pinned_items_displaced() {
    let items = vec![
        Blueprint::new(0, 4, 0.0).pinned(),
        Blueprint::new(1, 10, 0.9),
        Blueprint::new(2, 12, 0.8),
    ];
    let case = PipelineCase {
        slicer: Plan::CountQuota(vec![("Message", 2, 2)], false),
        overflow: Overflow::Truncate,
        ..PipelineCase::plain(15, items)
    };
    assert_eq!(reasons(&case.ours().unwrap()), [(2, "PinnedOverride by \"item 0\"")]);
    assert_eq!(reasons(&case.theirs().unwrap()), [(2, "BudgetExceeded 12 of 1")]);
}

/// "Standard IEEE 754 ordering" has one zero. Published: two, with the negative one lower.
#[test]
fn both_zeroes_are_one_score() {
    let (a, b) = (Blueprint::new(0, 1, 0.0), Blueprint::new(1, 1, 0.0));
    let items = [(a.ours(), -0.0), (b.ours(), 0.0)];
    let scored = items.each_ref().map(|(item, score)| ScoredItem::new(item, *score));
    assert_eq!(cupel::placer::UShapedPlacer.place(&scored), [0, 1]);
    let scored = [
        published::ScoredItem { item: a.theirs(), score: -0.0 },
        published::ScoredItem { item: b.theirs(), score: 0.0 },
    ];
    let placed = published::UShapedPlacer.place(&scored);
    assert_eq!(placed.iter().map(items::their_id).collect::<Vec<_>>(), [1, 0]);

    let case = PipelineCase::plain(9, vec![Blueprint::new(0, 1, -0.0), b]);
    assert_eq!(case.ours().unwrap().ids(), [0, 1]);
    assert_eq!(case.theirs().unwrap().ids(), [1, 0]);
}

/// "Number of items processed": ours counts what enters a stage, published what leaves it.
#[test]
fn a_stage_event_counts_the_items_that_entered() {
    let items = vec![
        Blueprint::new(0, -1, 0.0),
        Blueprint::new(1, 5, 0.9),
        Blueprint { content: "item 1".to_owned(), ..Blueprint::new(2, 5, 0.8) },
        Blueprint::new(3, 50, 0.7),
    ];
    let case = PipelineCase::plain(10, items);
    let report =
        case.our_pipeline().dry_run(&items::ours(&case.items), &items::budget(case.budget));
    let counts: Vec<_> = report.unwrap().events.iter().map(|event| event.item_count).collect();
    assert_eq!(counts, [4, 3, 3, 2, 1]);
    let budget = items::their_budget(case.budget);
    let report = case.their_pipeline().dry_run(&items::theirs(&case.items), &budget);
    let counts: Vec<_> = report.unwrap().events.iter().map(|event| event.item_count).collect();
    assert_eq!(counts, [3, 3, 2, 1, 1]);
}

/// "The total tokens of all selected items MUST NOT exceed maxTokens - outputReserve." Published:
/// required items go beyond it, as long as they are within the target.
#[test]
fn required_items_stay_below_the_ceiling() {
    let case = |overflow| PipelineCase {
        slicer: Plan::CountQuota(vec![("Message", 2, 2)], false),
        overflow,
        budget: (1_000, 1_000, 400),
        ..PipelineCase::plain(0, vec![Blueprint::new(0, 450, 0.9), Blueprint::new(1, 450, 0.8)])
    };
    let refused = Refusal::Ceiling { merged: 900, available: 600 };
    assert_eq!(case(Overflow::Throw).ours(), Err(refused));
    for overflow in [Overflow::Truncate, Overflow::Proceed] {
        let ours = case(overflow).ours().unwrap();
        assert_eq!((ours.ids(), reasons(&ours)), (vec![0], vec![(1, "BudgetExceeded 450 of 150")]));
    }
    for overflow in [Overflow::Throw, Overflow::Truncate, Overflow::Proceed] {
        assert_eq!(case(overflow).theirs().unwrap().ids(), [0, 1]);
    }
}

/// CountConstrainedKnapsackSlice sorts "by score descending" before caps count, and leaves ties
/// open. Ours: the earlier item first, as everywhere else. Published: as the knapsack lists them,
/// so that the cap keeps the later ones.
#[test]
fn of_equal_scores_a_cap_on_the_knapsack_keeps_the_earlier_items() {
    let items: Vec<Blueprint> = (0..3).map(|id| Blueprint::new(id, 1, 0.5)).collect();
    let case = PipelineCase {
        slicer: Plan::CountKnapsack(vec![("Message", 0, 1)], 1, false),
        ..PipelineCase::plain(9, items)
    };
    assert_eq!(case.ours().unwrap().ids(), [0]);
    assert_eq!(case.theirs().unwrap().ids(), [2]);
}
