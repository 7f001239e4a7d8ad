//! Whole runs: every mix of scorer, slicer, placer, deduplication and overflow strategy.

use std::collections::BTreeSet;

use crate::expected::{self, Reading, Refusal, Run};
use crate::items::{self, Blueprint};
use crate::runner::{self, Case, Rng};
use crate::{placers, reports, scorers, slicers};

pub(crate) const CASES: usize = 6_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Overflow {
    Throw,
    Truncate,
    Proceed,
}

#[derive(Debug, Clone)]
pub(crate) struct PipelineCase {
    pub(crate) scorer: scorers::Plan,
    pub(crate) slicer: slicers::Plan,
    pub(crate) placer: placers::Plan,
    pub(crate) deduplication: bool,
    pub(crate) overflow: Overflow,
    /// Window, target, output reserve.
    pub(crate) budget: (i64, i64, i64),
    pub(crate) items: Vec<Blueprint>,
}

impl Case for PipelineCase {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn without(&self, index: usize) -> Self {
        Self { items: items::without(&self.items, index), ..self.clone() }
    }
}

impl PipelineCase {
    /// Reflexive scores, a greedy slicer, oldest first, and a target that is the whole window.
    pub(crate) fn plain(target: i64, items: Vec<Blueprint>) -> Self {
        Self {
            scorer: scorers::Plan::Reflexive,
            slicer: slicers::Plan::Greedy,
            placer: placers::Plan::Chronological,
            deduplication: true,
            overflow: Overflow::Throw,
            budget: (target, target, 0),
            items,
        }
    }

    fn random(rng: &mut Rng) -> Self {
        let count = if rng.chance(2) { rng.between(80, 200) } else { rng.between(0, 13) };
        let mut items: Vec<Blueprint> = (0..count)
            .map(|id| Blueprint::random(rng, id, &[0, 1, 2, 4, 5, 8, 10, 20, 40, -1, -7]))
            .collect();
        for index in 1..items.len() {
            if rng.chance(15) {
                items[index].content = items[rng.below(index)].content.clone();
            }
        }
        for item in &mut items {
            item.pinned = rng.chance(15);
        }
        if rng.chance(20) {
            // Without timestamps the order in which items are merged shows in the result.
            items.iter_mut().for_each(|item| item.seconds = None);
        }
        let max = rng.between(0, 160);
        let target = rng.between(0, max);
        let reserve = if rng.chance(50) { 0 } else { rng.between(0, max / 2) };
        let slicer = rng.below(6);
        Self {
            scorer: scorers::Plan::random(rng, 1),
            slicer: slicers::Plan::nth(rng, slicer),
            placer: rng.pick(&[placers::Plan::Chronological, placers::Plan::UShaped]),
            deduplication: rng.chance(60),
            overflow: rng.pick(&[Overflow::Throw, Overflow::Truncate, Overflow::Proceed]),
            budget: (max, target, reserve),
            items,
        }
    }

    pub(crate) fn our_pipeline(&self) -> cupel::Pipeline {
        let strategy = match self.overflow {
            Overflow::Throw => cupel::OverflowStrategy::Throw,
            Overflow::Truncate => cupel::OverflowStrategy::Truncate,
            Overflow::Proceed => cupel::OverflowStrategy::Proceed,
        };
        cupel::Pipeline::builder()
            .scorer(self.scorer.ours())
            .slicer(self.slicer.ours())
            .placer(self.placer.ours())
            .deduplication(self.deduplication)
            .overflow_strategy(strategy)
            .build()
            .unwrap()
    }

    pub(crate) fn their_pipeline(&self) -> published::Pipeline {
        let strategy = match self.overflow {
            Overflow::Throw => published::OverflowStrategy::Throw,
            Overflow::Truncate => published::OverflowStrategy::Truncate,
            Overflow::Proceed => published::OverflowStrategy::Proceed,
        };
        published::Pipeline::builder()
            .scorer(self.scorer.theirs())
            .slicer(self.slicer.theirs())
            .placer(self.placer.theirs())
            .deduplication(self.deduplication)
            .overflow_strategy(strategy)
            .build()
            .unwrap()
    }

    /// Result of the library, by the run and by its report, which must agree.
    pub(crate) fn ours(&self) -> Result<Run, Refusal> {
        let (pipeline, items) = (self.our_pipeline(), items::ours(&self.items));
        let budget = items::budget(self.budget);
        let report = pipeline.dry_run(&items, &budget);
        let placed = pipeline.run(&items, &budget);
        let run = report.as_ref().map(reports::ours).map_err(reports::our_refusal);
        let ids = placed.as_ref().map(|placed| placed.iter().map(items::id).collect::<Vec<_>>());
        assert_eq!(ids.ok(), run.as_ref().ok().map(Run::ids));
        run
    }

    pub(crate) fn theirs(&self) -> Result<Run, Refusal> {
        let (items, budget) = (items::theirs(&self.items), items::their_budget(self.budget));
        let report = self.their_pipeline().dry_run(&items, &budget);
        report.as_ref().map(reports::theirs).map_err(reports::their_refusal)
    }

    pub(crate) fn expected(&self, reading: Reading) -> Result<Run, Refusal> {
        let scoreable: Vec<Blueprint> =
            self.items.iter().filter(|item| item.tokens >= 0 && !item.pinned).cloned().collect();
        let scoreable = items::ours(&scoreable);
        let scorer = self.scorer.ours();
        let scores: Vec<f64> =
            scoreable.iter().map(|item| scorer.score(item, &scoreable)).collect();
        expected::run(self, &scores, reading)
    }
}

/// Returns true if two scoreable items have equal content and both stay candidates.
fn has_live_duplicates(case: &PipelineCase) -> bool {
    let scoreable = || case.items.iter().filter(|item| item.tokens >= 0 && !item.pinned);
    let count = |content: &str| scoreable().filter(|item| item.content == content).count();
    !case.deduplication && scoreable().any(|item| count(&item.content) > 1)
}

fn check(case: &PipelineCase) -> Result<(), String> {
    let (ours, expected) = (case.ours(), case.expected(Reading::Text));
    if ours != expected {
        return Err(format!("ours {ours:#?}\nthe text {expected:#?}"));
    }
    let (theirs, expected) = (case.theirs(), case.expected(Reading::Published));
    if has_live_duplicates(case) {
        // Published: sliced items get their scores back by content, so twins swap scores and
        // reasons. The text wants reference identity (Stage 5). What is selected does not depend
        // on it, except where scores decide again: when truncating, and in the count knapsack.
        let decides_again = case.overflow == Overflow::Truncate
            || matches!(case.slicer, slicers::Plan::CountKnapsack(..));
        let selected = |run: &Run| run.ids().into_iter().collect::<BTreeSet<_>>();
        let (theirs, expected) = (theirs.as_ref().map(selected), expected.as_ref().map(selected));
        if theirs != expected && !decides_again {
            return Err(format!("published {theirs:?}, the model of it {expected:?}"));
        }
        return Ok(());
    }
    if theirs != expected {
        return Err(format!("published {theirs:#?}\nthe model of it {expected:#?}"));
    }
    Ok(())
}

#[test]
fn pipelines_agree() {
    runner::run("pipelines", CASES, PipelineCase::random, check);
}
