//! Selecting while items arrive, beside collecting them and selecting then.
//!
//! `cargo bench --bench stream` prints one table. Every row is measured in the same run: rounds
//! alternate between the contestants, and the table holds medians. `-- --quick` takes fewer
//! rounds. A ratio below 1 means that the stream is faster than the batch.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod data;
mod runs;

use std::time::{Duration, Instant};

use cupel_dev::{Effort, median};
use data::Order;

fn main() {
    let effort = Effort::from_arguments();
    let most = effort.pick(1_000, usize::MAX, usize::MAX);

    println!(
        "{:<34}{:>9}{:>10}{:>10}{:>11}{:>8}{:>9}",
        "greedy", "N", "budget", "batch ms", "stream ms", "ratio", "ns/item"
    );
    for (n, budget) in [(10_000, 8_000), (100_000, 8_000), (1_000_000, 8_000)] {
        greedy("random order", Order::Random, n.min(most), budget, effort);
    }
    for budget in [128_000, 1_000_000] {
        greedy("random order, larger budget", Order::Random, 100_000.min(most), budget, effort);
    }
    greedy("best first", Order::Falling, 100_000.min(most), 8_000, effort);
    greedy("best last", Order::Rising, 100_000.min(most), 8_000, effort);
    for (n, budget) in [(10_000, 8_000), (100_000, 8_000), (100_000, 128_000)] {
        deduplicated(n.min(most), budget, effort);
    }
}

fn greedy(name: &str, order: Order, n: usize, budget: i64, effort: Effort) {
    let arrivals = data::arrivals(n, order);
    assert_eq!(runs::batch(&arrivals, budget), runs::stream(&arrivals, budget));
    let times = medians(
        effort,
        &mut [&mut || drop(runs::batch(&arrivals, budget)), &mut || {
            drop(runs::stream(&arrivals, budget));
        }],
    );
    row(name, n, budget, times);
}

fn deduplicated(n: usize, budget: i64, effort: Effort) {
    let arrivals = data::with_copies(n);
    let pipeline = runs::pipeline();
    assert!(runs::same_items(
        &runs::batch_pipeline(&pipeline, &arrivals, budget),
        &runs::stream_deduplicated(&arrivals, budget)
    ));
    let times = medians(
        effort,
        &mut [&mut || drop(runs::batch_pipeline(&pipeline, &arrivals, budget)), &mut || {
            drop(runs::stream_deduplicated(&arrivals, budget));
        }],
    );
    row("deduplicating, beside a pipeline", n, budget, times);
}

fn row(name: &str, n: usize, budget: i64, times: [f64; 2]) {
    let [batch, stream] = times;
    println!(
        "{name:<34}{n:>9}{budget:>10}{batch:>10.3}{stream:>11.3}{:>7.2}x{:>9.1}",
        stream / batch,
        stream * 1e6 / n as f64
    );
}

/// The median time of each contestant in milliseconds; they take turns in every round.
fn medians(effort: Effort, contestants: &mut [&mut dyn FnMut(); 2]) -> [f64; 2] {
    let at_least = Duration::from_millis(effort.pick(0, 5, 20));
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..effort.pick(1, 5, 15) {
        for (contestant, samples) in contestants.iter_mut().zip(&mut samples) {
            let (start, mut times) = (Instant::now(), 0);
            while times == 0 || start.elapsed() < at_least {
                contestant();
                times += 1;
            }
            samples.push(start.elapsed().as_secs_f64() * 1e3 / f64::from(times));
        }
    }
    samples.map(median)
}
