//! Random items, budgets and pipelines.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use cupel::placer::{AgePlacer, UShapedPlacer};
use cupel::scorer::{
    AgeScorer, CompositeScorer, DecayCurve, DecayScorer, FixedTimeProvider, FrequencyScorer,
    KindScorer, MetadataTrustScorer, RecencyScorer, ScaledScorer, TagScorer,
};
use cupel::slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, FillSlice, KnapsackSlice,
    QuotaSet, QuotaSlice, ScarcityBehavior,
};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, ContextKind, GreedySlice, OverflowStrategy,
    Pipeline, Placer, Policy, PriorityScorer, ReflexiveScorer, Scorer, Slicer,
};

use super::random::Random;

const KINDS: [&str; 6] = ["Message", "message", "ToolOutput", "Document", "Memory", "own"];

fn kind(random: &mut Random) -> ContextKind {
    ContextKind::new(random.pick(&KINDS)).unwrap()
}

fn tokens(random: &mut Random) -> i64 {
    match random.below(40) {
        0 => -random.between(1, 9),
        1 => random.pick(&[i64::MAX, i64::MAX / 2, 1 << 40, i64::MIN]),
        2..=5 => 0,
        _ => random.between(1, 60),
    }
}

fn item(random: &mut Random) -> ContextItem {
    let content = format!("text {}", random.below(40));
    let mut item = ContextItem::builder(content, tokens(random))
        .kind(kind(random))
        .pinned(random.chance(10))
        .metadata_entry("cupel:trust", random.pick(&["0.9", "1", "NaN", "?"]));
    for _ in 0..random.below(4) * random.below(5) {
        item = item.tag(format!("t{}", random.below(30)));
    }
    if random.chance(60) {
        item = item.timestamp(DateTime::from_timestamp(random.between(0, 20) * 600, 0).unwrap());
    }
    if random.chance(40) {
        item = item.priority(random.between(-3, 3));
    }
    if random.chance(80) {
        let wild = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.5];
        let hint = if random.chance(5) { random.pick(&wild) } else { random.unit() };
        item = item.future_relevance_hint(hint);
    }
    item.build().unwrap()
}

/// Up to some dozens of items, a few of them named twice.
pub(crate) fn items(random: &mut Random) -> Vec<ContextItem> {
    let count = if random.chance(5) { 60 + random.below(200) } else { random.below(24) };
    let mut items: Vec<ContextItem> = Vec::new();
    for _ in 0..count {
        let again = !items.is_empty() && random.chance(4);
        items.push(if again { random.pick(&items) } else { item(random) });
    }
    items
}

pub(crate) fn budget(random: &mut Random) -> ContextBudget {
    let max = if random.chance(3) { i64::MAX } else { random.between(0, 600) };
    let part = |random: &mut Random, most: i64| (most as f64 * random.unit()) as i64;
    let target = if random.chance(50) { max } else { part(random, max) };
    let reserve = if random.chance(50) { 0 } else { part(random, max / 2) };
    let mut budget =
        ContextBudget::builder(max).target_tokens(target.min(max)).output_reserve(reserve);
    if random.chance(30) {
        budget = budget.estimation_safety_margin_percent(100.0 * random.unit());
    }
    if random.chance(20) {
        budget = budget.reserve_slot(kind(random), random.between(0, 60));
    }
    budget.build().unwrap()
}

fn scorer(random: &mut Random, depth: usize) -> Arc<dyn Scorer> {
    let clock = FixedTimeProvider::new(DateTime::from_timestamp(9_000, 0).unwrap());
    let half_life = DecayCurve::exponential(Duration::from_secs(1_800)).unwrap();
    match random.below(if depth == 0 { 9 } else { 12 }) {
        0 => Arc::new(AgeScorer),
        1 => Arc::new(RecencyScorer),
        2 => Arc::new(PriorityScorer),
        3 => Arc::new(KindScorer::default()),
        4 => Arc::new(TagScorer::case_insensitive([("T1", 1.0), ("t2", 0.5)]).unwrap()),
        5 => Arc::new(FrequencyScorer),
        6 => Arc::new(ReflexiveScorer),
        7 => Arc::new(MetadataTrustScorer::new(0.5).unwrap()),
        8 => Arc::new(DecayScorer::new(clock, half_life)),
        9 => Arc::new(ScaledScorer::new(scorer(random, depth - 1)).unwrap()),
        _ => {
            let part = |random: &mut Random| (scorer(random, depth - 1), 0.1 + random.unit());
            let parts = (0..1 + random.below(3)).map(|_| part(random)).collect();
            Arc::new(CompositeScorer::new(parts).unwrap())
        }
    }
}

fn quotas(random: &mut Random) -> QuotaSet {
    let mut set = QuotaSet::builder();
    for name in random.pick(&[&["Message"][..], &["ToolOutput", "Document"], &["own", "Memory"]]) {
        let require = 40.0 * random.unit();
        let kind = ContextKind::new(name).unwrap();
        let cap = require + (100.0 - require) * random.unit();
        set = set.require(kind.clone(), require).cap(kind, cap);
    }
    set.build().unwrap()
}

fn slicer(random: &mut Random, depth: usize) -> Arc<dyn Slicer> {
    let knapsack = |random: &mut Random| {
        let bucket = random.pick(&[1, 3, 10, 100]);
        KnapsackSlice::new(bucket).unwrap().widen_buckets(random.chance(50))
    };
    let scarcity = |random: &mut Random| {
        random.pick(&[
            ScarcityBehavior::Degrade,
            ScarcityBehavior::Degrade,
            ScarcityBehavior::Throw,
        ])
    };
    let entries = |random: &mut Random| {
        let mut entries = Vec::new();
        for name in ["ToolOutput", "Message"] {
            let require = random.below(4);
            let kind = ContextKind::new(name).unwrap();
            entries.push(CountQuotaEntry::new(kind, require, require + random.below(4)).unwrap());
        }
        entries
    };
    match random.below(if depth == 0 { 2 } else { 6 }) {
        0 => Arc::new(GreedySlice),
        1 => Arc::new(knapsack(random)),
        2 => Arc::new(QuotaSlice::new(quotas(random), slicer(random, depth - 1))),
        3 => Arc::new(FillSlice::new(slicer(random, depth - 1))),
        4 => {
            let (entries, scarcity) = (entries(random), scarcity(random));
            let inner = if random.chance(70) { None } else { Some(quotas(random)) };
            let slicer = match inner {
                None => CountQuotaSlice::new(entries, GreedySlice, scarcity),
                Some(set) => {
                    CountQuotaSlice::new(entries, QuotaSlice::new(set, GreedySlice), scarcity)
                }
            };
            Arc::new(slicer.unwrap().within_budget(random.chance(50)))
        }
        _ => {
            let (entries, knapsack, scarcity) =
                (entries(random), knapsack(random), scarcity(random));
            let slicer = CountConstrainedKnapsackSlice::new(entries, knapsack, scarcity).unwrap();
            Arc::new(slicer.within_budget(random.chance(50)))
        }
    }
}

/// A preset, or parts of any sort.
pub(crate) fn pipeline(random: &mut Random) -> Pipeline {
    if random.chance(20) {
        let presets = [Policy::chat, Policy::rag, Policy::tool_use, Policy::document_qa];
        return random.pick(&presets)().to_pipeline();
    }
    let placers: [Arc<dyn Placer>; 3] =
        [Arc::new(AgePlacer), Arc::new(ChronologicalPlacer), Arc::new(UShapedPlacer)];
    let strategies =
        [OverflowStrategy::Throw, OverflowStrategy::Truncate, OverflowStrategy::Proceed];
    Pipeline::builder()
        .scorer(scorer(random, 2))
        .slicer(slicer(random, 2))
        .placer(random.pick(&placers))
        .overflow_strategy(random.pick(&strategies))
        .deduplication(random.chance(70))
        .build()
        .unwrap()
}
