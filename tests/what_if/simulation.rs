//! Budget simulation against the specification's pseudocode, written out over `dry_run`.

use std::collections::HashMap;

use cupel::{ContextBudget, ContextItem, CupelError, Pipeline, Policy};
use proptest::prelude::*;

use crate::arbitrary::{any_policy, budget, count_policy, items, monotonic_policy};

/// FIND-MIN-BUDGET-FOR. A budget that does not hold the pinned items does not include the target.
fn find_min_by_the_book(
    pipeline: &Pipeline,
    items: &[ContextItem],
    target: &ContextItem,
    ceiling: i64,
) -> Result<Option<i64>, CupelError> {
    let includes = |tokens: i64| {
        let budget = ContextBudget::new(tokens, tokens, 0, HashMap::new(), 0.0)?;
        match pipeline.dry_run(items, &budget) {
            Ok(report) => {
                Ok(report.included.iter().any(|entry| ContextItem::same(&entry.item, target)))
            }
            Err(CupelError::PinnedExceedsBudget { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    };
    let (mut low, mut high) = (target.tokens(), ceiling);
    while high - low > 1 {
        let mid = low + (high - low) / 2;
        if includes(mid)? {
            high = mid;
        } else {
            low = mid;
        }
    }
    Ok(if includes(high)? { Some(high) } else { None })
}

/// GET-MARGINAL-ITEMS.
fn marginal_by_the_book(
    pipeline: &Pipeline,
    items: &[ContextItem],
    budget: &ContextBudget,
    slack: i64,
) -> Result<Vec<ContextItem>, CupelError> {
    let reduced = ContextBudget::new(
        budget.max_tokens() - slack,
        budget.target_tokens() - slack,
        budget.output_reserve(),
        budget.reserved_slots().clone(),
        budget.estimation_safety_margin_percent(),
    )?;
    let primary = pipeline.dry_run(items, budget)?;
    let margin = pipeline.dry_run(items, &reduced)?;
    let in_margin = |item: &ContextItem| {
        margin.included.iter().any(|entry| ContextItem::same(&entry.item, item))
    };
    let primary = primary.included.into_iter().map(|entry| entry.item);
    Ok(primary.filter(|item| !in_margin(item)).collect())
}

fn assert_marginal_by_the_book(
    policy: &Policy,
    items: &[ContextItem],
    budget: &ContextBudget,
    slack: i64,
) -> Result<(), TestCaseError> {
    let pipeline = policy.to_pipeline();
    let answer = pipeline.get_marginal_items(items, budget, slack);
    match (answer, marginal_by_the_book(&pipeline, items, budget, slack)) {
        (Ok(answer), Ok(expected)) => {
            prop_assert_eq!(answer.len(), expected.len());
            let mut pairs = answer.iter().zip(&expected);
            prop_assert!(
                pairs.all(|(a, b)| ContextItem::same(a, b)),
                "other items or another order"
            );
        }
        (answer, expected) => prop_assert!(
            answer.is_err() && expected.is_err(),
            "{answer:?} where the book says {expected:?}"
        ),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_smallest_budget_is_that_of_the_book(
        policy in monotonic_policy(), items in items(), target in any::<prop::sample::Index>(),
        above in 0_i64..900,
    ) {
        let pipeline = policy.to_pipeline();
        let target = target.get(&items);
        prop_assume!(target.tokens() >= 0);
        let ceiling = target.tokens() + above;
        prop_assert_eq!(
            pipeline.find_min_budget_for(&items, target, ceiling),
            find_min_by_the_book(&pipeline, &items, target, ceiling)
        );
    }

    #[test]
    fn the_marginal_items_are_those_of_the_book(
        policy in monotonic_policy(), items in items(), budget in budget(), slack in 0_i64..200,
    ) {
        assert_marginal_by_the_book(&policy, &items, &budget, slack)?;
    }

    #[test]
    fn count_quotas_have_marginal_items_too(
        policy in count_policy(), items in items(), budget in budget(), slack in 0_i64..200,
    ) {
        assert_marginal_by_the_book(&policy, &items, &budget, slack)?;
    }

    #[test]
    fn every_point_of_a_curve_is_what_a_dry_run_gives(
        policy in any_policy(), items in items(), budgets in prop::collection::vec(budget(), 0..6),
    ) {
        let pipeline = policy.to_pipeline();
        let curve = pipeline.budget_curve(&items, &budgets).unwrap();
        prop_assert_eq!(curve.len(), budgets.len());
        for (point, budget) in curve.iter().zip(&budgets) {
            prop_assert_eq!(&point.budget, budget);
            match pipeline.dry_run(&items, budget) {
                Ok(report) => {
                    prop_assert_eq!(&point.failure, &None);
                    let tokens: i64 = report.included.iter().map(|entry| entry.item.tokens()).sum();
                    prop_assert_eq!(point.tokens_used, tokens);
                    prop_assert_eq!(point.items_included, report.included.len());
                    let score: f64 = report.included.iter().map(|entry| entry.score).sum();
                    prop_assert!((point.total_score - score).abs() < 1e-9);
                }
                Err(error) => {
                    prop_assert_eq!(&point.failure, &Some(error));
                    let nothing = (0, 0, 0.0);
                    prop_assert_eq!(
                        (point.tokens_used, point.items_included, point.total_score),
                        nothing
                    );
                }
            }
        }
    }
}

fn hint(text: &str, tokens: i64, hint: f64) -> ContextItem {
    ContextItem::builder(text, tokens).future_relevance_hint(hint).build().unwrap()
}

#[test]
fn the_lower_bound_itself_is_tested_only_as_the_ceiling() {
    let items = [hint("only", 10, 0.9)];
    let pipeline = Policy::rag().to_pipeline();
    // The search ends with low = 10 and high = 11, and answers high.
    assert_eq!(pipeline.find_min_budget_for(&items, &items[0], 500), Ok(Some(11)));
    assert_eq!(pipeline.find_min_budget_for(&items, &items[0], 10), Ok(Some(10)));
}

#[test]
fn a_budget_below_the_pinned_items_does_not_hold_the_target() {
    let pinned = ContextItem::builder("rules", 100).pinned(true).build().unwrap();
    let items = [pinned, hint("wanted", 10, 0.9)];
    let pipeline = Policy::rag().to_pipeline();
    assert_eq!(pipeline.find_min_budget_for(&items, &items[1], 1_000), Ok(Some(110)));
    assert_eq!(pipeline.find_min_budget_for(&items, &items[1], 90), Ok(None));
    assert_eq!(pipeline.find_min_budget_for(&items, &items[0], 1_000), Ok(Some(101)));
}

#[test]
fn an_item_that_no_budget_can_hold_has_none() {
    let twin = hint("same text", 10, 0.1);
    let items = [hint("same text", 10, 0.9), twin, hint("negative", -5, 0.9)];
    let pipeline = Policy::rag().to_pipeline();
    assert_eq!(pipeline.find_min_budget_for(&items, &items[1], 1_000), Ok(None));
    assert_eq!(pipeline.find_min_budget_for(&items, &items[2], 1_000), Ok(None));
}

#[test]
fn marginal_items_keep_reserve_slots_and_margin() {
    let items = [hint("a", 40, 0.9), hint("b", 40, 0.8), hint("c", 40, 0.7)];
    let slots = HashMap::from([(cupel::ContextKind::document(), 20)]);
    // 200 - 60 - 20 = 120, less 10 % = 108: two items; 40 tokens less leave 72: one.
    let budget = ContextBudget::new(200, 200, 60, slots, 10.0).unwrap();
    let bought = Policy::rag().to_pipeline().get_marginal_items(&items, &budget, 40).unwrap();
    assert_eq!(bought.iter().map(ContextItem::content).collect::<Vec<_>>(), ["b"]);
}
