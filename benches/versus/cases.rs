//! The work that is compared, and what each row has to reach.

use std::sync::Arc;

use crate::data;
use crate::measure::{hash_contents, limit, medians, timed};
use cupel_dev::Effort;
use cupel_dev::table::{Goal, Row};

const BUDGET: i64 = 100_000;

/// A pipeline of ours and the same one of the published crate.
struct Pair {
    ours: cupel::Pipeline,
    published: published::Pipeline,
}

impl Pair {
    fn new(
        ours: (impl cupel::Scorer + 'static, impl cupel::Slicer + 'static),
        published: (Box<dyn published::Scorer>, Box<dyn published::Slicer>),
    ) -> Self {
        Self {
            ours: cupel::Pipeline::builder()
                .scorer(ours.0)
                .slicer(ours.1)
                .placer(cupel::placer::UShapedPlacer)
                .build()
                .unwrap(),
            published: published::Pipeline::builder()
                .scorer(published.0)
                .slicer(published.1)
                .placer(Box::new(published::UShapedPlacer))
                .build()
                .unwrap(),
        }
    }
}

fn budgets() -> (cupel::ContextBudget, published::ContextBudget) {
    (
        cupel::ContextBudget::builder(BUDGET).build().unwrap(),
        published::ContextBudget::new(BUDGET, BUDGET, 0, Default::default(), 0.0).unwrap(),
    )
}

pub(crate) fn run(effort: Effort) -> Vec<Row> {
    let mut rows = Vec::new();
    let reflexive = Pair::new(
        (cupel::ReflexiveScorer, cupel::GreedySlice),
        (Box::new(published::ReflexiveScorer), Box::new(published::GreedySlice)),
    );
    for (n, faster) in [(100, 25.0), (1_000, 30.0), (10_000, 20.0)] {
        rows.push(versus("reflexive + greedy", n, &reflexive, Goal::Faster(faster), effort));
    }
    let recency = Pair::new(
        (cupel::scorer::RecencyScorer, cupel::GreedySlice),
        (Box::new(published::RecencyScorer), Box::new(published::GreedySlice)),
    );
    rows.push(versus("recency + greedy", 10_000, &recency, Goal::Faster(120.0), effort));
    let composite = Pair::new(
        (
            cupel::scorer::CompositeScorer::new(vec![
                (Arc::new(cupel::scorer::RecencyScorer), 0.5),
                (Arc::new(cupel::PriorityScorer), 0.3),
                (Arc::new(cupel::scorer::KindScorer::default()), 0.2),
            ])
            .unwrap(),
            cupel::GreedySlice,
        ),
        (
            Box::new(
                published::CompositeScorer::new(vec![
                    (Box::new(published::RecencyScorer), 0.5),
                    (Box::new(published::PriorityScorer), 0.3),
                    (Box::new(published::KindScorer::with_default_weights()), 0.2),
                ])
                .unwrap(),
            ),
            Box::new(published::GreedySlice),
        ),
    );
    let name = "3-part composite + greedy";
    rows.push(versus(name, 10_000, &composite, Goal::Faster(120.0), effort));
    let frequency = Pair::new(
        (cupel::scorer::FrequencyScorer, cupel::GreedySlice),
        (Box::new(published::FrequencyScorer), Box::new(published::GreedySlice)),
    );
    rows.push(versus("frequency + greedy", 5_000, &frequency, Goal::Faster(300.0), effort));
    let scaled = Pair::new(
        (
            cupel::scorer::ScaledScorer::new(cupel::scorer::RecencyScorer).unwrap(),
            cupel::GreedySlice,
        ),
        (
            Box::new(published::ScaledScorer::new(Box::new(published::RecencyScorer))),
            Box::new(published::GreedySlice),
        ),
    );
    rows.push(versus("scaled(recency) + greedy", 1_000, &scaled, Goal::Faster(5_000.0), effort));
    let knapsack = Pair::new(
        (cupel::ReflexiveScorer, cupel::slicer::KnapsackSlice::new(100).unwrap()),
        (
            Box::new(published::ReflexiveScorer),
            Box::new(published::KnapsackSlice::new(100).unwrap()),
        ),
    );
    rows.push(versus("knapsack, bucket 100", 10_000, &knapsack, Goal::Faster(10.0), effort));
    rows.push(dry_run(&reflexive, effort));
    for n in [1_000, 10_000] {
        rows.extend(against_limit(n, &reflexive.ours, effort));
    }
    rows.push(growth(&reflexive.ours, effort));
    rows.push(null_collector(&reflexive.ours, effort));
    rows.push(smallest_budget(&reflexive.ours, effort));
    rows
}

fn versus(name: &str, n: usize, pair: &Pair, goal: Goal, effort: Effort) -> Row {
    let raw = data::raw(n);
    let (ours, theirs) = (data::ours(&raw), data::published(&raw));
    let (budget, their_budget) = budgets();
    let selected = pair.ours.run(&ours, &budget).unwrap();
    let their_selected = pair.published.run(&theirs, &their_budget).unwrap();
    let contents: Vec<_> = selected.iter().map(cupel::ContextItem::content).collect();
    let their_contents: Vec<_> =
        their_selected.iter().map(published::ContextItem::content).collect();
    let differ = contents.iter().zip(&their_contents).filter(|(a, b)| a != b).count();
    assert!(
        differ == 0 && contents.len() == their_contents.len(),
        "{name}, N = {n}: {differ} of {} positions differ",
        contents.len(),
    );
    let times = medians(
        effort,
        &mut [
            timed(|| pair.ours.run(&ours, &budget).unwrap()),
            timed(|| pair.published.run(&theirs, &their_budget).unwrap()),
        ],
    );
    Row::new(name, n, times[0], "cupel 1.2.0", times[1], goal)
}

fn dry_run(pair: &Pair, effort: Effort) -> Row {
    let raw = data::raw(10_000);
    let (ours, theirs) = (data::ours(&raw), data::published(&raw));
    let (budget, their_budget) = budgets();
    let times = medians(
        effort,
        &mut [
            timed(|| pair.ours.dry_run(&ours, &budget).unwrap()),
            timed(|| pair.published.dry_run(&theirs, &their_budget).unwrap()),
        ],
    );
    Row::new("dry run, full report", 10_000, times[0], "cupel 1.2.0", times[1], Goal::Faster(20.0))
}

/// Items hash their content when they are built, so that a run need not. The second row charges
/// the run with that hashing as well, to compare like with like.
fn against_limit(n: usize, pipeline: &cupel::Pipeline, effort: Effort) -> [Row; 2] {
    let items = data::ours(&data::raw(n));
    let (budget, _) = budgets();
    let times = medians(
        effort,
        &mut [
            timed(|| pipeline.run(&items, &budget).unwrap()),
            timed(|| (hash_contents(&items), pipeline.run(&items, &budget).unwrap())),
            timed(|| limit(&items)),
        ],
    );
    let row = |name, ours| Row::new(name, n, ours, "limit", times[2], Goal::AtMost(2.0));
    [row("reflexive + greedy", times[0]), row("the same and the hashing of its items", times[1])]
}

fn growth(pipeline: &cupel::Pipeline, effort: Effort) -> Row {
    let (small, large) = (data::ours(&data::raw(10_000)), data::ours(&data::raw(100_000)));
    let (budget, _) = budgets();
    let times = medians(
        effort,
        &mut [
            timed(|| pipeline.run(&large, &budget).unwrap()),
            timed(|| pipeline.run(&small, &budget).unwrap()),
        ],
    );
    let name = "reflexive + greedy, growth";
    Row::new(name, 100_000, times[0], "N = 10,000", times[1], Goal::AtMost(16.0))
}

fn null_collector(pipeline: &cupel::Pipeline, effort: Effort) -> Row {
    let items = data::ours(&data::raw(1_000));
    let (budget, _) = budgets();
    let times = medians(
        effort,
        &mut [
            timed(|| {
                pipeline
                    .run_traced(&items, &budget, &mut cupel::diagnostics::NullTraceCollector)
                    .unwrap()
            }),
            timed(|| pipeline.run(&items, &budget).unwrap()),
        ],
    );
    Row::new("run_traced, null collector", 1_000, times[0], "run", times[1], Goal::AtMost(1.03))
}

fn smallest_budget(pipeline: &cupel::Pipeline, effort: Effort) -> Row {
    let items = data::ours(&data::raw(10_000));
    let (budget, _) = budgets();
    let target = &items[4_321];
    let times = medians(
        effort,
        &mut [
            timed(|| pipeline.find_min_budget_for(&items, target, 128_000).unwrap()),
            timed(|| pipeline.run(&items, &budget).unwrap()),
        ],
    );
    let name = "find_min_budget_for, ceiling 128,000";
    Row::new(name, 10_000, times[0], "one run", times[1], Goal::AtMost(3.0))
}
