//! Order: placers permute, and among equals the input decides.

use std::sync::Arc;

use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer,
    ScoredItem, Slicer,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::{
    RawHint, any_score, at, config, hint, item_with, items, placer, plain_item, slicer,
};
use crate::support::slicers::{self, Row};
use crate::support::stages;

fn rows(items: &[(ContextItem, f64)]) -> Vec<Row> {
    let row = |(item, score): &(ContextItem, f64)| Row {
        tokens: item.tokens(),
        score: *score,
        kind: item.kind().as_str().to_lowercase(),
    };
    items.iter().map(row).collect()
}

/// Scores that are equal or a bit apart, where a sort on shortened keys would go wrong.
fn close_scores() -> impl Strategy<Value = f64> {
    prop_oneof![hint(), (0_u64..40).prop_map(|bits| f64::from_bits(0.5_f64.to_bits() + bits))]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_placer_answers_with_a_permutation(
        placer in placer(), items in vec((item_with(any::<i64>(), Just(0.0)), any_score()), 0..30),
    ) {
        let scored: Vec<_> =
            items.iter().map(|(item, score)| ScoredItem::new(item, *score)).collect();
        let mut order = placer.place(&scored);
        prop_assert_eq!(&order, &placer.place(&scored));
        order.sort_unstable();
        prop_assert!(order.into_iter().eq(0..items.len()));
    }

    #[test]
    fn placers_follow_the_text(
        items in vec((item_with(0_i64..9, Just(0.0)), close_scores()), 0..30),
    ) {
        let scored: Vec<_> =
            items.iter().map(|(item, score)| ScoredItem::new(item, *score)).collect();
        let scores: Vec<f64> = items.iter().map(|(_, score)| *score).collect();
        let place = |placer: &dyn cupel::Placer| placer.place(&scored);
        prop_assert_eq!(place(&cupel::placer::UShapedPlacer), stages::u_shaped(&scores));
        let seconds = |item: &ContextItem| item.timestamp().map(|time| time.timestamp());
        let seconds: Vec<_> = items.iter().map(|(item, _)| seconds(item)).collect();
        prop_assert_eq!(place(&ChronologicalPlacer), stages::chronological(&seconds));
    }

    #[test]
    fn greedy_follows_the_text(
        items in vec((plain_item(0_i64..6), close_scores()), 0..300), target in 0_i64..200,
    ) {
        let scored: Vec<_> =
            items.iter().map(|(item, score)| ScoredItem::new(item, *score)).collect();
        let budget = ContextBudget::builder(target).build().unwrap();
        let sliced = GreedySlice.slice(&scored, &budget).unwrap();
        prop_assert_eq!(sliced.indices, slicers::greedy(&rows(&items), target));
    }

    #[test]
    fn a_prepared_slicer_answers_as_an_unprepared_one(
        slicer in slicer(),
        items in vec((item_with(0_i64..20, Just(0.0)), close_scores()), 0..20),
        targets in vec(0_i64..150, 1..4),
    ) {
        let scored: Vec<_> =
            items.iter().map(|(item, score)| ScoredItem::new(item, *score)).collect();
        let prepared = slicer.prepare(&scored);
        for target in targets {
            let budget = ContextBudget::builder(target).build().unwrap();
            prop_assert_eq!(prepared(&budget), slicer.slice(&scored, &budget));
        }
    }

    #[test]
    fn the_input_order_decides_among_equals(count in 0_usize..200, target in 0_i64..100) {
        let item = |index: usize| {
            let item = ContextItem::builder(format!("{index}"), 2).future_relevance_hint(0.5);
            item.timestamp(at(0)).build().unwrap()
        };
        let items: Vec<ContextItem> = (0..count).map(item).collect();
        let pipeline = Pipeline::builder()
            .scorer(ReflexiveScorer)
            .slicer(GreedySlice)
            .placer(ChronologicalPlacer)
            .build()
            .unwrap();
        let budget = ContextBudget::builder(target).build().unwrap();
        let selected = pipeline.run(&items, &budget).unwrap();
        prop_assert_eq!(selected.len(), count.min(target as usize / 2));
        let same = |(a, b)| ContextItem::same(a, b);
        prop_assert!(selected.iter().zip(&items).all(same));
    }

    #[test]
    fn deduplication_keeps_the_best_and_then_the_first(items in items()) {
        let pipeline = Pipeline::builder()
            .scorer(Arc::new(RawHint))
            .slicer(GreedySlice)
            .placer(ChronologicalPlacer)
            .build()
            .unwrap();
        // Each item with a hint of its own to score by, and with room for all of them.
        let items: Vec<ContextItem> = items
            .iter()
            .filter(|item| item.tokens() >= 0)
            .map(|item| {
                let hint = item.future_relevance_hint().unwrap_or(0.25);
                item.to_builder().pinned(false).future_relevance_hint(hint).build().unwrap()
            })
            .collect();
        let budget = ContextBudget::builder(1_000_000).build().unwrap();
        let selected = pipeline.run(&items, &budget).unwrap();
        let contents: Vec<&str> = items.iter().map(ContextItem::content).collect();
        let scores: Vec<f64> =
            items.iter().map(|item| item.future_relevance_hint().unwrap()).collect();
        let survivors = stages::deduplicate(&contents, &scores);
        prop_assert_eq!(selected.len(), survivors.len());
        for survivor in survivors {
            let kept = |item: &ContextItem| ContextItem::same(item, &items[survivor]);
            prop_assert!(selected.iter().any(kept), "{:?}", items[survivor]);
        }
    }
}
