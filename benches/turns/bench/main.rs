//! `cargo bench --bench turns`: recorded runs, turn by turn, in windows that are too small.
//!
//! Lines are `turns <file> <window> <way> <measure> <value>`. Files are measured in the format of Chat
//! Completions, and as `<file>@messages` in that of Anthropic's Messages: windows and tokens are those of
//! that format, `cost` follows that provider's cache (marks, a look back of 20 blocks, writes at 1.25 and
//! reads at 0.1), and `newest` and `scored` let the server mark the end of each request.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

use std::path::PathBuf;

use cupel::Policy;
use cupel_bench_turns::measure::{Follow, Sums, by_name};
use cupel_bench_turns::session::{Session, files};
use cupel_bench_turns::ways::{Layered, Protocol, newest};
use cupel_bench_turns::{evidence, measure, messages};
use serde_json::Value;

const WINDOWS: [i64; 3] = [8_000, 12_000, 32_000];
const SHARES: [i64; 2] = [50, 70];
/// `plan` is that of `Policy::chat`; `summaries` adds those of the compactor without a model, each ready
/// before the next call.
const WAYS: [&str; 5] = ["newest", "scored", "plan", "summaries", "tool_use"];
/// A model whose cache matches only at markers, and one that matches any prefix.
const MODEL: &str = "gpt-5.6";

fn main() {
    let own = |folder: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let folder = |name: &str, other: PathBuf| {
        std::env::var_os(name).filter(|set| !set.is_empty()).map_or(other, PathBuf::from)
    };
    let runs = folder("CUPEL_RUNS_DIR", own("data"));
    let only = std::env::args().nth(1).filter(|only| !only.starts_with('-'));
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    for (file, lines) in files(&runs).into_iter().filter(|(file, _)| is_wanted(file)) {
        let runs: Vec<Vec<Value>> =
            lines.iter().map(|run| run["messages"].as_array().unwrap().clone()).collect();
        follow_all(&file, &runs, Protocol::Chat);
        follow_all(&format!("{file}@messages"), &runs, Protocol::Messages);
    }
    let evidence = folder("CUPEL_EVIDENCE_DIR", own("../evidence/data"));
    let ways = [("plan-10", 0.1, false), ("plan-50", 0.5, false), ("summaries-10", 0.1, true)];
    for (file, conversations) in files(&evidence).into_iter().filter(|(file, _)| is_wanted(file)) {
        for (way, share, summarised) in ways {
            let (kept, alone) = evidence::shares(&conversations, share, summarised);
            println!("turns {file} {} {way} evidence {kept:.3}", evidence::WINDOW);
            println!("turns {file} {} {way} relevance-alone {alone:.3}", evidence::WINDOW);
        }
    }
}

/// Measures the runs of a file by themselves, and joined.
fn follow_all(file: &str, runs: &[Vec<Value>], protocol: Protocol) {
    let in_format = |session: Session| match protocol {
        Protocol::Chat => session,
        Protocol::Messages => messages::session(session),
    };
    for share in SHARES {
        let sessions = runs.iter().map(|run| in_format(Session::new(run.clone())));
        let sized = sessions.map(|session| {
            let head = session.head_tokens();
            let window = head + (session.tokens() - head) * share / 100;
            (session, window)
        });
        report(file, &format!("{share}%"), &sized.collect::<Vec<_>>(), protocol);
    }
    for window in WINDOWS {
        let joined = in_format(Session::joined(runs));
        report(file, &window.to_string(), &[(joined, window)], protocol);
    }
}

/// Measures every way through some sessions, and prints it.
fn report(file: &str, window: &str, sessions: &[(Session, i64)], protocol: Protocol) {
    let mut sums = WAYS.map(|_| Sums::default());
    let mut problems = Vec::new();
    for (session, window) in sessions {
        for (way, sums) in WAYS.iter().zip(&mut sums) {
            let follow = follow(way, session, *window, protocol);
            sums.add(&follow.sums);
            problems.extend(follow.problems.into_iter().map(|problem| format!("{way}: {problem}")));
        }
    }
    let [first, ..] = &sums;
    if measure::by_name(first, first)["calls"] == 0.0 {
        println!("turns {file} {window} plan calls 0");
        return;
    }
    for (way, sums) in WAYS.iter().zip(&sums) {
        let mut line = format!("{file:18} {window:>6} {way:8}");
        for (measure, value) in sums.measures(first) {
            let digits = if matches!(measure, "calls" | "invalid" | "impossible") { 0 } else { 3 };
            line.push_str(&format!(" {measure} {value:.digits$}"));
        }
        println!("{line}");
    }
    for (way, sums) in WAYS.iter().zip(&sums) {
        for (measure, value) in by_name(sums, first) {
            println!("turns {file} {window} {way} {measure} {value:.3}");
        }
    }
    let of_plans = |problem: &&String| problem.starts_with("plan") || problem.starts_with("summ");
    for problem in problems.iter().filter(of_plans).take(3) {
        println!("# {file} {window} {problem}");
    }
}

fn follow(way: &str, session: &Session, window: i64, protocol: Protocol) -> Follow {
    let mut follow = Follow::default();
    let model = if protocol == Protocol::Messages { messages::MODEL } else { MODEL };
    let mut layered = match way {
        "newest" => None,
        "scored" => Some(Layered::scored(protocol, window)),
        "summaries" => Some(Layered::summarised(protocol, window, model)),
        "tool_use" => Some(Layered::new(protocol, Policy::tool_use(), window, model)),
        _ => Some(Layered::new(protocol, Policy::chat(), window, model)),
    };
    for known in session.calls() {
        let sent = match &mut layered {
            None => newest(protocol, session, known, window),
            Some(layered) => layered.call(session, known),
        };
        follow.call(session, known, window, &sent);
    }
    follow
}
