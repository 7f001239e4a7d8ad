//! Passes that were once quadratic: how they grow, and the worst shape there is.

use cupel::scorer::FrequencyScorer;
use cupel::slicer::{CountQuotaEntry, CountQuotaSlice, QuotaSet, QuotaSlice, ScarcityBehavior};
use cupel::{
    ContextBudget, ContextItem, ContextKind, GreedySlice, Policy, ScoredItem, Scorer, Slicer,
};

use crate::measure::{medians, timed};
use cupel_dev::Effort;
use cupel_dev::random::Random;
use cupel_dev::table::{Goal, Row};

pub(crate) fn run(effort: Effort) -> Vec<Row> {
    let mut rows = Vec::new();
    for (tags, pool) in [(3, 20), (5, 50), (8, 100), (8, 1_000)] {
        let name = format!("frequency, {tags} of {pool} tags, growth");
        rows.push(growth(&name, effort, |n| {
            let items = tagged(n, tags, pool);
            let mut scores = vec![0.0; n];
            move || FrequencyScorer.score_all(&items, &mut scores)
        }));
    }
    rows.push(growth("document_qa, 8 of 100 tags, growth", effort, |n| {
        let items = tagged(n, 8, 100);
        let budget = ContextBudget::builder(100_000).build().unwrap();
        let pipeline = Policy::document_qa().to_pipeline();
        move || drop(pipeline.run(&items, &budget).unwrap())
    }));
    rows.push(worst_shape(effort));
    rows.push(growth("quota over distinct kinds, growth", effort, |n| {
        let items = of_distinct_kinds(n);
        let budget = ContextBudget::builder(1_000_000).build().unwrap();
        let slicer = QuotaSlice::new(QuotaSet::builder().build().unwrap(), GreedySlice);
        move || {
            let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
            drop(slicer.slice(&scored, &budget).unwrap());
        }
    }));
    rows.push(growth("configuring distinct kinds, growth", effort, |n| {
        let kinds: Vec<ContextKind> =
            of_distinct_kinds(n).iter().map(|item| item.kind().clone()).collect();
        move || {
            let entry = |kind: &ContextKind| CountQuotaEntry::new(kind.clone(), 1, 2).unwrap();
            let entries = kinds.iter().map(entry).collect();
            drop(CountQuotaSlice::new(entries, GreedySlice, ScarcityBehavior::Degrade).unwrap());
        }
    }));
    rows
}

fn tagged(n: usize, tags: usize, pool: usize) -> Vec<ContextItem> {
    let mut random = Random(42);
    let item = |number| {
        let mut own = Vec::with_capacity(tags);
        while own.len() < tags {
            let tag = random.below(pool);
            if !own.contains(&tag) {
                own.push(tag);
            }
        }
        ContextItem::builder(format!("item {number}"), 60)
            .tags(own.into_iter().map(|tag| format!("tag-{tag}")))
            .build()
            .unwrap()
    };
    (0..n).map(item).collect()
}

fn of_distinct_kinds(n: usize) -> Vec<ContextItem> {
    let item = |number| {
        let kind = ContextKind::new(format!("kind-{number}")).unwrap();
        ContextItem::builder(format!("item {number}"), 10).kind(kind).build().unwrap()
    };
    (0..n).map(item).collect()
}

/// Ten times the items may take 16 times as long: the rest is memory that no cache holds.
fn growth<F: FnMut()>(name: &str, effort: Effort, work: impl Fn(usize) -> F) -> Row {
    let (large, small) = effort.pick((1_000, 100), (100_000, 10_000), (100_000, 10_000));
    let times = medians(effort, &mut [timed(work(large)), timed(work(small))]);
    Row::new(name, large, times[0], "N = 10,000", times[1], Goal::AtMost(16.0))
}

/// Every item has half of all tags. Beside it: walking the lists of all its tags for each item, as
/// far as one in fifty, times fifty.
fn worst_shape(effort: Effort) -> Row {
    const ONE_IN: usize = 50;
    let n = effort.pick(200, 10_000, 10_000);
    let items = tagged(n, 100, 200);
    let tag = |tag: &String| tag.trim_start_matches("tag-").parse::<usize>().unwrap();
    let tags: Vec<Vec<usize>> =
        items.iter().map(|item| item.tags().iter().map(tag).collect()).collect();
    let mut items_of_tag = vec![Vec::new(); 200];
    for (item, tags) in tags.iter().enumerate() {
        tags.iter().for_each(|&tag| items_of_tag[tag].push(item));
    }
    let walk = || {
        let mut seen_by = vec![usize::MAX; n];
        let mut total = 0_usize;
        for item in (0..n).step_by(ONE_IN) {
            for &other in tags[item].iter().flat_map(|&tag| &items_of_tag[tag]) {
                total += usize::from(seen_by[other] != item);
                seen_by[other] = item;
            }
        }
        total
    };
    let mut scores = vec![0.0; n];
    let times = medians(
        effort,
        &mut [timed(|| FrequencyScorer.score_all(&items, &mut scores)), timed(walk)],
    );
    let name = "frequency, 100 of 200 tags";
    Row::new(name, n, times[0], "walking", times[1] * ONE_IN as f64, Goal::Faster(20.0))
}
