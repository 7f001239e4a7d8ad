//! Stopping early never changes the outcome, and is possible as soon as it could not.

use cupel::ContextItem;
use cupel::slicer::{Sequence, StreamBounds, StreamItem, StreamSlice};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::batch::{Candidate, selected};
use crate::cases::one_in;

fn is_settled(slice: &StreamSlice<ContextItem>, open: &[Source]) -> bool {
    slice.is_settled(open.iter().map(|source| &source.bounds))
}

/// A source with what it may still yield.
#[derive(Debug, Clone)]
struct Source {
    bounds: StreamBounds,
    number: u32,
    max_score: i64,
    min_tokens: i64,
}

impl Source {
    fn new(number: u32, max_score: i64, min_tokens: i64) -> Self {
        let bounds = StreamBounds::new(number)
            .max_score(max_score as f64 * 0.5)
            .min_tokens(min_tokens)
            .never_pinned();
        Self { bounds, number, max_score, min_tokens }
    }

    /// Every item it may yield next, in steps of half a score: of a new content, or a copy.
    fn next_items(&self, arrived: &[Candidate]) -> Vec<Candidate> {
        let position = arrived.iter().filter(|c| c.sequence.stream == self.number).count();
        let sequence = Sequence::new(self.number, position as u64);
        let scores = || (0..=self.max_score).map(|half| half as f64 * 0.5);
        let new = (self.min_tokens..=9).map(|tokens| (tokens, format!("new {sequence:?}")));
        let copies = arrived
            .iter()
            .map(|c| (c.item.tokens(), c.item.content().to_owned()))
            .filter(|(tokens, _)| *tokens >= self.min_tokens);
        new.chain(copies)
            .flat_map(|(tokens, content)| {
                scores().map(move |score| Candidate::new(score, tokens, sequence, &content))
            })
            .collect()
    }
}

/// Two sources with their promises, and items from both that keep them.
fn instance() -> impl Strategy<Value = (Vec<Source>, Vec<Candidate>)> {
    let promise = (0_i64..6, 1_i64..5);
    (promise.clone(), promise, vec(any::<[u8; 3]>(), 0..6)).prop_map(|(first, second, codes)| {
        let mut sources =
            vec![Source::new(0, first.0, first.1), Source::new(1, second.0, second.1)];
        let mut arrived: Vec<Candidate> = Vec::new();
        for [source, tokens, score] in codes {
            let source = &mut sources[usize::from(source % 2)];
            let position = arrived.iter().filter(|c| c.sequence.stream == source.number).count();
            let sequence = Sequence::new(source.number, position as u64);
            let tokens = source.min_tokens + i64::from(tokens % 4);
            let score = (i64::from(score) % (source.max_score + 1)) as f64 * 0.5;
            let candidate = Candidate::new(score, tokens, sequence, &format!("{sequence:?}"));
            assert!(source.bounds.observe(&candidate.to_stream()));
            arrived.push(candidate);
        }
        (sources, arrived)
    })
}

proptest! {
    #![proptest_config(one_in(5))]

    #[test]
    fn a_selection_is_settled_exactly_if_no_next_item_changes_it(
        (sources, arrived) in instance(), budget in 0_i64..10, copies in any::<bool>(),
    ) {
        let mut slice =
            if copies { StreamSlice::deduplicating(budget) } else { StreamSlice::new(budget) };
        for candidate in &arrived {
            let _ = slice.push(candidate.to_stream());
        }
        let before = selected(&slice);
        for source in sources {
            let changes = |next: &Candidate| {
                let mut slice = slice.clone();
                let _ = slice.push(next.to_stream());
                selected(&slice) != before
            };
            let changed = source.next_items(&arrived).iter().any(changes);
            prop_assert_eq!(is_settled(&slice, &[source]), !changed);
        }
    }

    #[test]
    fn a_settled_selection_survives_every_pair_of_items(
        (sources, arrived) in instance(), budget in 0_i64..10,
    ) {
        let mut slice = StreamSlice::deduplicating(budget);
        for candidate in &arrived {
            let _ = slice.push(candidate.to_stream());
        }
        let before = selected(&slice);
        if is_settled(&slice, &sources) {
            for first in sources[0].next_items(&arrived).iter().step_by(3) {
                let mut slice = slice.clone();
                let _ = slice.push(first.to_stream());
                for second in sources[1].next_items(&arrived) {
                    let mut slice = slice.clone();
                    let _ = slice.push(second.to_stream());
                    prop_assert_eq!(selected(&slice), &before[..]);
                }
            }
        }
    }

    #[test]
    fn stopping_when_settled_gives_the_selection_of_the_whole_stream(
        codes in vec(any::<[u8; 3]>(), 1..40), budget in 0_i64..30, promises in any::<[bool; 6]>(),
    ) {
        let mut sources: [Vec<(f64, i64)>; 2] = Default::default();
        for [source, tokens, score] in codes {
            let tokens = 2 + i64::from(tokens % 6);
            sources[usize::from(source % 2)].push((f64::from(score % 16) * 0.5, tokens));
        }
        let mut open: Vec<(StreamBounds, Vec<StreamItem<()>>)> = Vec::new();
        for (number, mut items) in (0_u32..).zip(sources) {
            let [score, tokens, descending] = [0, 1, 2].map(|i| promises[3 * number as usize + i]);
            let mut bounds = StreamBounds::new(number).never_pinned().min_tokens(1);
            if score {
                bounds = bounds.max_score(items.iter().map(|item| item.0).fold(0.0, f64::max));
            }
            if tokens {
                bounds = bounds.min_tokens(items.iter().map(|item| item.1).min().unwrap_or(2));
            }
            if descending {
                items.sort_by(|a, b| (b.0 / b.1 as f64).total_cmp(&(a.0 / a.1 as f64)));
                bounds = bounds.descending_density();
            }
            let item = |(position, (score, tokens)): (usize, (f64, i64))| {
                StreamItem::new(score, tokens, Sequence::new(number, position as u64), ())
            };
            let items = items.into_iter().enumerate().map(item);
            // Taken from the back.
            open.push((bounds, items.rev().collect()));
        }
        let mut slice = StreamSlice::new(budget);
        let mut stopped_with = None;
        while !open.is_empty() {
            let turn = slice.live_len() % open.len();
            if stopped_with.is_none() && slice.is_settled(open.iter().map(|(bounds, _)| bounds)) {
                stopped_with = Some(selected(&slice));
            }
            let (bounds, items) = &mut open[turn];
            match items.pop() {
                Some(item) => {
                    prop_assert!(bounds.observe(&item));
                    let _ = slice.push(item);
                }
                None => drop(open.remove(turn)),
            }
        }
        if let Some(stopped_with) = stopped_with {
            prop_assert_eq!(stopped_with, selected(&slice));
        }
    }
}

fn push(slice: &mut StreamSlice<()>, score: f64, tokens: i64, position: u64) {
    let _ = slice.push(StreamItem::new(score, tokens, Sequence::new(0, position), ()));
}

#[test]
fn a_pin_or_an_item_without_tokens_may_always_come_unless_excluded() {
    let mut slice = StreamSlice::new(10);
    push(&mut slice, 10.0, 10, 0);
    let bounds = StreamBounds::new(1).max_score(1.0);
    assert!(!slice.is_settled([&bounds.min_tokens(1)]), "a pin takes from the budget");
    assert!(!slice.is_settled([&bounds.never_pinned()]), "an item without tokens always fits");
    assert!(!slice.is_settled([&bounds.never_pinned().min_tokens(-4)]));
    assert!(slice.is_settled([&bounds.never_pinned().min_tokens(1)]));
    assert!(slice.is_settled([]), "nothing is open");
}

#[test]
fn one_open_source_without_promises_keeps_the_selection_open() {
    let mut slice = StreamSlice::new(10);
    push(&mut slice, 10.0, 10, 0);
    let quiet = StreamBounds::new(1).max_score(1.0).min_tokens(1).never_pinned();
    let unknown = StreamBounds::new(2).min_tokens(1).never_pinned();
    assert!(slice.is_settled([&quiet, &quiet]));
    assert!(!slice.is_settled([&quiet, &unknown]));
    assert!(!slice.is_settled([&quiet, &unknown.max_score(f64::NAN)]), "NaN promises nothing");
}

#[test]
fn equal_items_settle_by_their_place_in_the_batch() {
    let mut slice = StreamSlice::new(10);
    for position in 0..2 {
        let sequence = Sequence::new(1, position);
        let _ = slice.push(StreamItem::new(1.0, 5, sequence, ()));
    }
    let equal = |source| StreamBounds::new(source).max_score(1.0).min_tokens(5).never_pinned();
    assert!(!slice.is_settled([&equal(0)]), "an equal item of an earlier source comes first");
    assert!(slice.is_settled([&equal(2)]), "one of a later source comes last");
}

#[test]
fn a_falling_density_settles_when_it_has_passed_the_last_that_fits() {
    let mut slice = StreamSlice::new(10);
    let mut bounds = StreamBounds::new(0).min_tokens(4).descending_density().never_pinned();
    for (position, (score, settled)) in [(8.0, false), (7.0, false), (6.0, true)].iter().enumerate()
    {
        let item = StreamItem::new(*score, 4, Sequence::new(0, position as u64), ());
        assert!(bounds.observe(&item));
        let _ = slice.push(item);
        assert_eq!(slice.is_settled([&bounds]), *settled, "after a score of {score}");
    }
}

#[test]
fn scores_below_zero_weigh_less_on_larger_items() {
    let mut slice = StreamSlice::new(3);
    push(&mut slice, -0.24, 2, 0);
    // -0.3 on 2 tokens comes behind that and finds 1 left, but on 3 tokens it comes before it.
    let bounds = StreamBounds::new(1).max_score(-0.3).min_tokens(2).never_pinned();
    assert!(!slice.is_settled([&bounds]));
    push(&mut slice, 1.0, 3, 1);
    assert!(slice.is_settled([&bounds]));
}
