//! At every moment a stream has selected what a batch selects from what has arrived.

use cupel::slicer::{StreamPush, StreamSlice};
use proptest::prelude::*;

use crate::batch::{batch, batch_for, selected};
use crate::cases::{Step, config, one_in, steps};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_prefix_and_every_smaller_budget_equal_the_batch(
        steps in steps(12, false, false), budget in 0_i64..28,
    ) {
        let mut slice = StreamSlice::new(budget);
        let mut arrived = Vec::new();
        for step in steps {
            let Step::Item(candidate) = step else { continue };
            let _ = slice.push(candidate.to_stream());
            arrived.push(candidate);
            let expected = batch(&arrived, budget);
            prop_assert_eq!(selected(&slice), expected);
        }
        for (smaller, expected) in batch_for(&arrived, 0..=budget).into_iter().enumerate() {
            let mut slice = slice.clone();
            slice.shrink_budget(smaller as i64).unwrap();
            prop_assert_eq!(&selected(&slice), &expected);
            let finished = slice.finish();
            let selected: Vec<_> = finished.selected.iter().map(|item| item.sequence).collect();
            prop_assert_eq!(selected, expected);
        }
    }

    #[test]
    fn late_pins_shrink_the_budget_as_if_known_before(
        steps in steps(12, true, false), budget in 0_i64..28,
    ) {
        let mut slice = StreamSlice::new(budget);
        let (mut arrived, mut left) = (Vec::new(), budget);
        for step in steps {
            match step {
                Step::Item(candidate) => {
                    let _ = slice.push(candidate.to_stream());
                    arrived.push(candidate);
                }
                Step::Pin(tokens) => {
                    slice.reserve(tokens);
                    left = (left - tokens).max(0);
                }
            }
            prop_assert_eq!(slice.budget(), left);
            prop_assert_eq!(selected(&slice), batch(&arrived, left));
        }
    }
}

proptest! {
    #![proptest_config(one_in(5))]

    #[test]
    fn every_item_is_kept_or_handed_back_once(
        steps in steps(12, true, false), budget in 0_i64..28,
    ) {
        let mut slice = StreamSlice::new(budget);
        let (mut given, mut back) = (Vec::new(), Vec::new());
        for step in steps {
            let out = match step {
                Step::Pin(tokens) => slice.reserve(tokens),
                Step::Item(candidate) => {
                    given.push(candidate.sequence);
                    match slice.push(candidate.to_stream()) {
                        StreamPush::Kept { dropped, withdrawn: None } => {
                            prop_assert!(dropped.iter().all(|d| d.sequence != candidate.sequence));
                            dropped
                        }
                        StreamPush::Dropped(item) if item.tokens >= 0 => vec![item],
                        StreamPush::Refused(item) if item.tokens < 0 => vec![item],
                        other => return Err(TestCaseError::fail(format!("{other:?}"))),
                    }
                }
            };
            back.extend(out.into_iter().map(|item| item.sequence));
            let mut all: Vec<_> = slice.live().map(|item| item.sequence).collect();
            prop_assert_eq!(all.len(), slice.live_len());
            all.extend(&back);
            all.sort_unstable();
            let mut expected = given.clone();
            expected.sort_unstable();
            prop_assert_eq!(all, expected);
        }
    }
}
