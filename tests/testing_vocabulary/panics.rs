//! The panicking forms: their text and the line they blame.

use std::cell::RefCell;
use std::panic::{self, UnwindSafe};
use std::sync::Once;

use cupel::testing::ReasonKind;
use cupel::{ContextBudget, SelectionReport};

use crate::reports::{duplicate, excluded, included, message, report, tool_output};

struct Panic {
    text: String,
    file: String,
    line: u32,
}

thread_local! {
    /// Message and line of the panic that this thread expects.
    static EXPECTED: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Runs `test` and returns the panic it ends with, which is not printed.
fn panic_of(test: impl FnOnce() + UnwindSafe) -> Panic {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let expected = EXPECTED.with_borrow_mut(|expected| {
                let location = info.location().unwrap();
                expected.as_mut().map(|at| *at = (location.file().to_owned(), location.line()))
            });
            if expected.is_none() {
                usual(info);
            }
        }));
    });
    EXPECTED.set(Some(Default::default()));
    let outcome = panic::catch_unwind(test);
    let (file, line) = EXPECTED.take().unwrap();
    let payload = outcome.expect_err("the assertion should panic");
    Panic { text: *payload.downcast::<String>().unwrap(), file, line }
}

/// Three messages with the best in the middle, and two duplicates in the wrong order.
fn failing_report() -> SelectionReport {
    let included = [0.1, 0.9, 0.2].map(|score| included(message(), score));
    report(included, [0.1, 0.9].map(|score| excluded("log", score, duplicate())))
}

/// Checks that the assertion panics at the line of this macro, with the text of its `try_` form.
macro_rules! panics_here {
    ($report:ident, $form:ident / $try_form:ident $arguments:tt) => {
        let panic = panic_of(|| {
            $report.should().$form $arguments;
        });
        assert_eq!((panic.file.as_str(), panic.line), (file!(), line!()));
        assert_eq!(panic.text, $report.should().$try_form $arguments.unwrap_err().to_string());
    };
}

#[test]
fn failed_assertions_about_the_selection_panic_at_the_users_line() {
    let report = failing_report();
    panics_here!(report, include_item_with_kind / try_include_item_with_kind(tool_output()));
    panics_here!(report, include_item_matching / try_include_item_matching(|_| false));
    panics_here!(
        report,
        include_exactly_n_items_with_kind / try_include_exactly_n_items_with_kind(message(), 1)
    );
    panics_here!(report, have_kind_coverage_count / try_have_kind_coverage_count(2));
    let budget = ContextBudget::builder(1_000).build().unwrap();
    panics_here!(
        report,
        have_budget_utilization_above / try_have_budget_utilization_above(0.9, &budget)
    );
}

#[test]
fn failed_assertions_about_exclusions_panic_at_the_users_line() {
    let report = failing_report();
    let reason = ReasonKind::Filtered;
    panics_here!(report, exclude_item_with_reason / try_exclude_item_with_reason(reason));
    panics_here!(
        report,
        exclude_item_matching_with_reason / try_exclude_item_matching_with_reason(|_| true, reason)
    );
    panics_here!(
        report,
        exclude_item_with_budget_details / try_exclude_item_with_budget_details(|_| true, 1, 2)
    );
    panics_here!(report, have_no_exclusions_for_kind / try_have_no_exclusions_for_kind(message()));
    panics_here!(report, have_at_least_n_exclusions / try_have_at_least_n_exclusions(3));
    panics_here!(
        report,
        excluded_items_are_sorted_by_score_descending
            / try_excluded_items_are_sorted_by_score_descending()
    );
}

#[test]
fn failed_assertions_about_places_panic_at_the_users_line() {
    let report = failing_report();
    panics_here!(report, place_item_at_edge / try_place_item_at_edge(|best| best.score == 0.9));
    panics_here!(report, place_top_n_scored_at_edges / try_place_top_n_scored_at_edges(1));
}

#[test]
fn a_chain_over_several_lines_blames_the_line_of_the_assertion_that_failed() {
    let report = failing_report();
    let first_line = line!() + 2;
    let panic = panic_of(|| {
        report
            .should()
            .include_item_with_kind(message())
            .have_at_least_n_exclusions(2)
            .have_at_least_n_exclusions(3)
            .have_at_least_n_exclusions(4);
    });
    assert_eq!((panic.file.as_str(), panic.line), (file!(), first_line + 4));
    assert_eq!(
        panic.text,
        "HaveAtLeastNExclusions(3) failed: expected at least 3 excluded items, \
         but Excluded had 2.",
    );
}
