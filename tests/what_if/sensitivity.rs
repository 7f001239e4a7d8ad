//! Two or more policies over the same items.

use std::collections::BTreeMap;

use cupel::analytics::{ItemStatus, policy_sensitivity_from_pipelines};
use cupel::placer::UShapedPlacer;
use cupel::{
    ContextBudget, ContextItem, CupelError, GreedySlice, Policy, PriorityScorer, ReflexiveScorer,
    policy_sensitivity,
};
use proptest::prelude::*;

use crate::arbitrary::{any_policy, budget, items};

use ItemStatus::{Excluded, Included};

fn budget_of(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

fn by_hint() -> Policy {
    let policy = Policy::builder().scorer(ReflexiveScorer).slicer(GreedySlice);
    policy.placer(UShapedPlacer).build().unwrap()
}

fn by_priority() -> Policy {
    let policy = Policy::builder().scorer(PriorityScorer).slicer(GreedySlice);
    policy.placer(UShapedPlacer).build().unwrap()
}

fn item(text: &str, hint: f64, priority: i64) -> ContextItem {
    let item = ContextItem::builder(text, 10).future_relevance_hint(hint).priority(priority);
    item.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn exactly_the_contents_that_variants_disagree_on_are_listed(
        policies in prop::collection::vec(any_policy(), 2..4), items in items(), budget in budget(),
    ) {
        let labels = ["first", "second", "third"];
        let variants: Vec<(&str, &Policy)> = labels.into_iter().zip(&policies).collect();
        let runs: Result<Vec<_>, CupelError> =
            policies.iter().map(|policy| policy.dry_run(&items, &budget)).collect();
        let (report, runs) = match (policy_sensitivity(&items, &budget, &variants), runs) {
            (Ok(report), Ok(runs)) => (report, runs),
            (Err(error), Err(first)) => {
                prop_assert_eq!(error, first);
                return Ok(());
            }
            (report, runs) => return Err(TestCaseError::fail(format!("{report:?}, but {runs:?}"))),
        };

        prop_assert_eq!(report.variants.len(), policies.len());
        for (((label, selection), expected), run) in report.variants.iter().zip(labels).zip(&runs) {
            prop_assert_eq!(label, expected);
            prop_assert_eq!(&selection.included, &run.included);
            prop_assert_eq!(&selection.excluded, &run.excluded);
        }

        let mut first_seen = BTreeMap::new();
        for (position, item) in items.iter().enumerate() {
            first_seen.entry(item.content()).or_insert(position);
        }
        let mut expected = Vec::new();
        for (content, position) in first_seen {
            let status = |run: &cupel::SelectionReport| {
                let included = run.included.iter().any(|entry| entry.item.content() == content);
                if included { Included } else { Excluded }
            };
            let labels = labels.iter().map(ToString::to_string);
            let statuses: Vec<_> = labels.zip(runs.iter().map(status)).collect();
            if statuses.iter().any(|(_, status)| *status != statuses[0].1) {
                expected.push((position, content.to_owned(), statuses));
            }
        }
        // In the order in which the candidates came.
        expected.sort_by_key(|(position, ..)| *position);
        let diffs = report.diffs.iter();
        let diffs: Vec<_> = diffs.map(|d| (d.content.clone(), d.statuses.clone())).collect();
        let expected: Vec<_> = expected.into_iter().map(|(_, c, s)| (c, s)).collect();
        prop_assert_eq!(diffs, expected);

        let again = policy_sensitivity(&items, &budget, &variants).unwrap();
        prop_assert_eq!(again.diffs, report.diffs.clone());
        let pipelines: Vec<_> = policies.iter().map(Policy::to_pipeline).collect();
        let variants: Vec<_> = labels.into_iter().zip(&pipelines).collect();
        let by_pipelines = policy_sensitivity_from_pipelines(&items, &budget, &variants).unwrap();
        prop_assert_eq!(by_pipelines.diffs, report.diffs);
    }
}

#[test]
fn only_items_that_swing_are_listed_with_their_status_under_each_variant() {
    let items = [
        item("loved by hint", 0.9, 1),
        item("loved by all", 0.95, 9),
        item("loved by priority", 0.1, 8),
        item("loved by none", 0.05, 0),
    ];
    let (hint, priority) = (by_hint(), by_priority());
    let variants = [("hint", &hint), ("priority", &priority)];
    let report = policy_sensitivity(&items, &budget_of(20), &variants).unwrap();
    let diffs: Vec<_> = report
        .diffs
        .iter()
        .map(|diff| {
            let statuses: Vec<_> =
                diff.statuses.iter().map(|(label, status)| (label.as_str(), *status)).collect();
            (diff.content.as_str(), statuses)
        })
        .collect();
    assert_eq!(
        diffs,
        [
            ("loved by hint", vec![("hint", Included), ("priority", Excluded)]),
            ("loved by priority", vec![("hint", Excluded), ("priority", Included)]),
        ]
    );
}

#[test]
fn items_are_matched_by_content_not_by_identity() {
    // Each variant takes another of the two items, but the same text.
    let items = [item("text", 0.9, 1), item("text", 0.1, 9), item("other", 0.5, 5)];
    let (hint, priority) = (by_hint(), by_priority());
    let variants = [("hint", &hint), ("priority", &priority)];
    let report = policy_sensitivity(&items, &budget_of(10), &variants).unwrap();
    let taken: Vec<_> = report.variants.iter().map(|(_, run)| &run.included[0].item).collect();
    assert!(!ContextItem::same(taken[0], taken[1]));
    assert_eq!(report.diffs, []);
}

#[test]
fn fewer_than_two_variants_are_an_error() {
    let items = [item("a", 0.5, 1)];
    let policy = by_hint();
    let expected =
        CupelError::PipelineConfig("policy_sensitivity requires at least 2 variants".to_owned());
    let none: [(&str, &Policy); 0] = [];
    assert_eq!(policy_sensitivity(&items, &budget_of(10), &none).unwrap_err(), expected);
    let one = [("alone", &policy)];
    assert_eq!(policy_sensitivity(&items, &budget_of(10), &one).unwrap_err(), expected);
    assert_eq!(expected.to_string(), "policy_sensitivity requires at least 2 variants");
    let pipeline = policy.to_pipeline();
    let one = [("alone", &pipeline)];
    assert_eq!(
        policy_sensitivity_from_pipelines(&items, &budget_of(10), &one).unwrap_err(),
        expected
    );
}

#[test]
fn labels_may_be_owned_and_may_repeat() {
    let items = [item("a", 0.9, 1), item("b", 0.1, 9)];
    let (hint, priority) = (by_hint(), by_priority());
    let variants = [(String::from("same"), &hint), (String::from("same"), &priority)];
    let report = policy_sensitivity(&items, &budget_of(10), &variants).unwrap();
    assert_eq!(report.variants.len(), 2);
    assert_eq!(report.diffs.len(), 2);
}

#[test]
fn another_policy_is_tried_under_the_budget_that_is_given() {
    let items = [item("a", 0.9, 1), item("b", 0.1, 9)];
    let pipeline = by_hint().to_pipeline();
    let report = pipeline.dry_run_with_policy(&items, &budget_of(10), &by_priority()).unwrap();
    let expected = by_priority().dry_run(&items, &budget_of(10)).unwrap();
    assert_eq!(report.included, expected.included);
    assert_eq!(report.included[0].item.content(), "b");
}
