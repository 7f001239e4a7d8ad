//! Small cases for what both implementations agree on, where the text leaves room.

use crate::items::Blueprint;
use crate::pipelines::{Overflow, PipelineCase};
use crate::slicers::Plan;

/// Stage 6 merges what Stage 5 returns, which shows when nothing has a timestamp.
#[test]
fn sliced_items_are_merged_in_the_order_of_the_slicer() {
    let items =
        vec![Blueprint::new(0, 10, 0.9), Blueprint::new(1, 1, 0.5), Blueprint::new(2, 0, 0.1)];
    let greedy = PipelineCase::plain(100, items);
    let knapsack = PipelineCase { slicer: Plan::Knapsack(1), ..greedy.clone() };
    // By density; and free items first, then the last candidate first.
    for case in [greedy, knapsack] {
        assert_eq!(case.ours().unwrap().ids(), [2, 1, 0]);
        assert_eq!(case.theirs().unwrap().ids(), [2, 1, 0]);
    }
}

/// "Pinned first, then sliced items in score-descending order": the weakest item goes, although
/// the slicer committed it before a stronger one.
#[test]
fn truncation_goes_by_score() {
    let tool = |item: Blueprint| Blueprint { kind: "ToolOutput", ..item };
    let items = vec![
        Blueprint::new(0, 10, 0.9),
        tool(Blueprint::new(1, 8, 0.8)),
        Blueprint::new(2, 8, 0.7),
    ];
    let case = PipelineCase {
        // Messages are committed first, then the tool's output.
        slicer: Plan::CountQuota(vec![("Message", 2, 2), ("ToolOutput", 1, 1)], false),
        overflow: Overflow::Truncate,
        ..PipelineCase::plain(20, items)
    };
    assert_eq!(case.ours().unwrap().ids(), [0, 1]);
    assert_eq!(case.theirs().unwrap().ids(), [0, 1]);
}

/// The prose of the report says 0.0 for both; Stage 6 places pinned items with 1.0.
#[test]
fn a_pinned_item_scores_one_and_a_free_one_keeps_its_score() {
    let items = vec![Blueprint::new(0, 5, 0.25).pinned(), Blueprint::new(1, 0, 0.75)];
    let case = PipelineCase::plain(10, items);
    let expected = [(0, 1.0, "Pinned".to_owned()), (1, 0.75, "ZeroToken".to_owned())];
    assert_eq!(case.ours().unwrap().included, expected);
    assert_eq!(case.theirs().unwrap().included, expected);
}

/// After the second item is dropped the third is kept, and both count: 15 - 10 - 2, not 15 - 10.
#[test]
fn truncation_reports_what_the_kept_items_leave() {
    let items =
        vec![Blueprint::new(0, 10, 0.9), Blueprint::new(1, 10, 0.8), Blueprint::new(2, 2, 0.7)];
    let case = PipelineCase {
        // Required items are taken whatever they cost: the one way to slice beyond the target.
        slicer: Plan::CountQuota(vec![("Message", 3, 3)], false),
        overflow: Overflow::Truncate,
        ..PipelineCase::plain(15, items)
    };
    let expected = [(1, 0.8, "BudgetExceeded 10 of 3".to_owned())];
    assert_eq!(case.ours().unwrap().excluded, expected);
    assert_eq!(case.theirs().unwrap().excluded, expected);
}

/// Required items that go beyond the target leave less than nothing.
#[test]
fn slicing_reports_a_negative_remainder() {
    let items = vec![Blueprint::new(0, 30, 0.9), Blueprint::new(1, 5, 0.8)];
    let case = PipelineCase {
        slicer: Plan::CountQuota(vec![("Message", 1, 2)], false),
        overflow: Overflow::Proceed,
        budget: (40, 20, 0), // beyond the target, not beyond the window
        ..PipelineCase::plain(20, items)
    };
    let expected = [(1, 0.8, "BudgetExceeded 5 of -10".to_owned())];
    assert_eq!(case.ours().unwrap().excluded, expected);
    assert_eq!(case.theirs().unwrap().excluded, expected);
}

/// An item that fits neither beside the pinned one nor without it is not the pinned one's victim.
#[test]
fn pinned_items_override_only_what_would_have_fitted() {
    for (tokens, reason) in [
        (6, "BudgetExceeded 6 of 0"),
        (7, "PinnedOverride by \"item 0\""),
        (10, "PinnedOverride by \"item 0\""),
        (11, "BudgetExceeded 11 of 0"),
    ] {
        let items = vec![
            Blueprint::new(0, 3, 0.0).pinned(),
            Blueprint::new(1, 1, 0.0).pinned(),
            // Six tokens are left, and this one takes them.
            Blueprint::new(2, 6, 1.0),
            Blueprint::new(3, tokens, 0.1),
        ];
        let case = PipelineCase::plain(10, items);
        let expected = [(3, 0.1, reason.to_owned())];
        assert_eq!(case.ours().unwrap().excluded, expected);
        assert_eq!(case.theirs().unwrap().excluded, expected);
    }
}
