//! The selection report and the reasons in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cupel::diagnostics::{DiagnosticTraceCollector, ExclusionReason, InclusionReason};
use cupel::slicer::{
    CountQuotaEntry, CountQuotaSlice, KnapsackSlice, QuotaSet, QuotaSlice, ScarcityBehavior,
};
use cupel::{ContextItem, ContextKind, GreedySlice, OverflowStrategy, Scorer, Slicer};

use super::common::{Random, budget, hinted, pinned, pipeline};

const RESERVED: [&str; 4] =
    ["ScoredTooLow", "QuotaCapExceeded", "QuotaRequireDisplaced", "Filtered"];

#[test]
fn all_reasons_of_the_specification_exist() {
    let kind = ContextKind::document;
    let reasons = [
        ExclusionReason::BudgetExceeded { item_tokens: 1, available_tokens: 0 },
        ExclusionReason::ScoredTooLow { score: 0.1, threshold: 0.2 },
        ExclusionReason::Deduplicated { deduplicated_against: "x".into() },
        ExclusionReason::QuotaCapExceeded { kind: kind(), cap: 1, actual: 2 },
        ExclusionReason::QuotaRequireDisplaced { displaced_by_kind: kind() },
        ExclusionReason::NegativeTokens { tokens: -1 },
        ExclusionReason::PinnedOverride { displaced_by: "x".into() },
        ExclusionReason::Filtered { filter_name: "x".into() },
    ];
    let names: Vec<&str> = reasons.iter().map(ExclusionReason::name).collect();
    assert_eq!(names, ExclusionReason::NAMES[..8]);
    let included = [InclusionReason::Scored, InclusionReason::Pinned, InclusionReason::ZeroToken];
    assert_eq!(included.each_ref().map(InclusionReason::name), ["Scored", "Pinned", "ZeroToken"]);
}

fn slicers() -> [Arc<dyn Slicer>; 4] {
    let tool = ContextKind::new("tool").unwrap();
    let quotas = QuotaSet::builder().require(tool.clone(), 30.0).cap(tool.clone(), 50.0);
    let entries = vec![CountQuotaEntry::new(tool, 1, 2).unwrap()];
    [
        Arc::new(GreedySlice),
        Arc::new(KnapsackSlice::new(5).unwrap()),
        Arc::new(QuotaSlice::new(quotas.build().unwrap(), GreedySlice)),
        Arc::new(CountQuotaSlice::new(entries, GreedySlice, ScarcityBehavior::Degrade).unwrap()),
    ]
}

#[test]
fn every_report_adds_up_and_uses_no_reserved_reason() {
    let mut random = Random::new(21);
    for round in 0..400 {
        let (mut items, _) = random.instance(20, false);
        items.extend(items.first().map(|first| first.to_builder().build().unwrap()));
        items.push(pinned("pin", random.below(30) as i64));
        items.push(ContextItem::new("negative", -5).unwrap());
        let pipeline = pipeline()
            .scorer(cupel::scorer::KindScorer::default())
            .slicer(Arc::clone(&slicers()[round % 4]))
            .overflow_strategy(OverflowStrategy::Truncate)
            .build()
            .unwrap();
        let report = pipeline.dry_run(&items, &budget(30 + random.below(100) as i64)).unwrap();

        assert_eq!(report.total_candidates, items.len());
        assert_eq!(report.total_candidates, report.included.len() + report.excluded.len());
        let tokens: i64 = items.iter().map(ContextItem::tokens).sum();
        assert_eq!(report.total_tokens_considered, tokens);
        assert!(report.excluded.is_sorted_by(|a, b| a.score >= b.score), "{:?}", report.excluded);
        for excluded in &report.excluded {
            assert!(!RESERVED.contains(&excluded.reason.name()), "{excluded:?}");
        }
        // Each candidate is in the report once, as itself.
        for item in &items {
            let included =
                report.included.iter().filter(|i| ContextItem::same(&i.item, item)).count();
            let excluded =
                report.excluded.iter().filter(|e| ContextItem::same(&e.item, item)).count();
            assert_eq!(included + excluded, 1, "{item:?}");
        }
    }
}

#[test]
fn included_items_are_in_placed_order() {
    let pipeline = pipeline().build().unwrap();
    let items = [hinted("c", 1, 0.3), hinted("a", 1, 0.9), hinted("b", 1, 0.6)];
    let mut collector = DiagnosticTraceCollector::default();
    let output = pipeline.run_traced(&items, &budget(10), &mut collector).unwrap();
    let report = collector.into_report();
    let included: Vec<&str> = report.included.iter().map(|i| i.item.content()).collect();
    assert_eq!(included, ["a", "c", "b"]);
    for (item, included) in output.iter().zip(&report.included) {
        assert!(ContextItem::same(item, &included.item));
    }
}

#[test]
fn reported_scores_are_those_of_the_decision() {
    /// Every call gives another score, so a second call would show.
    struct Counting(AtomicU32);
    impl Scorer for Counting {
        fn score(&self, _item: &ContextItem, _all: &[ContextItem]) -> f64 {
            f64::from(self.0.fetch_add(1, Ordering::Relaxed)) / 10.0
        }
    }
    let pipeline = pipeline().scorer(Counting(AtomicU32::new(1))).build().unwrap();
    let items = [hinted("first", 60, 0.0), hinted("second", 60, 0.0)];
    let report = pipeline.dry_run(&items, &budget(100)).unwrap();
    assert_eq!((report.included[0].item.content(), report.included[0].score), ("second", 0.2));
    assert_eq!((report.excluded[0].item.content(), report.excluded[0].score), ("first", 0.1));
}

#[test]
fn items_excluded_before_scoring_have_score_zero() {
    let item =
        ContextItem::builder("x", -1).future_relevance_hint(0.9).pinned(true).build().unwrap();
    let report = pipeline().build().unwrap().dry_run(&[item], &budget(10)).unwrap();
    assert_eq!(report.excluded[0].score, 0.0);
    assert_eq!(report.excluded[0].reason, ExclusionReason::NegativeTokens { tokens: -1 });
}

#[test]
fn a_dry_run_reports_what_a_run_does() {
    let items =
        [pinned("pin", 20), hinted("a", 60, 0.9), hinted("b", 60, 0.5), hinted("a", 5, 0.1)];
    let pipeline = pipeline().build().unwrap();
    let mut collector = DiagnosticTraceCollector::default();
    pipeline.run_traced(&items, &budget(100), &mut collector).unwrap();
    let (traced, dry) = (collector.into_report(), pipeline.dry_run(&items, &budget(100)).unwrap());
    assert_eq!(traced.included, dry.included);
    assert_eq!(traced.excluded, dry.excluded);
    assert_eq!(traced.events.len(), dry.events.len());
}
