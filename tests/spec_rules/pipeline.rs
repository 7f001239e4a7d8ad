//! Values that the stages pass to each other, seen by components that record them.

use std::sync::{Arc, Mutex};

use cupel::slicer::{KnapsackSlice, QuotaSet, QuotaSlice, SliceResult};
use cupel::{
    ContextBudget, ContextItem, ContextKind, CupelError, GreedySlice, OverflowStrategy, Placer,
    ScoredItem, Scorer, Slicer,
};

use super::common::{Random, budget, contents, hinted, pinned, pipeline};

type Log<T> = Arc<Mutex<Vec<T>>>;

/// Scores by hint and writes down what it was asked.
struct RecordingScorer(Log<(String, Vec<String>)>);

impl Scorer for RecordingScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        let all = all.iter().map(|item| item.content().to_owned()).collect();
        self.0.lock().unwrap().push((item.content().to_owned(), all));
        item.future_relevance_hint().unwrap_or(0.0)
    }
}

/// Takes the positions it is told to and writes down what it was given.
struct RecordingSlicer(Vec<usize>, Log<(Vec<f64>, ContextBudget)>);

impl Slicer for RecordingSlicer {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let scores = items.iter().map(ScoredItem::score).collect();
        self.1.lock().unwrap().push((scores, budget.clone()));
        Ok(SliceResult::from(self.0.clone()))
    }
}

/// Answers with fixed positions and writes down what it was given.
struct RecordingPlacer(Vec<usize>, Log<(String, f64)>);

impl Placer for RecordingPlacer {
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        let seen = items.iter().map(|scored| (scored.item().content().to_owned(), scored.score()));
        self.1.lock().unwrap().extend(seen);
        self.0.clone()
    }
}

#[test]
fn the_scorer_is_asked_once_an_item_with_the_scoreable_list() {
    let log = Log::default();
    let pipeline = pipeline().scorer(RecordingScorer(Arc::clone(&log))).build().unwrap();
    let negative = ContextItem::new("negative", -1).unwrap();
    let items =
        [hinted("a", 1, 0.1), pinned("pin", 1), hinted("b", 1, 0.9), negative, hinted("c", 1, 0.5)];
    pipeline.run(&items, &budget(100)).unwrap();
    let all: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
    let expected: Vec<_> = all.iter().map(|item| (item.clone(), all.clone())).collect();
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn the_scorer_is_not_asked_when_nothing_is_scoreable() {
    let log = Log::default();
    let pipeline = pipeline().scorer(RecordingScorer(Arc::clone(&log))).build().unwrap();
    pipeline.run(&[pinned("pin", 1)], &budget(100)).unwrap();
    pipeline.run(&[], &budget(100)).unwrap();
    assert!(log.lock().unwrap().is_empty());
}

#[test]
fn the_slicer_gets_sorted_items_and_a_bare_effective_budget() {
    let log = Log::default();
    let pipeline = pipeline().slicer(RecordingSlicer(vec![], Arc::clone(&log))).build().unwrap();
    let budget = ContextBudget::builder(1_001)
        .target_tokens(803)
        .output_reserve(100)
        .reserve_slot(ContextKind::document(), 50)
        .estimation_safety_margin_percent(10.0)
        .build()
        .unwrap();
    let items = [hinted("a", 1, 0.1), hinted("b", 1, 0.9), pinned("pin", 50), hinted("c", 1, 0.5)];
    pipeline.run(&items, &budget).unwrap();
    let seen = log.lock().unwrap();
    let [(scores, effective)] = seen.as_slice() else { panic!("sliced {} times", seen.len()) };
    assert_eq!(*scores, [0.9, 0.5, 0.1]);
    // max (1001 - 100 - 50 - 50) * 0.9 = 720.9; target min(803 - 50 - 50, 801) * 0.9 = 632.7
    assert_eq!((effective.max_tokens(), effective.target_tokens()), (720, 632));
    assert_eq!(effective.output_reserve(), 0);
    assert!(effective.reserved_slots().is_empty());
    assert_eq!(effective.estimation_safety_margin_percent(), 0.0);
}

#[test]
fn sliced_items_are_told_apart_by_identity() {
    let (first, second) = (hinted("twin", 1, 0.5), hinted("twin", 1, 0.5));
    let pipeline = pipeline()
        .deduplication(false)
        .slicer(RecordingSlicer(vec![1], Log::default()))
        .build()
        .unwrap();
    let output = pipeline.run(&[first.clone(), second.clone()], &budget(10)).unwrap();
    assert_eq!(output.len(), 1);
    assert!(ContextItem::same(&output[0], &second) && !ContextItem::same(&output[0], &first));
}

#[test]
fn the_placer_gets_pinned_items_first_with_score_one() {
    let log = Log::default();
    let placer = RecordingPlacer(vec![3, 1, 0, 2], Arc::clone(&log));
    let pipeline = pipeline().placer(placer).build().unwrap();
    let items = [hinted("a", 1, 0.2), pinned("pin-1", 1), hinted("b", 1, 0.7), pinned("pin-2", 1)];
    let output = pipeline.run(&items, &budget(100)).unwrap();
    let expected = [("pin-1", 1.0), ("pin-2", 1.0), ("b", 0.7), ("a", 0.2)];
    assert_eq!(*log.lock().unwrap(), expected.map(|(content, score)| (content.to_owned(), score)));
    assert_eq!(contents(&output), ["a", "pin-2", "pin-1", "b"]);
}

#[test]
fn the_placer_gets_what_truncation_kept() {
    let log = Log::default();
    let pipeline = pipeline()
        .slicer(RecordingSlicer(vec![0, 1], Log::default()))
        .placer(RecordingPlacer(vec![0, 1], Arc::clone(&log)))
        .overflow_strategy(OverflowStrategy::Truncate)
        .build()
        .unwrap();
    let items = [hinted("a", 60, 0.9), hinted("b", 60, 0.5), pinned("pin", 30)];
    pipeline.run(&items, &budget(100)).unwrap();
    let expected = [("pin".to_owned(), 1.0), ("a".to_owned(), 0.9)];
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn a_slicer_can_neither_invent_nor_repeat_items() {
    let items = [hinted("a", 1, 0.5), hinted("b", 1, 0.4)];
    for answer in [vec![2], vec![0, 0], vec![usize::MAX]] {
        let slicer = RecordingSlicer(answer.clone(), Log::default());
        let outcome = pipeline().slicer(slicer).build().unwrap().run(&items, &budget(10));
        assert!(matches!(outcome, Err(CupelError::Contract { .. })), "{answer:?}: {outcome:?}");
    }
}

#[test]
fn a_placer_can_only_reorder() {
    let items = [hinted("a", 1, 0.5), hinted("b", 1, 0.4)];
    for answer in [vec![0], vec![0, 0], vec![0, 1, 1], vec![0, 2], vec![]] {
        let placer = RecordingPlacer(answer.clone(), Log::default());
        let outcome = pipeline().placer(placer).build().unwrap().run(&items, &budget(10));
        assert!(matches!(outcome, Err(CupelError::Contract { .. })), "{answer:?}: {outcome:?}");
    }
}

#[test]
fn scores_that_are_not_numbers_still_give_one_order() {
    struct Odd;
    impl Scorer for Odd {
        fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
            item.content().parse().unwrap()
        }
    }
    let items: Vec<_> =
        ["NaN", "-inf", "0", "inf", "-NaN", "1"].map(|text| hinted(text, 1, 0.0)).into();
    let pipeline = pipeline().scorer(Odd).placer(cupel::ChronologicalPlacer).build().unwrap();
    let output = pipeline.run(&items, &budget(10)).unwrap();
    assert_eq!(contents(&output), ["inf", "1", "0", "-inf", "NaN", "-NaN"]);
}

#[test]
fn the_selection_leaves_the_output_reserve_free() {
    let quotas = QuotaSet::builder().cap(ContextKind::document(), 40.0).build().unwrap();
    let slicers: [Arc<dyn Slicer>; 3] = [
        Arc::new(GreedySlice),
        Arc::new(KnapsackSlice::new(3).unwrap()),
        Arc::new(QuotaSlice::new(quotas, GreedySlice)),
    ];
    let mut random = Random::new(7);
    for round in 0..300 {
        let (mut items, _) = random.instance(12, false);
        items.push(pinned("pin", random.below(20) as i64));
        let max = 20 + random.below(200) as i64;
        let (target, reserve) = (random.below(max as u64 + 1), random.below(max as u64 - 19));
        let budget = ContextBudget::builder(max)
            .target_tokens(target as i64)
            .output_reserve(reserve as i64)
            .build()
            .unwrap();
        let pipeline = pipeline()
            .scorer(cupel::scorer::KindScorer::default())
            .slicer(Arc::clone(&slicers[round % 3]))
            .overflow_strategy(OverflowStrategy::Proceed)
            .build()
            .unwrap();
        let output = pipeline.run(&items, &budget).unwrap();
        let total: i64 = output.iter().map(ContextItem::tokens).sum();
        assert!(total <= max - reserve as i64, "{total} of {budget:?}");
    }
}

#[test]
fn the_same_input_gives_the_same_output() {
    let mut random = Random::new(11);
    for _ in 0..50 {
        let (items, _) = random.instance(30, false);
        // Fresh components each time, so that no random hash seed can decide anything.
        let run = || {
            let quotas =
                QuotaSet::builder().require(ContextKind::document(), 20.0).build().unwrap();
            let pipeline = pipeline()
                .scorer(cupel::scorer::KindScorer::default())
                .slicer(QuotaSlice::new(quotas, GreedySlice))
                .build()
                .unwrap();
            let output = pipeline.run(&items, &budget(150)).unwrap();
            contents(&output).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(run(), run());
    }
}

#[test]
fn a_pipeline_needs_its_three_parts() {
    let error = cupel::Pipeline::builder().scorer(cupel::ReflexiveScorer).build().unwrap_err();
    assert!(matches!(error, CupelError::PipelineConfig(_)), "{error}");
}
