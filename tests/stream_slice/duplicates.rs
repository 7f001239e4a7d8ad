//! A stream keeps the same item of equal contents as a pipeline, in any order of arrival.

use std::sync::{Arc, Mutex};

use cupel::slicer::SliceResult;
use cupel::slicer::{Sequence, StreamPush, StreamSlice};
use cupel::{
    ContextBudget, ContextItem, CupelError, GreedySlice, Pipeline, Placer, ScoredItem, Scorer,
    Slicer,
};
use proptest::prelude::*;

use crate::batch::{Candidate, batch, by_score, selected};
use crate::cases::{Step, config, one_in, steps};

/// Best candidate of each content, and the earliest of equal ones.
fn unique(arrived: &[Candidate]) -> Vec<Candidate> {
    let mut in_order: Vec<&Candidate> = arrived.iter().collect();
    in_order.sort_by_key(|candidate| candidate.sequence);
    let mut unique: Vec<Candidate> = Vec::new();
    for challenger in in_order {
        let same = |holder: &&mut Candidate| holder.item.content() == challenger.item.content();
        match unique.iter_mut().find(same) {
            None => unique.push(challenger.clone()),
            Some(holder) if by_score(challenger.score, holder.score).is_lt() => {
                *holder = challenger.clone();
            }
            Some(_) => {}
        }
    }
    unique
}

/// Knows the score of each item.
struct Given(Vec<Candidate>);

impl Given {
    fn find(&self, item: &ContextItem) -> Option<&Candidate> {
        self.0.iter().find(|candidate| ContextItem::same(&candidate.item, item))
    }
}

impl Scorer for Given {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        self.find(item).unwrap().score
    }
}

/// A `GreedySlice` that remembers its answer, in its order.
#[derive(Clone, Default)]
struct Overheard(Arc<Mutex<Vec<ContextItem>>>);

impl Slicer for Overheard {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let sliced = GreedySlice.slice(items, budget)?;
        *self.0.lock().unwrap() =
            sliced.indices.iter().map(|&index| items[index].item().clone()).collect();
        Ok(sliced)
    }
}

struct AsGiven;

impl Placer for AsGiven {
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        (0..items.len()).collect()
    }
}

/// Slice of a whole pipeline from these candidates and pins, in its slicer's order.
fn pipeline(arrived: &[Candidate], pins: &[ContextItem], budget: i64) -> Option<Vec<Sequence>> {
    let mut in_order = arrived.to_vec();
    in_order.sort_by_key(|candidate| candidate.sequence);
    let mut items: Vec<ContextItem> = in_order.iter().map(|c| c.item.clone()).collect();
    items.extend_from_slice(pins);
    let overheard = Overheard::default();
    let pipeline = Pipeline::builder()
        .scorer(Given(in_order.clone()))
        .slicer(overheard.clone())
        .placer(AsGiven)
        .build()
        .unwrap();
    pipeline.run(&items, &ContextBudget::builder(budget).build().unwrap()).ok()?;
    let sliced = overheard.0.lock().unwrap();
    let given = Given(in_order);
    Some(sliced.iter().map(|item| given.find(item).unwrap().sequence).collect())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_prefix_equals_the_deduplicated_batch(
        steps in steps(14, true, true), budget in 0_i64..28, compact in any::<u16>(),
    ) {
        let mut slice = StreamSlice::deduplicating(budget);
        let (mut arrived, mut pins): (Vec<Candidate>, _) = (Vec::new(), Vec::new());
        let mut left = budget;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Item(candidate) => {
                    let _ = slice.push(candidate.to_stream());
                    arrived.push(candidate);
                }
                Step::Pin(tokens) => {
                    slice.reserve(tokens);
                    pins.push(ContextItem::builder("pin", tokens).pinned(true).build().unwrap());
                    left = (left - tokens).max(0);
                }
            }
            // A case is too short for the slice to clean up by itself; large ones follow below.
            if compact & (1 << number) != 0 {
                slice.compact();
            }
            prop_assert_eq!(selected(&slice), batch(&unique(&arrived), left));
        }
        if let Some(expected) = pipeline(&arrived, &pins, budget) {
            prop_assert_eq!(selected(&slice), expected);
        }
    }
}

proptest! {
    #![proptest_config(one_in(5))]

    #[test]
    fn every_copy_is_kept_or_handed_back_once(
        steps in steps(14, true, true), budget in 0_i64..28, compact in any::<u16>(),
    ) {
        let mut slice = StreamSlice::deduplicating(budget);
        let (mut given, mut back) = (Vec::new(), Vec::new());
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Pin(tokens) => back.extend(slice.reserve(tokens)),
                Step::Item(candidate) => {
                    given.push(candidate.sequence);
                    match slice.push(candidate.to_stream()) {
                        StreamPush::Kept { dropped, withdrawn } => {
                            back.extend(dropped);
                            back.extend(withdrawn);
                        }
                        StreamPush::Dropped(item) | StreamPush::Duplicate(item) => back.push(item),
                        other => return Err(TestCaseError::fail(format!("{other:?}"))),
                    }
                }
            }
            if compact & (1 << number) != 0 {
                back.extend(slice.compact());
            }
            let mut contents: Vec<_> = slice.live().map(|item| item.payload.content()).collect();
            contents.sort_unstable();
            contents.dedup();
            prop_assert_eq!(contents.len(), slice.live_len(), "one copy of each content");
            let mut all: Vec<_> = slice.live().chain(&back).map(|item| item.sequence).collect();
            all.sort_unstable();
            let mut expected = given.clone();
            expected.sort_unstable();
            prop_assert_eq!(all, expected);
        }
    }
}
