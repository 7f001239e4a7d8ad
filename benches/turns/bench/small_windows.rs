//! `cargo bench -p cupel-bench-turns --bench small_windows`: cached tokens in the windows of local models.
//!
//! A local server reads any prefix that two requests share from its cache, from the first token on. The plan must
//! read at least the share that newest-first trimming reads, and the program fails where it does not. Calls whose
//! newest message alone is longer than the window are left out. `-- --grid N`
//! takes a grid of N tokens instead of the default, and `-- --windows 1500,3000` other windows.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

use std::path::PathBuf;
use std::process::ExitCode;

use cupel::Policy;
use cupel::model::{Grid, TurnPlan};
use cupel_bench_turns::cache::Rendered;
use cupel_bench_turns::measure::{is_possible, is_trimmed};
use cupel_bench_turns::session::{Session, files};
use cupel_bench_turns::ways::{ANSWER, Layered, Protocol, Sent, newest};
use serde_json::Value;

const WINDOWS: [i64; 12] =
    [1_500, 1_750, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 6_000, 7_000, 8_000];

/// Tokens of the trimmed requests of one way.
#[derive(Debug, Default, Clone, Copy)]
struct WindowTokens {
    calls: i64,
    sent: i64,
    cached: i64,
    /// Tokens of the windows of these calls.
    window: i64,
}

impl WindowTokens {
    fn share(self) -> f64 {
        self.cached as f64 / self.sent.max(1) as f64
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        arguments.iter().position(|one| one == name).map(|at| arguments[at + 1].as_str())
    };
    let grid = value("--grid").map_or(Grid::Cached, |width| Grid::Tokens(width.parse().unwrap()));
    let windows: Vec<i64> = value("--windows").map_or(WINDOWS.to_vec(), |list| {
        list.split(',').map(|window| window.parse().unwrap()).collect()
    });
    let folder = std::env::var_os("CUPEL_RUNS_DIR").filter(|set| !set.is_empty());
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data");
    println!(
        "| window | runs | calls | newest: cached | plan: cached | newest: new tokens a call | plan: new tokens a call | plan: full |"
    );
    println!("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let (mut lower, mut all) = (Vec::new(), vec![[WindowTokens::default(); 2]; windows.len()]);
    for (file, runs) in files(&folder.map_or(own, PathBuf::from)) {
        let runs: Vec<Vec<Value>> =
            runs.iter().map(|run| run["messages"].as_array().unwrap().clone()).collect();
        let mut sessions: Vec<Session> = runs.iter().cloned().map(Session::new).collect();
        // One long session of the first runs: 20,000 tokens and more.
        sessions.push(Session::joined(&runs[..runs.len().min(6)]));
        for (index, window) in windows.iter().copied().enumerate() {
            let mut sums = [WindowTokens::default(); 2];
            for session in &sessions {
                for (sum, of_session) in sums.iter_mut().zip(follow(session, window, grid)) {
                    add(sum, of_session);
                }
            }
            for (sum, of_file) in all[index].iter_mut().zip(sums) {
                add(sum, of_file);
            }
            print(&file, window, sums, &mut lower);
        }
    }
    for (sums, window) in all.into_iter().zip(windows) {
        print("all", window, sums, &mut lower);
    }
    for line in &lower {
        println!("{line}");
    }
    if lower.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn add(sum: &mut WindowTokens, other: WindowTokens) {
    sum.calls += other.calls;
    sum.sent += other.sent;
    sum.cached += other.cached;
    sum.window += other.window;
}

fn print(name: &str, window: i64, [newest, plan]: [WindowTokens; 2], lower: &mut Vec<String>) {
    if plan.calls == 0 {
        return;
    }
    let fresh = |tokens: WindowTokens| (tokens.sent - tokens.cached) / tokens.calls;
    println!(
        "| {window} | {name} | {} | {:.3} | {:.3} | {} | {} | {:.2} |",
        plan.calls,
        newest.share(),
        plan.share(),
        fresh(newest),
        fresh(plan),
        plan.sent as f64 / plan.window as f64
    );
    if plan.share() < newest.share() {
        lower.push(format!("{name} at {window}: {:.3} < {:.3}", plan.share(), newest.share()));
    }
}

/// Sends a session call by call: newest first, and by the plan.
fn follow(session: &Session, window: i64, grid: Grid) -> [WindowTokens; 2] {
    let policy = Policy::chat().with_plan(TurnPlan::new().grid(grid));
    let mut planned = Layered::new(Protocol::Chat, policy, window, "gpt-4o");
    let (mut tokens, mut before) = ([WindowTokens::default(); 2], [const { None::<Rendered> }; 2]);
    for known in session.calls() {
        let ways: [Sent; 2] =
            [newest(Protocol::Chat, session, known, window), planned.call(session, known)];
        // Where the newest message alone is too long, newest-first trimming has no request to send.
        let is_counted = is_trimmed(session, known, window)
            && is_possible(session, known, window)
            && ways[0].places.contains(&(known - 1));
        for ((tokens, before), sent) in tokens.iter_mut().zip(&mut before).zip(ways) {
            let rendered = Rendered::new(&sent.messages);
            if is_counted && sent.error.is_none() {
                tokens.calls += 1;
                tokens.window += window;
                tokens.sent += rendered.tokens() + ANSWER;
                tokens.cached += before.as_ref().map_or(0, |before| rendered.shared_tokens(before));
            }
            *before = Some(rendered);
        }
    }
    tokens
}
