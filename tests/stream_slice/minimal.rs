//! Nothing is kept in vain: for every kept item there is a future that selects it.

use cupel::slicer::{Sequence, StreamSlice};

use crate::batch::{Candidate, batch, selected};

/// Far above every density that [`item`] gives.
const FRONT: i64 = 10_000;

/// The item that comes at this place of the greedy order.
fn item(place: usize, tokens: i64) -> Candidate {
    dense(100 - 10 * place as i64, tokens, Sequence::new(0, place as u64), &format!("item {place}"))
}

/// Scores and densities are whole numbers, so nothing is rounded.
fn dense(density: i64, tokens: i64, sequence: Sequence, content: &str) -> Candidate {
    Candidate::new((density * tokens) as f64, tokens, sequence, content)
}

/// Every list of four sizes, with every budget up to 8.
fn instances() -> impl Iterator<Item = (Vec<Candidate>, i64)> {
    let sizes = |code: i64| [code % 5, code / 5 % 5, code / 25 % 5, code / 125 % 5].map(|t| t + 1);
    let items = move |code| {
        sizes(code).into_iter().enumerate().map(|(place, t)| item(place, t)).collect::<Vec<_>>()
    };
    (0..625).flat_map(move |code| (1..=8).map(move |budget| (items(code), budget)))
}

/// Sizes to insert before each of `sizes`, 0 for none, so that the greedy pass takes the last.
///
/// Tries everything: an insertion that is taken lowers what is left, and others change nothing.
fn future_that_takes_the_last(sizes: &[i64], left: i64) -> Option<Vec<i64>> {
    let (&first, rest) = sizes.split_first()?;
    (0..=left).find_map(|inserted| {
        let here = left - inserted;
        if rest.is_empty() {
            return (first <= here).then(|| vec![inserted]);
        }
        let behind = if first <= here { here - first } else { here };
        let mut future = future_that_takes_the_last(rest, behind)?;
        future.insert(0, inserted);
        Some(future)
    })
}

#[test]
fn an_item_is_kept_exactly_if_some_future_selects_it() {
    for (items, budget) in instances() {
        let mut slice = StreamSlice::new(budget);
        for candidate in &items {
            let _ = slice.push(candidate.to_stream());
        }
        let sizes: Vec<i64> = items.iter().map(|candidate| candidate.item.tokens()).collect();
        for (place, target) in items.iter().enumerate() {
            let kept = slice.live().any(|item| item.sequence == target.sequence);
            let future = future_that_takes_the_last(&sizes[..=place], budget);
            assert_eq!(kept, future.is_some(), "{sizes:?}, budget {budget}, place {place}");
            let Some(future) = future else { continue };
            // Not only on paper.
            let (mut slice, mut all) = (slice.clone(), items.clone());
            for (gap, tokens) in future.into_iter().enumerate().filter(|(_, tokens)| *tokens > 0) {
                let sequence = Sequence::new(1, gap as u64);
                let newcomer =
                    dense(105 - 10 * gap as i64, tokens, sequence, &format!("new {gap}"));
                let _ = slice.push(newcomer.to_stream());
                all.push(newcomer);
            }
            assert!(selected(&slice).contains(&target.sequence), "{all:?}, budget {budget}");
            assert_eq!(selected(&slice), batch(&all, budget));
        }
    }
}

#[test]
fn a_deduplicating_slice_keeps_nothing_in_vain_either() {
    for (items, budget) in instances() {
        let mut slice = StreamSlice::deduplicating(budget);
        for candidate in &items {
            let _ = slice.push(candidate.to_stream());
        }
        slice.compact();
        for (place, target) in items.iter().enumerate() {
            let tokens = target.item.tokens();
            let no_larger = |other: &&Candidate| other.item.tokens() <= tokens;
            let before: Vec<&Candidate> = items[..place].iter().filter(no_larger).collect();
            let sum: i64 = before.iter().map(|c| c.item.tokens()).sum::<i64>() + tokens;
            let kept = slice.live().any(|item| item.sequence == target.sequence);
            assert_eq!(kept, sum <= budget, "budget {budget}, place {place} of {items:?}");
            if !kept {
                continue;
            }
            // One that leaves just enough, and better copies of all that are no larger.
            let mut slice = slice.clone();
            let filler = dense(2 * FRONT, budget - sum, Sequence::new(1, 0), "filler");
            let _ = slice.push(filler.to_stream());
            for copy in before {
                let sequence = Sequence { stream: 2, ..copy.sequence };
                let better = dense(FRONT, copy.item.tokens(), sequence, copy.item.content());
                assert!(slice.push(better.to_stream()).is_kept());
            }
            assert!(selected(&slice).contains(&target.sequence), "budget {budget}: {items:?}");
        }
    }
}
