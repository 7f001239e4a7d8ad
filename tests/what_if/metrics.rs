//! Numbers read off a report.

use chrono::DateTime;
use cupel::analytics::{budget_utilization, kind_diversity, quota_utilization, timestamp_coverage};
use cupel::placer::UShapedPlacer;
use cupel::slicer::QuotaUnit;
use cupel::slicer::{CountQuotaEntry, CountQuotaSlice, QuotaSet, QuotaSlice, ScarcityBehavior};
use cupel::{
    ContextBudget, ContextItem, ContextItemBuilder, ContextKind, GreedySlice, Pipeline,
    ReflexiveScorer, SelectionReport, Slicer,
};

fn report(
    slicer: impl Slicer + 'static,
    items: &[ContextItem],
    budget: &ContextBudget,
) -> SelectionReport {
    let pipeline = Pipeline::builder().scorer(ReflexiveScorer).placer(UShapedPlacer);
    pipeline.slicer(slicer).build().unwrap().dry_run(items, budget).unwrap()
}

fn item(text: &str, tokens: i64) -> ContextItemBuilder {
    ContextItem::builder(text, tokens).future_relevance_hint(0.5)
}

fn budget(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

#[test]
fn utilization_is_of_the_maximum_not_of_the_target() {
    let items = [item("a", 30).build().unwrap()];
    let budget = ContextBudget::builder(120).target_tokens(60).build().unwrap();
    assert_eq!(budget_utilization(&report(GreedySlice, &items, &budget), &budget), 0.25);
}

#[test]
fn utilization_of_a_budget_of_nothing_is_zero() {
    let budget = budget(0);
    let empty = report(GreedySlice, &[], &budget);
    assert_eq!(budget_utilization(&empty, &budget), 0.0);
    // Even when something that costs nothing is selected.
    let free = [item("free", 0).pinned(true).build().unwrap()];
    let report = report(GreedySlice, &free, &budget);
    assert_eq!(report.included.len(), 1);
    assert_eq!(budget_utilization(&report, &budget), 0.0);
}

#[test]
fn diversity_counts_kinds_of_the_selection_without_regard_to_case() {
    let kind = |text| ContextKind::new(text).unwrap();
    let items = [
        item("a", 1).kind(kind("Ticket")).build().unwrap(),
        item("b", 1).kind(kind("TICKET")).build().unwrap(),
        item("c", 1).build().unwrap(),
        item("does not fit", 900).kind(kind("Log")).build().unwrap(),
    ];
    assert_eq!(kind_diversity(&report(GreedySlice, &items, &budget(10))), 2);
    assert_eq!(kind_diversity(&report(GreedySlice, &[], &budget(10))), 0);
}

#[test]
fn coverage_is_the_share_of_selected_items_with_a_time() {
    let time = DateTime::from_timestamp(0, 0).unwrap();
    let items = [
        item("a", 1).timestamp(time).build().unwrap(),
        item("b", 1).build().unwrap(),
        item("c", 1).build().unwrap(),
        item("d", 1).build().unwrap(),
        item("does not fit", 900).timestamp(time).build().unwrap(),
    ];
    assert_eq!(timestamp_coverage(&report(GreedySlice, &items, &budget(10))), 0.25);
    assert_eq!(timestamp_coverage(&report(GreedySlice, &[], &budget(10))), 0.0);
}

#[test]
fn quotas_in_percent_are_of_what_the_pinned_items_leave() {
    let document = ContextKind::document();
    let quotas = QuotaSet::builder()
        .require(document.clone(), 20.0)
        .cap(document.clone(), 80.0)
        .cap(ContextKind::memory(), 0.0)
        .build()
        .unwrap();
    let slicer = QuotaSlice::new(quotas, GreedySlice);
    let items = [
        item("rules", 100).kind(document.clone()).pinned(true).build().unwrap(),
        item("page", 40).kind(document.clone()).build().unwrap(),
        item("memory", 5).kind(ContextKind::memory()).build().unwrap(),
    ];
    let budget = budget(200);
    let report = report(slicer.clone(), &items, &budget);
    let used = quota_utilization(&report, &budget, &slicer);
    assert_eq!(used.len(), 2);
    // The pinned document is outside of quotas; the page is 40 of 100.
    assert_eq!(used[0].quota.kind, document);
    assert_eq!(used[0].quota.unit, QuotaUnit::Percent);
    assert_eq!((used[0].actual, used[0].of_cap()), (40.0, 0.5));
    assert!(used[0].meets_requirement());
    assert_eq!((used[1].actual, used[1].of_cap()), (0.0, 0.0));
}

#[test]
fn quotas_in_items_count_items() {
    let tool = ContextKind::tool_output();
    let entries = vec![CountQuotaEntry::new(tool.clone(), 3, 4).unwrap()];
    let slicer = CountQuotaSlice::new(entries, GreedySlice, ScarcityBehavior::Degrade).unwrap();
    let items = [
        item("a", 1).kind(tool.clone()).build().unwrap(),
        item("b", 1).kind(tool.clone()).build().unwrap(),
        item("pinned", 1).kind(tool).pinned(true).build().unwrap(),
    ];
    let budget = budget(100);
    let report = report(slicer.clone(), &items, &budget);
    let used = quota_utilization(&report, &budget, &slicer);
    assert_eq!(used[0].quota.unit, QuotaUnit::Items);
    assert_eq!((used[0].actual, used[0].of_cap()), (2.0, 0.5));
    assert!(!used[0].meets_requirement());
}

#[test]
fn quotas_of_a_budget_of_nothing_are_not_used() {
    let quotas = QuotaSet::builder().cap(ContextKind::message(), 50.0).build().unwrap();
    let slicer = QuotaSlice::new(quotas, GreedySlice);
    let budget = budget(0);
    let report = report(slicer.clone(), &[item("a", 1).build().unwrap()], &budget);
    assert_eq!(quota_utilization(&report, &budget, &slicer)[0].actual, 0.0);
    assert!(quota_utilization(&report, &budget, &GreedySlice).is_empty());
}
