//! Share of the tools that questions need which is in view, and what leaving out the others costs.
//!
//! `cargo bench --bench tools` reads the sets in `benches/tools/data`, and with `CUPEL_TOOLS_DIR=<folder>`
//! every `*.jsonl` in that folder as well. A line is `{"name", "tools": [definitions of Chat Completions]}` and
//! either `"questions": [{"question", "needs": [names]}]` or
//! `"conversations": [{"name", "turns": [{"user", "needs": [names]}]}]`.
//!
//! Every request goes through a layer with `Policy::chat`, in a window that all tools do not fit in.
//!
//! - `tools <set> first <k> <share>`: share of the needed tools among the first k by score.
//! - `tools <set> <tokens> ...`: for a budget of definitions, the share of the needed tools in view, the tools in
//!   view and their tokens as means, and for conversations the changes of the set a turn and the cost of the
//!   input, with a cached token for a tenth, as a share of the cost of sending all tools where these fit.
//! - `tools choose 1000 <milliseconds>`: one warm choice among 1,000 tools after 20 questions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

use cupel_bench_tools::measure::{Layer, conversations, first, questions, time};
use cupel_bench_tools::sets::sets;

/// Tokens that definitions may take.
const BUDGETS: [i64; 6] = [1_000, 2_000, 4_000, 4_500, 5_000, 8_000];
const FIRST: [usize; 4] = [5, 10, 20, 40];

fn main() {
    // `cargo test --benches` asks whether it works.
    let smoke = std::env::args().any(|argument| argument == "--test");
    for set in sets() {
        if !set.questions.is_empty() {
            for (k, share) in FIRST.into_iter().zip(first(&set, FIRST)) {
                println!("tools {} first {k} {share:.3}", set.name);
            }
        }
        let offered = set.offered_tokens();
        println!("tools {} offered {} tools {offered} tokens", set.name, set.tools.len());
        let mut budgets: Vec<i64> = BUDGETS.into_iter().filter(|it| *it < offered).collect();
        // Small sets have smaller budgets.
        budgets.extend([offered / 4, offered / 2]);
        budgets.sort_unstable();
        budgets.dedup();
        for budget in budgets.into_iter().take(if smoke { 1 } else { usize::MAX }) {
            let layer = Layer::new(budget, offered);
            if !set.questions.is_empty() {
                println!("tools {} {budget} {}", set.name, questions(&set, &layer));
            }
            if !set.conversations.is_empty() {
                println!("tools {} {budget} {}", set.name, conversations(&set, &layer));
            }
        }
    }
    println!("tools choose 1000 {:.2} ms", time(if smoke { 1 } else { 200 }));
}
