//! Random items, budgets and policies.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::DateTime;
use cupel::placer::UShapedPlacer;
use cupel::scorer::{CompositeScorer, KindScorer, RecencyScorer};
use cupel::slicer::{
    CountQuotaEntry, CountQuotaSlice, KnapsackSlice, QuotaSet, QuotaSlice, ScarcityBehavior,
};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, ContextKind, GreedySlice, OverflowStrategy,
    Placer, Policy, ReflexiveScorer, Scorer, Slicer,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn kind() -> impl Strategy<Value = ContextKind> {
    prop_oneof![
        Just(ContextKind::message()),
        Just(ContextKind::document()),
        Just(ContextKind::tool_output()),
    ]
}

fn item() -> impl Strategy<Value = ContextItem> {
    let tokens = prop_oneof![1 => Just(-1), 1 => Just(0), 8 => 1_i64..60];
    let pinned = prop::bool::weighted(0.1);
    // Few contents, so that some come twice; few hints, so that some scores tie.
    let hint = option::of((0_u8..=4).prop_map(|hint| f64::from(hint) / 4.0));
    (0_u8..20, tokens, kind(), hint, option::of(0_i64..50), pinned).prop_map(
        |(name, tokens, kind, hint, time, pinned)| {
            let mut item =
                ContextItem::builder(format!("item {name}"), tokens).kind(kind).pinned(pinned);
            if let Some(hint) = hint {
                item = item.future_relevance_hint(hint);
            }
            if let Some(secs) = time {
                item = item.timestamp(DateTime::from_timestamp(secs, 0).unwrap());
            }
            item.build().unwrap()
        },
    )
}

pub(crate) fn items() -> impl Strategy<Value = Vec<ContextItem>> {
    vec(item(), 1..25)
}

/// Budgets with a target below the maximum, a reserve, reserved slots and a margin.
pub(crate) fn budget() -> impl Strategy<Value = ContextBudget> {
    let slots = option::of(0_i64..40);
    let margin = prop_oneof![Just(0.0), 0.0..30.0_f64];
    (0_i64..700, 0.0..=1.0_f64, 0.0..=0.5_f64, slots, margin).prop_map(
        |(max, target, reserve, slots, margin)| {
            let part = |share: f64| (share * max as f64) as i64;
            let slots: HashMap<ContextKind, i64> =
                slots.into_iter().map(|tokens| (ContextKind::document(), tokens)).collect();
            ContextBudget::new(max, part(target), part(reserve), slots, margin).unwrap()
        },
    )
}

fn scorer() -> impl Strategy<Value = Arc<dyn Scorer>> {
    (0..3).prop_map(|number| -> Arc<dyn Scorer> {
        match number {
            0 => Arc::new(ReflexiveScorer),
            1 => Arc::new(RecencyScorer),
            _ => {
                let parts = CompositeScorer::builder().add(ReflexiveScorer, 2.0);
                Arc::new(parts.add(KindScorer::default(), 1.0).build().unwrap())
            }
        }
    })
}

/// Slicers of which a larger budget only adds items, by their own account.
fn monotonic() -> impl Strategy<Value = Arc<dyn Slicer>> {
    prop_oneof![Just(None), (1_i64..40).prop_map(Some)].prop_map(|bucket| -> Arc<dyn Slicer> {
        match bucket {
            None => Arc::new(GreedySlice),
            Some(bucket) => Arc::new(KnapsackSlice::new(bucket).unwrap()),
        }
    })
}

pub(crate) fn count_quota() -> CountQuotaSlice {
    let entry = CountQuotaEntry::new(ContextKind::document(), 1, 3).unwrap();
    CountQuotaSlice::new(vec![entry], GreedySlice, ScarcityBehavior::Degrade).unwrap()
}

pub(crate) fn quota() -> QuotaSlice {
    let quotas = QuotaSet::builder().require(ContextKind::document(), 30.0);
    QuotaSlice::new(quotas.cap(ContextKind::message(), 50.0).build().unwrap(), GreedySlice)
}

fn any_slicer() -> impl Strategy<Value = Arc<dyn Slicer>> {
    prop_oneof![
        monotonic(),
        Just(()).prop_map(|()| -> Arc<dyn Slicer> { Arc::new(count_quota()) }),
        Just(()).prop_map(|()| -> Arc<dyn Slicer> { Arc::new(quota()) }),
    ]
}

fn placer() -> impl Strategy<Value = Arc<dyn Placer>> {
    any::<bool>().prop_map(|by_time| -> Arc<dyn Placer> {
        if by_time { Arc::new(ChronologicalPlacer) } else { Arc::new(UShapedPlacer) }
    })
}

fn with_slicer(slicer: impl Strategy<Value = Arc<dyn Slicer>>) -> impl Strategy<Value = Policy> {
    let overflow = prop_oneof![
        Just(OverflowStrategy::Throw),
        Just(OverflowStrategy::Truncate),
        Just(OverflowStrategy::Proceed),
    ];
    (scorer(), slicer, placer(), overflow, any::<bool>()).prop_map(
        |(scorer, slicer, placer, overflow, deduplication)| {
            Policy::builder()
                .scorer(scorer)
                .slicer(slicer)
                .placer(placer)
                .overflow_strategy(overflow)
                .deduplication(deduplication)
                .build()
                .unwrap()
        },
    )
}

/// Policies that budget simulation accepts.
pub(crate) fn monotonic_policy() -> impl Strategy<Value = Policy> {
    with_slicer(monotonic())
}

/// Policies that only know how many of a kind they want.
pub(crate) fn count_policy() -> impl Strategy<Value = Policy> {
    with_slicer(Just(()).prop_map(|()| -> Arc<dyn Slicer> { Arc::new(count_quota()) }))
}

pub(crate) fn any_policy() -> impl Strategy<Value = Policy> {
    with_slicer(any_slicer())
}
