//! Random items, budgets and components.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cupel::placer::{AgePlacer, UShapedPlacer};
use cupel::scorer::{
    AgeScorer, CompositeScorer, DecayCurve, DecayScorer, FixedTimeProvider, FrequencyScorer,
    KindScorer, MetadataKeyScorer, MetadataTrustScorer, RecencyScorer, ScaledScorer, TagScorer,
};
use cupel::slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, FillSlice, KnapsackSlice,
    QuotaSet, QuotaSlice, ScarcityBehavior,
};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, ContextKind, GreedySlice, OverflowStrategy,
    Pipeline, Placer, PriorityScorer, ReflexiveScorer, Scorer, Slicer,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Failures are printed as a smallest case; no file remembers them.
pub(crate) fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

pub(crate) fn kind() -> impl Strategy<Value = ContextKind> {
    select(vec!["Message", "MESSAGE", "ToolOutput", "tooloutput", "Document", "Memory", "own"])
        .prop_map(|kind| ContextKind::new(kind).unwrap())
}

/// Sizes around and above what the counting of tag sets is built for.
fn tags() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(vec!["a", "A", "b", "c", "d", "e", "f", "g", "H", "h"]), 0..9)
}

fn metadata() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let trust = select(vec!["0.5", "1", "-3", "NaN", "inf", "words", "1e-3"]);
    let trust = trust.prop_map(|value| ("cupel:trust", value));
    let priority = select(vec!["high", "low"]).prop_map(|value| ("cupel:priority", value));
    vec(prop_oneof![trust, priority], 0..3)
}

/// An item with the given tokens and hint, and few distinct values in all other fields.
pub(crate) fn item_with(
    tokens: impl Strategy<Value = i64>,
    hint: impl Strategy<Value = f64>,
) -> impl Strategy<Value = ContextItem> {
    let times = (option::of(-2_i64..3), option::of(0_i64..4));
    let content = select(vec!["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]);
    let pinned = proptest::bool::weighted(0.15);
    let what = (content, tokens, kind(), tags(), metadata());
    (what, times, option::weighted(0.9, hint), pinned).prop_map(|(what, times, hint, pinned)| {
        let (content, tokens, kind, tags, metadata) = what;
        let mut builder = ContextItem::builder(content, tokens)
            .kind(kind)
            .tags(tags)
            .metadata(metadata)
            .pinned(pinned);
        if let Some(priority) = times.0 {
            builder = builder.priority(priority);
        }
        if let Some(hours) = times.1 {
            builder = builder.timestamp(at(hours * 3_600));
        }
        if let Some(hint) = hint {
            builder = builder.future_relevance_hint(hint);
        }
        builder.build().unwrap()
    })
}

/// An item of nothing but tokens, for long lists.
pub(crate) fn plain_item(tokens: impl Strategy<Value = i64>) -> impl Strategy<Value = ContextItem> {
    tokens.prop_map(|tokens| ContextItem::new("x", tokens).unwrap())
}

/// A relevance hint, often one of a few.
pub(crate) fn hint() -> impl Strategy<Value = f64> {
    prop_oneof![select(vec![0.0, 0.25, 0.5, 0.5, 1.0]), 0.0..1.0_f64]
}

/// Lists in which the same item may be named more than once.
fn with_repeats(
    items: impl Strategy<Value = Vec<ContextItem>>,
) -> impl Strategy<Value = Vec<ContextItem>> {
    (items, vec(any::<(Index, Index)>(), 0..3)).prop_map(|(mut items, repeats)| {
        for (from, to) in repeats {
            if !items.is_empty() {
                let again = from.get(&items).clone();
                items.insert(to.index(items.len()), again);
            }
        }
        items
    })
}

/// Everyday items, a few of them invalid.
pub(crate) fn items() -> impl Strategy<Value = Vec<ContextItem>> {
    let tokens = prop_oneof![9 => 0_i64..30, 1 => -3_i64..0];
    let short = vec(item_with(tokens, hint()), 0..14);
    // Long lists reach the paths that sort no more than they need.
    let long = vec(item_with(0_i64..4, hint()), 80..160);
    with_repeats(prop_oneof![19 => short.boxed(), 1 => long.boxed()])
}

/// Items with any token count and any hint there is.
pub(crate) fn wild_items() -> impl Strategy<Value = Vec<ContextItem>> {
    let tokens = prop_oneof![
        any::<i64>(),
        select(vec![i64::MIN, -1, 0, 1, i64::MAX - 1, i64::MAX]),
        0_i64..100,
    ];
    with_repeats(vec(item_with(tokens, any_score()), 0..10))
}

/// Any float, with infinities and NaN among them.
pub(crate) fn any_score() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::num::f64::ANY,
        select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX, f64::MIN]),
        0.0..1.0_f64,
    ]
}

/// A budget of at most `most` tokens, with every field in use.
pub(crate) fn budget(most: i64) -> impl Strategy<Value = ContextBudget> {
    let slots = proptest::collection::hash_map(kind(), 0..most / 20 + 1, 0..3);
    let margin = prop_oneof![3 => Just(0.0), 1 => 0.0..=100.0_f64];
    let max = prop_oneof![4 => 0..=most, 1 => Just(most)];
    (max, 0.0..=1.0_f64, 0.0..=0.5_f64, slots, margin).prop_map(
        |(max, target, reserve, slots, margin)| {
            let part = |share: f64| ((max as f64 * share) as i64).clamp(0, max);
            let slots: HashMap<ContextKind, i64> = slots.into_iter().collect();
            ContextBudget::new(max, part(target), part(reserve), slots, margin).unwrap()
        },
    )
}

/// The hint as the score, whatever it is: what a scorer of the user's might do.
#[derive(Debug)]
pub(crate) struct RawHint;

impl Scorer for RawHint {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        item.future_relevance_hint().unwrap_or(f64::NAN)
    }
}

fn leaf_scorer() -> impl Strategy<Value = Arc<dyn Scorer>> {
    let clock = FixedTimeProvider::new(at(7_200));
    let decay = |curve: Result<DecayCurve, _>| DecayScorer::new(clock, curve.unwrap());
    let hours = |hours: u64| Duration::from_secs(hours * 3_600);
    let steps = vec![(hours(1), 0.9), (hours(2), 0.4)];
    let all: Vec<Arc<dyn Scorer>> = vec![
        Arc::new(RecencyScorer),
        Arc::new(PriorityScorer),
        Arc::new(KindScorer::default()),
        Arc::new(KindScorer::new([(ContextKind::message(), 2.5)]).unwrap()),
        Arc::new(TagScorer::new([("a", 1.0), ("A", 0.5), ("f", 0.3)]).unwrap()),
        Arc::new(TagScorer::case_insensitive([("a", 1.0), ("H", 0.1)]).unwrap()),
        Arc::new(FrequencyScorer),
        Arc::new(ReflexiveScorer),
        Arc::new(MetadataTrustScorer::new(0.3).unwrap()),
        Arc::new(MetadataKeyScorer::new("cupel:priority", "high", 1.5).unwrap()),
        Arc::new(decay(DecayCurve::exponential(hours(1)))),
        Arc::new(decay(DecayCurve::step(steps)).null_timestamp_score(0.1).unwrap()),
        Arc::new(decay(DecayCurve::window(hours(1)))),
    ];
    select(all)
}

/// Every scorer, alone, scaled, and in composites of composites.
pub(crate) fn scorer() -> impl Strategy<Value = Arc<dyn Scorer>> {
    leaf_scorer().prop_recursive(3, 12, 3, |inner| {
        let scaled = inner
            .clone()
            .prop_map(|inner| -> Arc<dyn Scorer> { Arc::new(ScaledScorer::new(inner).unwrap()) });
        let composite = vec((inner, 0.1..3.0_f64), 1..4).prop_map(|children| -> Arc<dyn Scorer> {
            Arc::new(CompositeScorer::new(children).unwrap())
        });
        prop_oneof![scaled, composite]
    })
}

pub(crate) fn quota_set() -> impl Strategy<Value = QuotaSet> {
    let share = (0.0..=33.0_f64, 0.0..=1.0_f64);
    vec((kind(), share), 0..4).prop_map(|shares| {
        let mut builder = QuotaSet::builder();
        for (kind, (require, above)) in shares {
            let cap = require + (100.0 - require) * above;
            builder = builder.require(kind.clone(), require).cap(kind, cap.min(100.0));
        }
        builder.build().unwrap()
    })
}

pub(crate) fn count_entries() -> impl Strategy<Value = Vec<CountQuotaEntry>> {
    vec((kind(), 0_usize..3, 0_usize..3), 0..4).prop_map(|entries| {
        let mut unique: Vec<CountQuotaEntry> = Vec::new();
        for (kind, require, above) in entries {
            if unique.iter().all(|entry| *entry.kind() != kind) {
                unique.push(CountQuotaEntry::new(kind, require, require + above).unwrap());
            }
        }
        unique
    })
}

/// Slicers that keep to the target.
pub(crate) fn frugal_slicer() -> impl Strategy<Value = Arc<dyn Slicer>> {
    let simple = || {
        let all: Vec<Arc<dyn Slicer>> = vec![
            Arc::new(GreedySlice),
            Arc::new(KnapsackSlice::new(1).unwrap()),
            Arc::new(KnapsackSlice::new(7).unwrap()),
        ];
        select(all)
    };
    let quota = (quota_set(), simple())
        .prop_map(|(set, inner)| -> Arc<dyn Slicer> { Arc::new(QuotaSlice::new(set, inner)) })
        .boxed();
    let filled =
        quota.clone().prop_map(|quota| -> Arc<dyn Slicer> { Arc::new(FillSlice::new(quota)) });
    prop_oneof![simple(), quota, filled]
}

/// Every slicer, also those that take required items whatever they cost.
pub(crate) fn slicer() -> impl Strategy<Value = Arc<dyn Slicer>> {
    let count_quota =
        (count_entries(), any::<bool>()).prop_map(|(entries, within)| -> Arc<dyn Slicer> {
            let degrade = ScarcityBehavior::Degrade;
            let slicer = CountQuotaSlice::new(entries, GreedySlice, degrade).unwrap();
            Arc::new(slicer.within_budget(within))
        });
    let count_knapsack = count_entries().prop_map(|entries| -> Arc<dyn Slicer> {
        let knapsack = KnapsackSlice::new(3).unwrap();
        let degrade = ScarcityBehavior::Degrade;
        Arc::new(CountConstrainedKnapsackSlice::new(entries, knapsack, degrade).unwrap())
    });
    prop_oneof![4 => frugal_slicer(), 1 => count_quota, 1 => count_knapsack]
}

pub(crate) fn placer() -> impl Strategy<Value = Arc<dyn Placer>> {
    let all: Vec<Arc<dyn Placer>> =
        vec![Arc::new(AgePlacer), Arc::new(ChronologicalPlacer), Arc::new(UShapedPlacer)];
    select(all)
}

pub(crate) fn strategy() -> impl Strategy<Value = OverflowStrategy> {
    select(vec![OverflowStrategy::Throw, OverflowStrategy::Truncate, OverflowStrategy::Proceed])
}

/// A pipeline of the given scorer and slicer, and any placer and flags.
pub(crate) fn pipeline_of(
    scorer: impl Strategy<Value = Arc<dyn Scorer>>,
    slicer: impl Strategy<Value = Arc<dyn Slicer>>,
) -> impl Strategy<Value = Pipeline> {
    (scorer, slicer, placer(), strategy(), any::<bool>()).prop_map(
        |(scorer, slicer, placer, strategy, deduplication)| {
            Pipeline::builder()
                .scorer(scorer)
                .slicer(slicer)
                .placer(placer)
                .overflow_strategy(strategy)
                .deduplication(deduplication)
                .build()
                .unwrap()
        },
    )
}

pub(crate) fn pipeline() -> impl Strategy<Value = Pipeline> {
    pipeline_of(prop_oneof![9 => scorer().boxed(), 1 => age_scorer().boxed()], slicer())
}

/// The one scorer for which the order of the list matters, alone and with others.
pub(crate) fn age_scorer() -> impl Strategy<Value = Arc<dyn Scorer>> {
    option::of(scorer()).prop_map(|other| -> Arc<dyn Scorer> {
        match other {
            None => Arc::new(AgeScorer),
            Some(other) => {
                let age: Arc<dyn Scorer> = Arc::new(AgeScorer);
                Arc::new(CompositeScorer::new(vec![(age, 2.0), (other, 1.0)]).unwrap())
            }
        }
    })
}

/// Counts an item in a list, by identity.
pub(crate) fn count_same<'a>(
    items: impl IntoIterator<Item = &'a ContextItem>,
    item: &ContextItem,
) -> usize {
    items.into_iter().filter(|other| ContextItem::same(other, item)).count()
}

/// The tokens of some items, in a type that cannot overflow.
pub(crate) fn sum_tokens<'a>(items: impl IntoIterator<Item = &'a ContextItem>) -> i128 {
    items.into_iter().map(|item| i128::from(item.tokens())).sum()
}
