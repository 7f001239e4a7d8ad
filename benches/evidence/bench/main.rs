//! Share of the evidence for an answer that a budget keeps, for each way of selecting.
//!
//! `cargo bench --bench evidence` reads the conversations in `benches/evidence/data`, and with
//! `CUPEL_EVIDENCE_DIR=<folder>` every `*.jsonl` in that folder as well. It prints one line for each
//! file, budget and way, `evidence <file> <budget> <way> <share>`, and then a table.
//!
//! With `CUPEL_MODEL2VEC_DIR=<folder>`, which holds the files of a model2vec model, there are two more
//! ways: `blend`, the words and the model together, and `meaning`, the model alone.
//! `CUPEL_BLEND_WEIGHT=<share>` sets the model's share.
//!
//! A set of documents alone is also measured as `<file>+talk`: all other questions are messages beside the
//! documents.
//!
//! The share is that of the evidence's tokens, of what could fit in the budget, as the mean over the
//! questions that have evidence. A token is four characters, and an item has four more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use cupel_bench_evidence::sets::{Asked, Set, sets};
use cupel_bench_evidence::ways::Way;

const BUDGETS: [i64; 4] = [500, 1_000, 2_000, 4_000];

fn main() {
    // `cargo test --benches` asks whether it works: one set and one budget show that.
    let smoke = std::env::args().any(|argument| argument == "--test");
    let budgets = if smoke { &BUDGETS[..1] } else { &BUDGETS[..] };
    let (sets, ways) = (sets(), Way::all());
    let mut rows = Vec::new();
    for set in sets.iter().take(if smoke { 1 } else { usize::MAX }) {
        for &budget in budgets {
            let shares: Vec<f64> = ways.iter().map(|way| share(set, way, budget)).collect();
            for (way, share) in ways.iter().zip(&shares) {
                println!("evidence {} {budget} {} {share:.3}", set.name, way.name());
            }
            rows.push((set.name.as_str(), budget, shares));
        }
    }
    table(&ways, &rows);
}

/// The mean share of the evidence that a way keeps.
fn share(set: &Set, way: &Way, budget: i64) -> f64 {
    let asked: Vec<Asked<'_>> = set.asked().collect();
    let shares = asked.iter().map(|asked| {
        let kept = way.select(asked, budget);
        let tokens = |index: &usize| asked.items[*index].tokens();
        let all: i64 = asked.evidence.iter().map(tokens).sum();
        let found: i64 = asked.evidence.iter().filter(|at| kept.contains(at)).map(tokens).sum();
        found as f64 / all.min(budget) as f64
    });
    shares.sum::<f64>() / asked.len() as f64
}

fn table(ways: &[Way], rows: &[(&str, i64, Vec<f64>)]) {
    print!("\n| set | budget |");
    ways.iter().for_each(|way| print!(" {} |", way.name()));
    print!("\n| --- | ---: |");
    ways.iter().for_each(|_| print!(" ---: |"));
    println!();
    for (set, budget, shares) in rows {
        print!("| {set} | {budget} |");
        shares.iter().for_each(|share| print!(" {share:.3} |"));
        println!();
    }
}
