//! Selecting takes memory for what can be selected, as the allocator counts it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use allocation_counter::{AllocationInfo, measure};
use cupel::slicer::KnapsackSlice;
use cupel::slicer::{Sequence, StreamContent, StreamItem, StreamSlice};
use cupel::{ContextBudget, ContextItem, ScoredItem, Slicer};

const BUDGET: i64 = 8_000;
const TEXT: usize = 64;

/// A text on the heap, so that every one that is held shows.
#[derive(Clone)]
struct Text(Box<[u8; TEXT]>);

impl Text {
    fn new(number: u64) -> Self {
        let mut text = Box::new([0; TEXT]);
        text[..8].copy_from_slice(&number.to_le_bytes());
        Self(text)
    }
}

impl StreamContent for Text {
    fn content_hash(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = *self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h]).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn same_content(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// Pushes so many items of 40 to 79 tokens; returns the most that were kept, and the memory.
fn stream(
    mut slice: StreamSlice<Text>,
    items: u64,
    score: impl Fn(u64) -> f64,
    content: impl Fn(u64) -> u64,
) -> (usize, AllocationInfo) {
    let mut most = 0;
    let memory = measure(|| {
        for position in 0..items {
            let content = content(position);
            let tokens = 40 + (scramble(content) % 40) as i64;
            let score = score(position) * tokens as f64;
            let sequence = Sequence::new(0, position);
            drop(slice.push(StreamItem::new(score, tokens, sequence, Text::new(content))));
            most = most.max(slice.live_len());
        }
        let selected = slice.finish().selected;
        let tokens: i64 = selected.iter().map(|item| item.tokens).sum();
        assert!((BUDGET - 40..=BUDGET).contains(&tokens), "{tokens} tokens selected");
    });
    assert!(memory.bytes_total >= items * TEXT as u64, "every text was there");
    assert_eq!(memory.count_current, 0, "and every text is gone");
    (most, memory)
}

/// Splitmix64's finish: spreads numbers over all 64 bits.
fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn random(position: u64) -> f64 {
    (scramble(!position) >> 11) as f64
}

#[test]
fn ten_million_items_need_memory_for_a_few_hundred() {
    let (most, memory) = stream(StreamSlice::new(BUDGET), 10_000_000, random, |n| n);
    println!("{most} items and {} bytes at most", memory.bytes_max);
    assert!(most <= 200, "{most} items were kept");
    assert!(memory.bytes_max <= 50_000, "{} bytes at most", memory.bytes_max);
}

#[test]
fn a_stream_that_gets_better_and_better_needs_no_more() {
    // Each item is selected when it arrives, and pushes another one out.
    let (most, memory) = stream(StreamSlice::new(BUDGET), 300_000, |n| n as f64, |n| n);
    println!("{most} items and {} bytes at most", memory.bytes_max);
    assert!(most <= 200, "{most} items were kept");
    assert!(memory.bytes_max <= 50_000, "{} bytes at most", memory.bytes_max);
}

#[test]
fn ten_million_items_with_copies_need_memory_for_a_thousand() {
    // One in five is a copy of an item shortly or long before it.
    let content = |n: u64| if n % 5 == 4 { scramble(n) % n } else { n };
    let (most, memory) = stream(StreamSlice::deduplicating(BUDGET), 10_000_000, random, content);
    println!("{most} items and {} bytes at most", memory.bytes_max);
    assert!(most <= 1_200, "{most} items were kept");
    assert!(memory.bytes_max <= 400_000, "{} bytes at most", memory.bytes_max);
}

/// The specification's guard lets a table of 49,999,999 buckets for one item pass.
#[test]
fn a_knapsack_takes_memory_for_its_items_not_for_its_budget() {
    let item = ContextItem::new("small", 40).unwrap();
    let scored = [ScoredItem::new(&item, 0.5)];
    let budget = ContextBudget::builder(49_999_999).build().unwrap();
    let knapsack = KnapsackSlice::new(1).unwrap();
    let memory = measure(|| assert_eq!(knapsack.slice(&scored, &budget).unwrap().indices, [0]));
    assert!(memory.bytes_max < 10_000, "{memory:?}");
}
