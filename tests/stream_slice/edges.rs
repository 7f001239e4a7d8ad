//! The ends of the number line, empty budgets, and what callers may get wrong.

use std::sync::Arc;

use cupel::CupelError;
use cupel::slicer::{Sequence, StreamBounds, StreamItem, StreamPush, StreamSlice};

use crate::batch::{Candidate, batch, selected};

fn item(score: f64, tokens: i64, position: u64) -> StreamItem<u64> {
    StreamItem::new(score, tokens, Sequence::new(0, position), position)
}

#[test]
fn negative_tokens_are_refused() {
    let mut slice = StreamSlice::new(10);
    for tokens in [-1, i64::MIN] {
        let StreamPush::Refused(back) = slice.push(item(1.0, tokens, 7)) else {
            panic!("{tokens} tokens were not refused");
        };
        assert_eq!((back.tokens, back.payload), (tokens, 7));
    }
    assert_eq!(slice.live_len(), 0);
}

#[test]
fn the_largest_sizes_and_budgets_do_not_wrap() {
    let most = i64::MAX;
    let sizes = [most, most - 1, most, 1, most / 2, most / 2 + 1, 2, 0, most - 2, most / 3, 3];
    for budget in [most, most - 1, most / 2, 3] {
        // Ever lower and ever higher densities.
        for sign in [-1.0, 1.0] {
            let mut slice = StreamSlice::new(budget);
            let mut copies = StreamSlice::deduplicating(budget);
            let mut arrived = Vec::new();
            for (position, tokens) in sizes.into_iter().enumerate() {
                let score = (20.0 + sign * position as f64) * tokens as f64;
                let sequence = Sequence::new(0, position as u64);
                let candidate = Candidate::new(score, tokens, sequence, &position.to_string());
                let _ = slice.push(candidate.to_stream());
                let _ = copies.push(candidate.to_stream());
                copies.compact();
                arrived.push(candidate);
                assert_eq!(selected(&slice), batch(&arrived, budget), "{tokens} of {budget}");
                assert_eq!(selected(&copies), batch(&arrived, budget), "{tokens} of {budget}");
            }
            slice.reserve(most);
            assert_eq!((slice.budget(), slice.live_len()), (0, 0));
        }
    }
}

#[test]
fn an_empty_budget_selects_nothing_not_even_what_costs_nothing() {
    for budget in [0, -5, i64::MIN] {
        let mut slice = StreamSlice::new(budget);
        assert!(matches!(slice.push(item(1.0, 0, 0)), StreamPush::Dropped(_)));
        assert_eq!(slice.budget(), 0);
    }
    // As soon as pinned items have used the budget up, as well.
    let mut slice = StreamSlice::new(10);
    assert!(slice.push(item(1.0, 0, 0)).is_kept());
    assert!(slice.push(item(1.0, 4, 1)).is_kept());
    let out: Vec<u64> = slice.reserve(12).into_iter().map(|item| item.payload).collect();
    assert_eq!((out, slice.live_len()), (vec![0, 1], 0));
}

#[test]
fn a_budget_only_shrinks() {
    let mut slice = StreamSlice::new(10);
    assert!(slice.push(item(1.0, 4, 0)).is_kept());
    let Err(CupelError::SlicerConfig(error)) = slice.shrink_budget(11) else {
        panic!("the budget grew");
    };
    assert_eq!(
        error.to_string(),
        "StreamSlice: budget: can only shrink, must be at most 10, got 11"
    );
    slice.reserve(-3);
    assert_eq!(slice.budget(), 10);
    assert!(slice.shrink_budget(10).unwrap().is_empty());
    assert_eq!(slice.shrink_budget(-1).unwrap().len(), 1);
    assert_eq!(slice.budget(), 0);
}

#[test]
fn what_cannot_be_selected_is_not_held() {
    let payload = Arc::new(());
    let mut slice = StreamSlice::new(10);
    let mut push = |score, tokens, position| {
        let sequence = Sequence::new(0, position);
        drop(slice.push(StreamItem::new(score, tokens, sequence, Arc::clone(&payload))));
        Arc::strong_count(&payload) - 1
    };
    assert_eq!(push(6.0, 6, 0), 1);
    assert_eq!(push(4.0, 6, 1), 1, "behind one of 6, at most 5 are left");
    assert_eq!(push(50.0, 5, 2), 1, "takes the place of the one of 6");
}

#[test]
fn two_items_of_one_sequence_go_by_arrival() {
    let mut slice = StreamSlice::new(10);
    for payload in ["first", "second", "third"] {
        let _ = slice.push(StreamItem::new(1.0, 4, Sequence::new(0, 0), payload));
    }
    let payloads: Vec<_> = slice.selection().map(|item| item.payload).collect();
    assert_eq!(payloads, ["first", "second"]);
}

#[test]
fn copies_that_disagree_about_their_size_still_leave_one() {
    let copy = |score, tokens, position| {
        Candidate::new(score, tokens, Sequence::new(0, position), "same text").to_stream()
    };
    let mut slice = StreamSlice::deduplicating(10);
    assert!(slice.push(copy(1.0, 4, 0)).is_kept());
    assert!(matches!(slice.push(copy(0.5, 2, 1)), StreamPush::Duplicate(_)));
    // The better one counts, whatever it costs; as in a batch, nothing is selected then.
    assert!(slice.push(copy(2.0, 40, 2)).is_kept());
    assert_eq!((slice.live_len(), slice.selection().count()), (1, 0));
    assert!(slice.push(copy(3.0, 3, 3)).is_kept());
    assert_eq!(slice.selection().map(|item| item.tokens).collect::<Vec<_>>(), [3]);
    assert!(slice.compact().is_empty());
}

#[test]
fn a_copy_that_no_longer_fits_makes_room_for_what_comes_later() {
    let other = |score, position| {
        Candidate::new(score, 8, Sequence::new(0, position), &position.to_string()).to_stream()
    };
    let copy =
        |score, tokens| Candidate::new(score, tokens, Sequence::new(1, 0), "same text").to_stream();
    let mut slice = StreamSlice::deduplicating(10);
    assert!(slice.push(copy(9.0, 8)).is_kept());
    assert!(slice.compact().is_empty());
    assert!(matches!(slice.push(other(1.0, 0)), StreamPush::Dropped(_)));
    assert!(slice.push(copy(10.0, 40)).is_kept());
    assert!(slice.push(other(0.5, 1)).is_kept());
    assert_eq!(slice.selection().map(|item| item.score).collect::<Vec<_>>(), [0.5]);
}

#[test]
fn a_source_that_breaks_a_promise_is_not_believed_any_more() {
    let strict = || StreamBounds::new(0).max_score(1.0).min_tokens(5).never_pinned();
    let mut slice = StreamSlice::new(10);
    assert!(slice.push(item(20.0, 8, 0)).is_kept());
    assert!(slice.is_settled([&strict()]));

    let breaks = [item(1.5, 5, 1), item(0.5, 4, 1)];
    for broken in breaks {
        let mut bounds = strict();
        assert!(!bounds.observe(&broken));
        assert!(!slice.is_settled([&bounds]));
    }
    let mut bounds = strict();
    assert!(!bounds.observe_pinned(Sequence::new(0, 1)));
    assert!(!slice.is_settled([&bounds]));

    let mut bounds = strict().descending_density();
    assert!(bounds.observe(&item(0.5, 10, 1)));
    assert!(bounds.observe(&item(f64::NAN, -3, 2)), "what is refused breaks nothing");
    assert!(bounds.observe(&item(0.5, 10, 3)));
    assert!(!bounds.observe(&item(0.6, 10, 4)));
    assert!(!slice.is_settled([&bounds]));
}
