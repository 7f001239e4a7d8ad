//! Chaining, and failures as values.

use std::error::Error;
use std::ptr;

use cupel::diagnostics::InclusionReason;
use cupel::placer::UShapedPlacer;
use cupel::testing::{ReasonKind, SelectionReportAssertionError};
use cupel::{
    ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer,
    SelectionReport,
};

use crate::reports::{document, empty, message, tool_output, with_scores};

fn budget() -> ContextBudget {
    ContextBudget::builder(200).build().unwrap()
}

/// Selection of a pipeline from a pinned prompt, a question, its duplicate, and a log that is too
/// large.
fn selection() -> SelectionReport {
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .build()
        .unwrap();
    let item = |content: &'static str, tokens, kind, hint| {
        ContextItem::builder(content, tokens).kind(kind).future_relevance_hint(hint)
    };
    let items = [
        item("Be brief.", 20, ContextKind::system_prompt(), 0.1).pinned(true),
        item("What broke?", 100, message(), 0.9),
        item("What broke?", 100, message(), 0.3),
        item("a long log", 400, tool_output(), 0.5),
    ];
    let items = items.map(|item| item.build().unwrap());
    pipeline.dry_run(&items, &budget()).unwrap()
}

#[test]
fn all_thirteen_assertions_chain_over_the_report_of_a_pipeline() {
    selection()
        .should()
        .include_item_with_kind(message())
        .include_item_matching(|included| included.reason == InclusionReason::Pinned)
        .include_exactly_n_items_with_kind(message(), 1)
        .exclude_item_with_reason(ReasonKind::Deduplicated)
        .exclude_item_matching_with_reason(
            |item| item.kind() == "ToolOutput",
            ReasonKind::BudgetExceeded,
        )
        .exclude_item_with_budget_details(|item| item.content() == "a long log", 400, 80)
        .have_no_exclusions_for_kind(document())
        .have_at_least_n_exclusions(2)
        .excluded_items_are_sorted_by_score_descending()
        .have_budget_utilization_above(0.6, &budget())
        .have_kind_coverage_count(2)
        .place_item_at_edge(|included| included.item.pinned())
        .place_top_n_scored_at_edges(2);
}

#[test]
fn the_other_forms_chain_with_question_marks() {
    fn check(report: &SelectionReport) -> Result<(), SelectionReportAssertionError> {
        report
            .should()
            .try_include_item_with_kind(message())?
            .try_have_kind_coverage_count(9)?
            .try_have_at_least_n_exclusions(99)?;
        Ok(())
    }
    assert_eq!(check(&selection()).unwrap_err().assertion(), "HaveKindCoverageCount");
}

#[test]
fn a_chain_carries_the_report_it_began_with() {
    let report = with_scores([0.5]);
    let chain = report.should().have_at_least_n_exclusions(0).have_kind_coverage_count(1);
    assert!(ptr::eq(chain.report(), &report));
}

#[test]
fn a_failure_is_an_error_that_names_its_assertion() {
    let failure = empty().should().try_have_at_least_n_exclusions(1).unwrap_err();
    assert_eq!(failure.assertion(), "HaveAtLeastNExclusions");
    assert_eq!(failure.message(), failure.to_string());
    let error: Box<dyn Error + Send + Sync> = failure.clone().into();
    assert_eq!(*error.downcast::<SelectionReportAssertionError>().unwrap(), failure);
}

#[test]
fn messages_never_show_content() {
    let report = selection();
    let failures = [
        report.should().try_include_item_matching(|_| false),
        report.should().try_exclude_item_with_reason(ReasonKind::Filtered),
        report.should().try_exclude_item_with_budget_details(|_| true, 0, 0),
        report.should().try_have_no_exclusions_for_kind(message()),
        report.should().try_place_top_n_scored_at_edges(9),
    ];
    for failure in failures {
        let text = failure.unwrap_err().to_string();
        for content in ["Be brief.", "What broke?", "a long log"] {
            assert!(!text.contains(content), "{text}");
        }
    }
}
