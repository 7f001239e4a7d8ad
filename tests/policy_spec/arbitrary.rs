//! Random valid specs and random items.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::DateTime;
use cupel::policy::spec::{
    CountQuotaSpec, DecayCurveSpec, DecayWindowSpec, KindQuotaSpec, NestedSpec, PlacerSpec,
    ScorerSpec, SlicerSpec, WeightedScorer,
};
use cupel::slicer::ScarcityBehavior;
use cupel::{ContextItem, ContextKind, OverflowStrategy, PolicySpec};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Numbers above zero of every size, most of them with a long tail of digits.
fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(3.0), 1e-9..1e9_f64, 1e-300..1e300_f64]
}

fn not_negative() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), positive()]
}

/// Texts, among them what YAML and TOML read as something else unless it is quoted.
fn text() -> impl Strategy<Value = String> {
    let words = [
        "true",
        "null",
        "~",
        "1.5",
        "no",
        "2020-01-01",
        "a: b",
        "- x",
        "#",
        "\"'",
        "\n",
        "é \u{7f}",
    ];
    prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), "\\PC{1,12}"]
}

pub(crate) fn kind() -> impl Strategy<Value = ContextKind> {
    let known = [
        ContextKind::message(),
        ContextKind::document(),
        ContextKind::tool_output(),
        ContextKind::memory(),
    ];
    let own = text().prop_filter_map("a kind is not blank", |text| ContextKind::new(text).ok());
    prop_oneof![3 => proptest::sample::select(known.to_vec()), 1 => own]
}

fn age() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1_u64..1 << 40).prop_map(Duration::from_secs),
        (1_u64..1 << 40).prop_map(Duration::from_millis),
    ]
}

fn curve() -> impl Strategy<Value = DecayCurveSpec> {
    let windows = vec((age(), 0.0..=1.0_f64), 1..4).prop_map(|steps| {
        let mut previous = Duration::ZERO;
        let window = |(age, score)| {
            previous += age;
            DecayWindowSpec { max_age: previous, score }
        };
        steps.into_iter().map(window).collect()
    });
    prop_oneof![
        age().prop_map(|half_life| DecayCurveSpec::Exponential { half_life }),
        windows.prop_map(|windows| DecayCurveSpec::Step { windows }),
        age().prop_map(|max_age| DecayCurveSpec::Window { max_age }),
    ]
}

fn tags() -> impl Strategy<Value = ScorerSpec> {
    (btree_map(text(), not_negative(), 0..5), any::<bool>()).prop_map(
        |(mut weights, ignore_case)| {
            if ignore_case {
                let folded: BTreeMap<String, String> =
                    weights.keys().map(|tag| (tag.to_ascii_lowercase(), tag.clone())).collect();
                weights.retain(|tag, _| folded[&tag.to_ascii_lowercase()] == *tag);
            }
            ScorerSpec::Tag { weights, ignore_case }
        },
    )
}

fn scorer() -> impl Strategy<Value = ScorerSpec> {
    let leaf = prop_oneof![
        Just(ScorerSpec::Recency),
        Just(ScorerSpec::Age),
        Just(ScorerSpec::Priority),
        Just(ScorerSpec::Frequency),
        Just(ScorerSpec::Reflexive),
        Just(ScorerSpec::default_kinds()),
        btree_map(kind(), not_negative(), 0..5).prop_map(|weights| ScorerSpec::Kind { weights }),
        tags(),
        (0.0..=1.0_f64).prop_map(|default_score| ScorerSpec::MetadataTrust { default_score }),
        (text(), text(), positive()).prop_map(|(key, value, boost)| ScorerSpec::MetadataKey {
            key,
            value,
            boost
        }),
        (curve(), 0.0..=1.0_f64).prop_map(|(curve, null_timestamp_score)| ScorerSpec::Decay {
            curve,
            null_timestamp_score
        }),
        Just(ScorerSpec::Custom { name: "brevity".to_owned() }),
        Just(ScorerSpec::Custom { name: "newest first".to_owned() }),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let part = (inner.clone(), positive())
            .prop_map(|(scorer, weight)| WeightedScorer::new(scorer, weight));
        prop_oneof![
            inner.prop_map(|scorer| ScorerSpec::Scaled { scorer: scorer.into() }),
            vec(part, 1..4).prop_map(|scorers| ScorerSpec::Composite { scorers }),
        ]
    })
}

/// Keeps the first entry of every kind.
fn one_a_kind<T>(entries: Vec<T>, kind: impl Fn(&T) -> ContextKind) -> Vec<T> {
    let mut seen = std::collections::BTreeSet::new();
    entries.into_iter().filter(|entry| seen.insert(kind(entry))).collect()
}

fn counts() -> impl Strategy<Value = Vec<CountQuotaSpec>> {
    let entry = (kind(), 0_usize..4, prop_oneof![Just(CountQuotaSpec::NO_CAP), 4_usize..9]);
    vec(entry, 0..4).prop_map(|entries| {
        let entry =
            |(kind, require_count, cap_count)| CountQuotaSpec { kind, require_count, cap_count };
        one_a_kind(entries.into_iter().map(entry).collect(), |entry| entry.kind.clone())
    })
}

fn quotas() -> impl Strategy<Value = Vec<KindQuotaSpec>> {
    vec((kind(), 0.0..25.0_f64, 25.0..=100.0_f64), 0..4).prop_map(|quotas| {
        let quota = |(kind, require, cap)| KindQuotaSpec { kind, require, cap };
        one_a_kind(quotas.into_iter().map(quota).collect(), |quota| quota.kind.clone())
    })
}

fn slicer() -> impl Strategy<Value = SlicerSpec> {
    let scarcity = || Just(ScarcityBehavior::Degrade);
    let leaf = prop_oneof![
        Just(SlicerSpec::Greedy),
        Just(SlicerSpec::BestFirst),
        (1_i64..200, any::<bool>()).prop_map(|(bucket_size, widen_buckets)| {
            SlicerSpec::Knapsack { bucket_size, widen_buckets }
        }),
        (counts(), scarcity(), 1_i64..200, any::<(bool, bool)>()).prop_map(
            |(entries, scarcity, bucket_size, (within_budget, widen_buckets))| {
                SlicerSpec::CountConstrainedKnapsack {
                    entries,
                    scarcity,
                    within_budget,
                    bucket_size,
                    widen_buckets,
                }
            }
        ),
    ];
    leaf.prop_recursive(2, 4, 1, move |inner| {
        let inner = inner.prop_map(NestedSpec::from);
        let no_knapsack = inner.clone().prop_map(|inner| match *inner {
            SlicerSpec::Knapsack { .. } => SlicerSpec::Greedy.into(),
            _ => inner,
        });
        prop_oneof![
            (quotas(), inner.clone())
                .prop_map(|(quotas, inner)| SlicerSpec::Quota { quotas, inner }),
            inner.prop_map(|inner| SlicerSpec::Fill { inner }),
            (counts(), scarcity(), any::<bool>(), no_knapsack).prop_map(
                |(entries, scarcity, within_budget, inner)| {
                    SlicerSpec::CountQuota { entries, scarcity, within_budget, inner }
                }
            ),
        ]
    })
}

pub(crate) fn spec() -> impl Strategy<Value = PolicySpec> {
    let placer = prop_oneof![
        Just(PlacerSpec::Age),
        Just(PlacerSpec::Chronological),
        Just(PlacerSpec::UShaped),
    ];
    let overflow = prop_oneof![
        Just(OverflowStrategy::Throw),
        Just(OverflowStrategy::Truncate),
        Just(OverflowStrategy::Proceed),
    ];
    (scorer(), slicer(), placer, overflow, any::<bool>()).prop_map(
        |(scorer, slicer, placer, overflow, deduplication)| {
            let mut spec = PolicySpec::new(scorer, slicer, placer);
            spec.overflow = overflow;
            spec.deduplication = deduplication;
            spec
        },
    )
}

/// Items whose age is nothing or decades: the preset that decays reads the system's clock, and two
/// readings a moment apart must score them the same.
pub(crate) fn items() -> impl Strategy<Value = Vec<ContextItem>> {
    let far_past = (0_i64..1_000).prop_map(Some);
    let far_future = (0_i64..1_000).prop_map(|secs| Some(20_000_000_000 + secs));
    let time = prop_oneof![Just(None), far_past, far_future];
    let item = (
        0..12_u8,
        0_i64..90,
        kind(),
        time,
        proptest::option::of(-3_i64..9),
        proptest::option::of(0.0..1.0_f64),
        vec(prop_oneof![Just("a"), Just("B"), Just("null")], 0..3),
        proptest::option::of(0.0..1.0_f64),
    );
    let item = item.prop_map(|(name, tokens, kind, time, priority, hint, tags, trust)| {
        let mut item = ContextItem::builder(format!("item {name}"), tokens).kind(kind).tags(tags);
        if let Some(secs) = time {
            item = item.timestamp(DateTime::from_timestamp(secs, 0).unwrap());
        }
        if let Some(priority) = priority {
            item = item.priority(priority);
        }
        if let Some(hint) = hint {
            item = item.future_relevance_hint(hint);
        }
        if let Some(trust) = trust {
            item = item.metadata_entry("cupel:trust", trust.to_string());
        }
        item.build().unwrap()
    });
    vec(item, 0..30)
}
