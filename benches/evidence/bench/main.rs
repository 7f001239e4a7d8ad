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
//! With `CUPEL_EMBEDDINGS_URL=<address without /embeddings>` there are `embeddings-blend` and `embeddings`, the same with
//! a server, and the way `planned` uses it beside the words. See `EmbeddingsServer::from_env` for its settings.
//!
//! A set of documents alone is also measured as `<file>+talk`: all other questions are messages beside the
//! documents.
//!
//! The way `planned` sends each conversation through a layer with `Policy::chat` and looks into the body:
//! `evidence <file> <window> planned <share>` is the share of the evidence's sentences that it contains, and
//! `recalled` the mean of the tokens that were quoted. `planted` are written conversations in which one
//! sentence is the answer; `planted-paraphrased` asks for it in other words. `talk-<kind>` are written conversations of
//! 100,000 tokens with instructions and preferences that a user says once. `CUPEL_WAYS=planned` measures this way alone.
//!
//! The share of the other ways is that of the evidence's tokens, of what could fit in the budget, as the mean over the
//! questions that have evidence. A token is four characters, and an item has four more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use cupel_bench_evidence::embeddings::EmbeddingsServer;
use cupel_bench_evidence::planned::{PlannedEvidence, PlannedWay, WINDOWS, sentences};
use cupel_bench_evidence::planted::{self, PlantedFacts, Replies};
use cupel_bench_evidence::sets::{Asked, Set, sets};
use cupel_bench_evidence::talks::{Needed, Talk, talks};
use cupel_bench_evidence::ways::Way;

const BUDGETS: [i64; 4] = [500, 1_000, 2_000, 4_000];

fn main() {
    // `cargo test --benches` asks whether it works: one set and one budget show that.
    let smoke = std::env::args().any(|argument| argument == "--test");
    let budgets = if smoke { &BUDGETS[..1] } else { &BUDGETS[..] };
    let (sets, ways) = (sets(), Way::all());
    planned(&sets, smoke);
    if std::env::var("CUPEL_WAYS").is_ok_and(|only| only == "planned") {
        return;
    }
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

/// Measures what is in the bodies that are sent.
fn planned(sets: &[Set], smoke: bool) {
    let print = |name: &str, window: i64, all: Vec<PlannedEvidence>| {
        let mean = |value: fn(&PlannedEvidence) -> f64| {
            all.iter().map(value).sum::<f64>() / all.len().max(1) as f64
        };
        if !all.is_empty() {
            println!("evidence {name} {window} planned {:.3}", mean(|it| it.share));
            println!("evidence {name} {window} recalled {:.0}", mean(|it| it.recalled_tokens));
        }
    };
    let server = EmbeddingsServer::from_env();
    for window in WINDOWS {
        let way = PlannedWay::new(window, server.clone());
        for set in sets.iter().take(if smoke { 1 } else { usize::MAX }) {
            print(&set.name, window, set.asked().filter_map(|asked| way.measure(&asked)).collect());
        }
    }
    let planted = [("planted", Replies::Long, 8_000), ("planted-short", Replies::Short, 1_500)];
    for (name, replies, window) in planted {
        let way = PlannedWay::new(window, server.clone());
        let (mut facts, mut others) = (Vec::new(), Vec::new());
        for PlantedFacts { items, questions, paraphrased } in planted::conversations(replies) {
            let send = |(question, fact): &(_, String)| {
                way.send(&items, question, std::slice::from_ref(fact))
            };
            facts.extend(questions.iter().filter_map(send));
            others.extend(paraphrased.iter().filter_map(send));
        }
        print(name, window, facts);
        print(&format!("{name}-paraphrased"), window, others);
    }
    let talks = talks(if smoke { 1 } else { 10 });
    for window in WINDOWS {
        let way = PlannedWay::new(window, None);
        for (kind, name) in Needed::ALL {
            let mut all = Vec::new();
            for Talk { items, questions } in &talks {
                for (_, question, said) in questions.iter().filter(|asked| asked.0 == kind) {
                    all.extend(way.send(items, question, &sentences(said)));
                }
            }
            print(&format!("talk-{name}"), window, all);
        }
    }
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
