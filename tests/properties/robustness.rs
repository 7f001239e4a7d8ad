//! Whatever comes in, a run ends with an answer or an error.

use std::sync::Arc;

use cupel::diagnostics::{DiagnosticTraceCollector, TraceDetailLevel};
use cupel::slicer::SliceResult;
use cupel::{ContextBudget, ContextItem, CupelError, Pipeline, Placer, ScoredItem, Scorer, Slicer};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::{
    RawHint, budget, config, count_same, items, pipeline_of, placer, scorer, slicer, sum_tokens,
    wild_items,
};

/// Answers with whatever it was told to.
#[derive(Debug, Clone)]
struct Stubborn(Vec<usize>);

impl Slicer for Stubborn {
    fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<SliceResult, CupelError> {
        Ok(SliceResult::from(self.0.clone()))
    }
}

impl Placer for Stubborn {
    fn place(&self, _: &[ScoredItem<'_>]) -> Vec<usize> {
        self.0.clone()
    }
}

fn is_subset(answer: &[usize], len: usize) -> bool {
    let mut sorted = answer.to_vec();
    sorted.sort_unstable();
    sorted.is_sorted_by(|a, b| a < b) && sorted.iter().all(|index| *index < len)
}

fn wild_scorer() -> impl Strategy<Value = Arc<dyn Scorer>> {
    prop_oneof![scorer(), Just(Arc::new(RawHint) as Arc<dyn Scorer>)]
}

/// Budgets up to the largest window there is; some of them small enough for a knapsack table.
fn wild_budget() -> impl Strategy<Value = ContextBudget> {
    prop_oneof![budget(i64::MAX), budget(1_000)]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_input_panics(
        pipeline in pipeline_of(wild_scorer(), slicer()),
        items in wild_items(),
        budget in wild_budget(),
    ) {
        let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Item);
        let run = pipeline.run_traced(&items, &budget, &mut collector);
        if let Ok(selected) = &run {
            for item in selected {
                prop_assert!(item.tokens() >= 0);
                prop_assert!(count_same(selected, item) <= count_same(&items, item));
            }
            let report = collector.into_report();
            prop_assert_eq!(report.total_candidates, items.len());
        }
        // The same answer with and without somebody who watches.
        prop_assert_eq!(run.map(|items| items.len()), pipeline.run(&items, &budget).map(|i| i.len()));
    }

    #[test]
    fn the_window_holds_at_any_size(
        pipeline in pipeline_of(wild_scorer(), crate::strategies::frugal_slicer()),
        items in wild_items(),
        budget in wild_budget(),
    ) {
        if let Ok(selected) = pipeline.run(&items, &budget) {
            let window = i128::from(budget.max_tokens() - budget.output_reserve());
            prop_assert!(sum_tokens(&selected) <= window);
        }
    }

    #[test]
    fn a_slicer_that_breaks_its_contract_is_an_error(
        items in items(), answer in vec(0_usize..12, 0..6),
    ) {
        let pipeline = Pipeline::builder()
            .scorer(RawHint)
            .slicer(Stubborn(answer.clone()))
            .placer(cupel::placer::UShapedPlacer)
            .deduplication(false)
            .overflow_strategy(cupel::OverflowStrategy::Proceed)
            .build()
            .unwrap();
        let items: Vec<ContextItem> =
            items.into_iter().filter(|item| item.tokens() >= 0 && !item.pinned()).collect();
        let budget = ContextBudget::builder(1_000).build().unwrap();
        let run = pipeline.run(&items, &budget);
        let broken = matches!(run, Err(CupelError::Contract { .. }));
        prop_assert_eq!(broken, !is_subset(&answer, items.len()));
        if !broken {
            prop_assert_eq!(run.unwrap().len(), answer.len());
        }
    }

    #[test]
    fn a_placer_that_breaks_its_contract_is_an_error(
        items in items(), answer in vec(0_usize..4, 0..4),
    ) {
        let pipeline = Pipeline::builder()
            .scorer(RawHint)
            .slicer(cupel::GreedySlice)
            .placer(Stubborn(answer.clone()))
            .deduplication(false)
            .build()
            .unwrap();
        let items: Vec<ContextItem> =
            items.into_iter().filter(|item| item.tokens() >= 0 && !item.pinned()).take(3).collect();
        let budget = ContextBudget::builder(1_000).build().unwrap();
        let run = pipeline.run(&items, &budget);
        let permutation = is_subset(&answer, items.len()) && answer.len() == items.len();
        prop_assert_eq!(run.is_ok(), permutation);
    }

    #[test]
    fn components_take_any_score(
        slicer in slicer(),
        placer in placer(),
        items in vec((crate::strategies::item_with(any::<i64>(), Just(0.0)),
                      crate::strategies::any_score()), 0..12),
        target in prop_oneof![0_i64..500, 0..=i64::MAX],
    ) {
        let scored: Vec<_> =
            items.iter().map(|(item, score)| ScoredItem::new(item, *score)).collect();
        let budget = ContextBudget::builder(target).build().unwrap();
        if let Ok(sliced) = slicer.slice(&scored, &budget) {
            prop_assert!(is_subset(&sliced.indices, items.len()));
        }
        prop_assert!(is_subset(&placer.place(&scored), items.len()));
    }
}

/// A sum beyond the largest number is beyond every window, also the largest one.
#[test]
fn pinned_items_beyond_the_largest_number_do_not_fit_the_largest_window() {
    let pinned = |text: &str| ContextItem::builder(text, i64::MAX).pinned(true).build().unwrap();
    let items = [pinned("a"), pinned("b")];
    let budget = ContextBudget::builder(i64::MAX).build().unwrap();
    let pipeline = Pipeline::builder()
        .scorer(RawHint)
        .slicer(cupel::GreedySlice)
        .placer(cupel::placer::UShapedPlacer)
        .overflow_strategy(cupel::OverflowStrategy::Proceed)
        .build()
        .unwrap();
    let run = pipeline.run(&items, &budget);
    assert!(matches!(run, Err(CupelError::PinnedExceedsBudget { .. })), "{run:?}");
}
