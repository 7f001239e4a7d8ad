//! Medians of many samples, taken in turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cupel_dev::{Effort, median};

/// Something to time: does its work once, and says how long that took.
pub(crate) type Contestant<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// Times `work` on an input that is prepared, and on an output that is dropped, outside the clock.
pub(crate) fn timed<'a, I, T>(
    prepare: impl Fn() -> I + 'a,
    work: impl Fn(I) -> T + 'a,
) -> Contestant<'a> {
    Box::new(move || {
        let input = prepare();
        let start = Instant::now();
        let output = black_box(work(input));
        let elapsed = start.elapsed();
        drop(output);
        elapsed
    })
}

/// The median time of each contestant, in microseconds; they take turns, sample by sample.
pub(crate) fn medians<const N: usize>(
    effort: Effort,
    mut contestants: [Contestant<'_>; N],
) -> [f64; N] {
    let mut samples = [const { Vec::new() }; N];
    for contestant in &mut contestants {
        contestant(); // warm up
    }
    for _ in 0..effort.pick(1, 21, 201) {
        for (contestant, samples) in contestants.iter_mut().zip(&mut samples) {
            samples.push(contestant().as_secs_f64() * 1e6);
        }
    }
    samples.map(median)
}
