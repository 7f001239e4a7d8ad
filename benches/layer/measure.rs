//! Medians of many short samples, taken in turns.
//!
//! A call takes microseconds, so a sample is a few calls: most samples fall between two
//! interruptions by whatever else the machine does, and the median forgets the others.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cupel_dev::{Effort, median};

/// Approximate duration of a sample: long compared with reading the clock, short compared with a
/// time slice.
const SAMPLE: Duration = Duration::from_micros(20);

/// Something to time: does its work this many times, and says how long that took.
pub(crate) type Contestant<'a> = Box<dyn FnMut(usize) -> Duration + 'a>;

/// Times `work` on inputs that are prepared, and on outputs that are dropped, outside the clock.
pub(crate) fn timed<'a, I, T>(
    mut prepare: impl FnMut() -> I + 'a,
    mut work: impl FnMut(I) -> T + 'a,
) -> Contestant<'a> {
    Box::new(move |repeats| {
        let inputs: Vec<I> = (0..repeats).map(|_| prepare()).collect();
        let mut outputs = Vec::with_capacity(repeats);
        let start = Instant::now();
        outputs.extend(inputs.into_iter().map(|input| black_box(work(input))));
        start.elapsed()
    })
}

/// The median time of each contestant, in microseconds; they take turns, sample by sample.
pub(crate) fn medians<const N: usize>(
    effort: Effort,
    mut contestants: [Contestant<'_>; N],
) -> [f64; N] {
    let mut samples = [const { Vec::new() }; N];
    let repeats = contestants.each_mut().map(|contestant| {
        let once = (0..100).map(|_| contestant(1)).min().unwrap_or_default();
        (SAMPLE.as_nanos() / once.as_nanos().max(1)).clamp(1, 200) as usize
    });
    for _ in 0..effort.pick(1, 301, 3_001) {
        let turns = contestants.iter_mut().zip(repeats).zip(&mut samples);
        for ((contestant, repeats), samples) in turns {
            let total = contestant(repeats);
            samples.push(total.as_secs_f64() * 1e6 / repeats as f64);
        }
    }
    samples.map(median)
}
