//! Medians of alternating rounds.

use std::hash::BuildHasher;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cupel_dev::{Effort, median};

/// Something to time. A contestant times itself, so that preparation can stay outside.
pub(crate) type Contestant<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// Times one call of `work` after another, without preparation.
pub(crate) fn timed<'a, T>(mut work: impl FnMut() -> T + 'a) -> Contestant<'a> {
    Box::new(move || {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    })
}

/// The median time of each contestant, in milliseconds; they take turns in every round.
pub(crate) fn medians(effort: Effort, contestants: &mut [Contestant<'_>]) -> Vec<f64> {
    // How long one round of a fast contestant lasts at least.
    let round_seconds = effort.pick(0.0, 0.005, 0.02);
    let mut samples = vec![Vec::new(); contestants.len()];
    for contestant in contestants.iter_mut() {
        contestant(); // warm up
    }
    for round in 0..effort.pick(1, 5, 15) {
        for (contestant, samples) in contestants.iter_mut().zip(&mut samples) {
            let first = contestant();
            // A contestant that takes seconds gets fewer rounds: its median is steady anyway.
            if first > Duration::from_millis(300) && round >= 3 {
                continue;
            }
            let repeats = (round_seconds / first.as_secs_f64().max(1e-9)) as u32;
            let repeats = repeats.clamp(1, 10_000);
            let total: Duration = (0..repeats).map(|_| contestant()).sum();
            samples.push(total.as_secs_f64() * 1_000.0 / f64::from(repeats));
        }
    }
    samples.into_iter().map(median).collect()
}

/// Reads every byte of every content once, with a fast hasher.
pub(crate) fn hash_contents(items: &[cupel::ContextItem]) -> u64 {
    let hasher = foldhash::fast::FixedState::default();
    items.iter().fold(0, |all, item| all ^ hasher.hash_one(item.content().as_bytes()))
}

/// The least any deduplicating selection must do: read every byte once and sort the scores once.
pub(crate) fn limit(items: &[cupel::ContextItem]) -> (u64, Vec<(f64, u32)>) {
    let hashes = hash_contents(items);
    let hints = items.iter().map(|item| item.future_relevance_hint().unwrap_or(0.0));
    let mut keys: Vec<(f64, u32)> = hints.zip(0..).collect();
    keys.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    (hashes, keys)
}
