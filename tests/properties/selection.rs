//! Properties of a selection: it is a part of the candidates, has the pinned ones, and fits the
//! budget.

use cupel::{
    ContextBudget, ContextItem, CupelError, GreedySlice, OverflowStrategy, ScoredItem, Slicer,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::{
    budget, config, count_same, frugal_slicer, items, pipeline, pipeline_of, plain_item, scorer,
    sum_tokens,
};

fn is_valid_pin(item: &ContextItem) -> bool {
    item.pinned() && item.tokens() >= 0
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_selection_names_candidates_and_none_too_often(
        pipeline in pipeline(), items in items(), budget in budget(150),
    ) {
        if let Ok(selected) = pipeline.run(&items, &budget) {
            for item in &selected {
                let (chosen, given) = (count_same(&selected, item), count_same(&items, item));
                prop_assert!(chosen <= given, "{item:?}: {chosen} times of {given}");
            }
        }
    }

    #[test]
    fn pinned_items_are_always_selected(
        pipeline in pipeline(), items in items(), budget in budget(150),
    ) {
        if let Ok(selected) = pipeline.run(&items, &budget) {
            for item in items.iter().filter(|item| is_valid_pin(item)) {
                prop_assert_eq!(count_same(&selected, item), count_same(&items, item));
            }
        }
    }

    #[test]
    fn a_selection_is_within_the_budget(
        pipeline in pipeline_of(scorer(), frugal_slicer()), items in items(), budget in budget(150),
    ) {
        let pinned = sum_tokens(items.iter().filter(|item| is_valid_pin(item)));
        let window = i128::from(budget.max_tokens() - budget.output_reserve());
        match pipeline.run(&items, &budget) {
            Ok(selected) => {
                let tokens = sum_tokens(&selected);
                let target = i128::from(budget.target_tokens());
                prop_assert!(tokens <= window);
                // Only pinned items may go beyond the target, and then nothing else costs a token.
                prop_assert!(tokens <= target.max(pinned), "{tokens} tokens, target {target}");
                if pipeline.overflow_strategy() == OverflowStrategy::Throw {
                    prop_assert!(tokens <= target);
                }
                let sliced = sum_tokens(selected.iter().filter(|item| !item.pinned()));
                let effective = budget.effective(pinned as i64);
                prop_assert!(sliced <= i128::from(effective.target_tokens()));
            }
            Err(CupelError::PinnedExceedsBudget { .. }) => prop_assert!(pinned > window),
            Err(CupelError::Overflow { merged_tokens, target_tokens }) => {
                prop_assert!(merged_tokens > target_tokens);
                prop_assert_eq!(pipeline.overflow_strategy(), OverflowStrategy::Throw);
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn the_same_run_gives_the_same_selection(
        pipeline in pipeline(), items in items(), budget in budget(150),
    ) {
        let contents = |items: &[ContextItem]| pipeline.run(items, &budget).map(|selected| {
            let position = |item: &ContextItem| {
                items.iter().position(|other| ContextItem::same(other, item))
            };
            selected.iter().map(position).collect::<Vec<_>>()
        });
        let first = contents(&items);
        prop_assert_eq!(&first, &contents(&items));
        // The same again in other memory: addresses and hash seeds of maps decide nothing.
        let mut copies: Vec<(&ContextItem, ContextItem)> = Vec::new();
        let mut again = Vec::new();
        for item in &items {
            let known = copies.iter().find(|(original, _)| ContextItem::same(original, item));
            let copy = known.map(|(_, copy)| copy.clone());
            let copy = copy.unwrap_or_else(|| item.to_builder().build().unwrap());
            again.push(copy.clone());
            copies.push((item, copy));
        }
        prop_assert_eq!(&first, &contents(&again));
    }

    #[test]
    fn a_larger_budget_never_gives_greedy_less_score(
        items in vec((plain_item(0_i64..12), 0.0..1.0_f64), 0..40),
        budgets in (0_i64..60, 0_i64..60),
    ) {
        let scored: Vec<_> =
            items.iter().map(|(item, score)| ScoredItem::new(item, *score)).collect();
        let total = |target: i64| {
            let budget = ContextBudget::builder(target).build().unwrap();
            let indices = GreedySlice.slice(&scored, &budget).unwrap().indices;
            indices.iter().map(|&index| scored[index].score()).sum::<f64>()
        };
        let (small, more) = budgets;
        prop_assert!(total(small) <= total(small + more) + 1e-9);
    }
}
