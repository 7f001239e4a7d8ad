//! Long streams and many kept items: the list is split, joined and swept many times.

use std::collections::HashMap;

use cupel::slicer::{Sequence, StreamSlice};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::batch::{Candidate, batch, selected};
use crate::cases::one_in;

/// Items of 0 to 7 tokens; with `contents`, so many different ones, each of its own size.
fn stream(contents: Option<u16>) -> impl Strategy<Value = Vec<Candidate>> {
    vec(any::<[u16; 2]>(), 300..700).prop_map(move |codes| {
        let candidate = |(position, [name, score]): (usize, [u16; 2])| {
            let name = name % contents.unwrap_or(u16::MAX);
            let tokens = i64::from(name % 8);
            let content = contents.map_or_else(|| position.to_string(), |_| name.to_string());
            let sequence = Sequence::new(u32::from(score % 3), position as u64);
            // Half of the densities are shared by many items.
            let step = if score % 2 == 0 { 50.0 } else { 1.0 };
            let score = (f64::from(score % 1_000) / step).floor() * tokens as f64;
            Candidate::new(score, tokens, sequence, &content)
        };
        codes.into_iter().enumerate().map(candidate).collect()
    })
}

/// The rule, as it is written down, over everything that has arrived.
fn live_by_the_rule(arrived: &[Candidate], budget: i64) -> Vec<Sequence> {
    let sizes: HashMap<Sequence, i64> =
        arrived.iter().map(|c| (c.sequence, c.item.tokens())).collect();
    let greedy_order = batch(arrived, i64::MAX);
    let mut reach = budget;
    let live = |sequence: &Sequence| {
        let tokens = sizes[sequence];
        let live = tokens <= reach;
        if live {
            reach = (tokens - 1).max(reach - tokens);
        }
        live
    };
    greedy_order.into_iter().filter(live).collect()
}

proptest! {
    // Each of these is worth hundreds of the short ones.
    #![proptest_config(one_in(500))]

    #[test]
    fn the_live_set_is_that_of_the_rule(
        stream in stream(None), budget in 1_i64..900, pin in 0_i64..300,
    ) {
        let mut slice = StreamSlice::new(budget);
        let mut left = budget;
        for (number, candidate) in stream.iter().enumerate() {
            let _ = slice.push(candidate.to_stream());
            let arrived = &stream[..=number];
            if number == 250 {
                slice.reserve(pin);
                left = (left - pin).max(0);
            }
            if number % 61 == 0 || number == 250 || number + 1 == stream.len() {
                prop_assert_eq!(selected(&slice), batch(arrived, left));
                let live: Vec<_> = slice.live().map(|item| item.sequence).collect();
                let expected =
                    if left == 0 { Vec::new() } else { live_by_the_rule(arrived, left) };
                prop_assert_eq!(live, expected);
            }
        }
    }

    #[test]
    fn duplicates_in_long_streams_equal_the_batch(
        stream in stream(Some(400)), budget in 1_i64..900, pin in 0_i64..300,
    ) {
        let mut slice = StreamSlice::deduplicating(budget);
        let (mut unique, mut left) = (Vec::<Candidate>::new(), budget);
        for (number, candidate) in stream.iter().enumerate() {
            let _ = slice.push(candidate.to_stream());
            let same = |c: &&mut Candidate| c.item.content() == candidate.item.content();
            match unique.iter_mut().find(same) {
                None => unique.push(candidate.clone()),
                Some(holder) => {
                    let rank = |c: &Candidate| (-c.score, c.sequence);
                    if rank(candidate) < rank(holder) {
                        *holder = candidate.clone();
                    }
                }
            }
            if number == 250 {
                slice.reserve(pin);
                left = (left - pin).max(0);
            }
            if number % 61 == 0 || number == 250 || number + 1 == stream.len() {
                prop_assert_eq!(selected(&slice), batch(&unique, left));
            }
        }
    }
}

#[test]
fn thousands_of_kept_items_come_and_go() {
    // Fills a budget with thousands, then replaces them all by a few large ones.
    let mut slice = StreamSlice::new(20_000);
    let mut copies = StreamSlice::deduplicating(20_000);
    let mut arrived = Vec::new();
    let (mut most, mut number) = (0, 0_u64);
    for (count, smallest, density) in [(8_000, 1, 0), (60, 900, 1_000), (3_000, 1, 2_000)] {
        for _ in 0..count {
            number += 1;
            let spread = (number * 7_919 % 997) as i64;
            let tokens = smallest + spread % 7;
            let score = ((density + spread % 500) * tokens) as f64;
            let sequence = Sequence::new(0, number);
            let candidate = Candidate::new(score, tokens, sequence, &number.to_string());
            let _ = slice.push(candidate.to_stream());
            let _ = copies.push(candidate.to_stream());
            arrived.push(candidate);
            most = most.max(slice.live_len());
        }
        let expected = batch(&arrived, 20_000);
        assert_eq!(selected(&slice), expected);
        assert_eq!(selected(&copies), expected);
        let live: Vec<_> = slice.live().map(|item| item.sequence).collect();
        assert_eq!(live, live_by_the_rule(&arrived, 20_000));
    }
    assert!(most > 4_000, "{most} items were kept at once");
    slice.reserve(19_990);
    assert_eq!(selected(&slice), batch(&arrived, 10));
    assert!(slice.live_len() <= 10, "{} items are kept for 10 tokens", slice.live_len());
}
