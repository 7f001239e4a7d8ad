//! Items, budgets and reports in MessagePack, which may write fields by position.

use std::fmt::Debug;

use cupel::diagnostics::{
    DiagnosticTraceCollector, ExcludedItem, ExclusionReason, IncludedItem, InclusionReason,
    TraceDetailLevel,
};
use cupel::scorer::ScoreParts;
use cupel::{ContextBudget, ContextItem, ContextKind, Policy, SelectionReport};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value with fields by position and by name, and reads it back.
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let positional = rmp_serde::to_vec(value).unwrap();
    assert_eq!(&rmp_serde::from_slice::<T>(&positional).unwrap(), value);
    let named = rmp_serde::to_vec_named(value).unwrap();
    assert_eq!(&rmp_serde::from_slice::<T>(&named).unwrap(), value);
}

#[test]
fn items_keep_their_fields_where_fields_go_by_position() {
    round_trip(&ContextItem::new("plain", 3).unwrap());
    let item = ContextItem::builder("rich", 3)
        .kind(ContextKind::document())
        .future_relevance_hint(f64::INFINITY)
        .pinned(true)
        .original_tokens(9)
        .build()
        .unwrap();
    round_trip(&item);
    round_trip(&vec![item]);
}

#[test]
fn budgets_keep_their_fields_where_fields_go_by_position() {
    round_trip(&ContextBudget::builder(100).build().unwrap());
    let budget = ContextBudget::builder(100).estimation_safety_margin_percent(5.0);
    round_trip(&budget.build().unwrap());
}

#[test]
fn reasons_keep_their_fields_where_fields_go_by_position() {
    round_trip(&ExclusionReason::BudgetExceeded { item_tokens: 7, available_tokens: 2 });
    round_trip(&ExclusionReason::ScoredTooLow { score: f64::NEG_INFINITY, threshold: 0.5 });
    round_trip(&ExclusionReason::unknown("of another implementation"));
    round_trip(&InclusionReason::Pinned);
    round_trip(&InclusionReason::ZeroToken);
}

#[test]
fn reports_keep_their_fields_where_fields_go_by_position() {
    round_trip(&SelectionReport::default());
    let part = ScoreParts::new("Part", 0.5).note("a note");
    round_trip(&ScoreParts::new("Whole", f64::INFINITY).part(part));

    let items: Vec<ContextItem> =
        (0..6).map(|n| ContextItem::new(format!("item {n}"), 30).unwrap()).collect();
    let budget = ContextBudget::builder(100).build().unwrap();
    let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Item).explain_scores(true);
    Policy::chat().to_pipeline().run_traced(&items, &budget, &mut collector).unwrap();
    let mut report = collector.into_report();
    report.relevance = Some(Default::default());
    // A part in the middle that is left out, beside one behind it that is not.
    let details = report.excluded[0].details.as_mut().unwrap();
    details.part = Some("recalled".to_owned());
    let reread: SelectionReport =
        rmp_serde::from_slice(&rmp_serde::to_vec(&report).unwrap()).unwrap();
    assert_eq!(reread, report);
    round_trip::<IncludedItem>(&report.included[0]);
    round_trip::<ExcludedItem>(&report.excluded[0]);
}
