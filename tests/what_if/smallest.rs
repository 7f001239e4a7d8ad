//! The smallest budget for an item, beside trying every budget there is.

use cupel::placer::UShapedPlacer;
use cupel::slicer::{
    CountQuotaEntry, CountQuotaSlice, FillSlice, KnapsackSlice, QuotaSet, QuotaSlice,
    ScarcityBehavior,
};
use cupel::{
    ContextBudget, ContextItem, ContextKind, CupelError, GreedySlice, OverflowStrategy, Pipeline,
    ReflexiveScorer, Slicer,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn pipeline(slicer: impl Slicer + 'static) -> Pipeline {
    Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(slicer)
        .placer(UShapedPlacer)
        .overflow_strategy(OverflowStrategy::Throw)
        .build()
        .unwrap()
}

fn item(content: &str, tokens: i64, hint: f64) -> ContextItem {
    ContextItem::builder(content, tokens).future_relevance_hint(hint).build().unwrap()
}

/// Dry runs of one budget after another.
fn by_trying(
    pipeline: &Pipeline,
    items: &[ContextItem],
    target: &ContextItem,
    ceiling: i64,
) -> Option<i64> {
    (0..=ceiling).find(|&tokens| {
        let budget = ContextBudget::builder(tokens).build().unwrap();
        let report = pipeline.dry_run(items, &budget);
        report.is_ok_and(|report| {
            report.included.iter().any(|included| ContextItem::same(&included.item, target))
        })
    })
}

#[test]
fn a_lone_item_needs_its_own_tokens() {
    let items = [item("alone", 40, 0.5)];
    let pipeline = pipeline(GreedySlice);
    assert_eq!(pipeline.smallest_budget_for(&items, &items[0], 1_000).unwrap(), Some(40));
    // The specification's search never tries its lower bound.
    assert_eq!(pipeline.find_min_budget_for(&items, &items[0], 1_000).unwrap(), Some(41));
}

#[test]
fn in_at_five_out_at_ten_in_at_fifteen() {
    let items = [item("a", 10, 1.0), item("b", 5, 0.2)];
    let pipeline = pipeline(GreedySlice);
    let selects_b = |tokens: i64| {
        let budget = ContextBudget::builder(tokens).build().unwrap();
        let selected = pipeline.run(&items, &budget).unwrap();
        selected.iter().any(|item| item.content() == "b")
    };
    assert_eq!([5, 10, 15].map(selects_b), [true, false, true]);
    assert_eq!(pipeline.smallest_budget_for(&items, &items[1], 100).unwrap(), Some(5));
    assert_eq!(pipeline.smallest_budget_for(&items, &items[1], 5).unwrap(), Some(5));
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let items = [item("a", 10, 1.0)];
    let pipeline = pipeline(GreedySlice);
    let stranger = item("a", 10, 1.0);
    for (target, ceiling) in [(&stranger, 100), (&items[0], 9)] {
        let error = pipeline.smallest_budget_for(&items, target, ceiling).unwrap_err();
        assert!(matches!(error, CupelError::PipelineConfig(_)), "{error}");
    }
    let negative = [item("n", -1, 1.0)];
    assert_eq!(pipeline.smallest_budget_for(&negative, &negative[0], 100).unwrap(), None);
}

/// Items of a few sizes, kinds and scores, some pinned, some with equal content.
fn items() -> impl Strategy<Value = Vec<ContextItem>> {
    let item = (0_u8..8, -1_i64..14, 0_u8..5, 0_usize..3, proptest::bool::weighted(0.1));
    vec(item, 1..9).prop_map(|items| {
        let kinds = [ContextKind::message(), ContextKind::document(), ContextKind::tool_output()];
        let build = |(content, tokens, quarters, kind, pinned): (u8, i64, u8, usize, bool)| {
            ContextItem::builder(format!("text {content}"), tokens)
                .kind(kinds[kind].clone())
                .future_relevance_hint(f64::from(quarters) / 4.0)
                .pinned(pinned)
                .build()
                .unwrap()
        };
        items.into_iter().map(build).collect()
    })
}

/// Slicers of every sort: those that are computed, and those that are tried.
fn slicers() -> Vec<Box<dyn Slicer>> {
    let quotas = || QuotaSet::builder().require(ContextKind::document(), 40.0).build().unwrap();
    let entries = || vec![CountQuotaEntry::new(ContextKind::tool_output(), 1, 2).unwrap()];
    let count = |scarcity| CountQuotaSlice::new(entries(), GreedySlice, scarcity).unwrap();
    vec![
        Box::new(GreedySlice),
        Box::new(KnapsackSlice::new(1).unwrap()),
        Box::new(KnapsackSlice::new(4).unwrap()),
        Box::new(QuotaSlice::new(quotas(), GreedySlice)),
        Box::new(FillSlice::new(QuotaSlice::new(quotas(), GreedySlice))),
        Box::new(count(ScarcityBehavior::Degrade)),
        Box::new(count(ScarcityBehavior::Throw).within_budget(true)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_is_what_trying_every_budget_finds(
        items in items(), position in any::<prop::sample::Index>(), ceiling in 14_i64..90,
    ) {
        let target = position.get(&items);
        for slicer in slicers() {
            let name = slicer.name().to_owned();
            let pipeline = pipeline(slicer);
            let found = pipeline.smallest_budget_for(&items, target, ceiling).unwrap();
            prop_assert_eq!(found, by_trying(&pipeline, &items, target, ceiling), "{}", name);
        }
    }
}
