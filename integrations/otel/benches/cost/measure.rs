//! Medians of many short samples, taken in turns, and the rows they make.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Approximate length of a sample: long beside a clock reading, short beside a time slice.
const SAMPLE: Duration = Duration::from_micros(40);

/// Something to time, by name, and how many times as long as the first it may take.
pub(crate) struct Contestant<'a> {
    name: &'static str,
    goal: Option<f64>,
    work: Box<dyn FnMut() + 'a>,
}

impl<'a> Contestant<'a> {
    pub(crate) fn new<T>(name: &'static str, mut work: impl FnMut() -> T + 'a) -> Self {
        Self { name, goal: None, work: Box::new(move || drop(black_box(work()))) }
    }

    pub(crate) fn at_most(self, ratio: f64) -> Self {
        Self { goal: Some(ratio), ..self }
    }

    /// Measures one piece of work by doing it `repeats` times.
    fn sample(&mut self, repeats: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..repeats {
            (self.work)();
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(repeats)
    }
}

/// Prints a row for each contestant but the first, against the first.
pub(crate) fn print(n: usize, samples: usize, mut contestants: Vec<Contestant<'_>>) {
    let repeats: Vec<u32> = contestants.iter_mut().map(repeats).collect();
    let mut taken = vec![Vec::with_capacity(samples); contestants.len()];
    for turn in 0..samples {
        // Whoever comes after a heavy one finds a cold cache: everybody does in turn.
        for place in 0..contestants.len() {
            let at = (place + turn) % contestants.len();
            taken[at].push(contestants[at].sample(repeats[at]));
        }
    }
    let medians: Vec<f64> = taken.into_iter().map(median).collect();
    let (against, base) = (contestants[0].name, medians[0]);
    for (contestant, median) in contestants.iter().zip(medians).skip(1) {
        let ratio = median / base;
        let (goal, verdict) = match contestant.goal {
            Some(goal) if ratio <= goal => (format!("<= {goal}x"), "reached"),
            Some(goal) => (format!("<= {goal}x"), "MISSED"),
            None => ("for scale".to_owned(), ""),
        };
        println!(
            "| {} | {n} | {median:.2} | {against} | {base:.2} | {ratio:.2}x | {goal} | {verdict} |",
            contestant.name,
        );
    }
}

fn repeats(contestant: &mut Contestant<'_>) -> u32 {
    let once = (0..50).map(|_| contestant.sample(1)).fold(f64::INFINITY, f64::min);
    (SAMPLE.as_secs_f64() * 1e6 / once.max(0.001)).clamp(1.0, 200.0) as u32
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
