//! The audit and the benchmark `turns` measure the same runs. They share no code for it, and agree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::path::Path;

use cupel::Policy;
use cupel_audit::{Audit, AuditReport, CacheMatch, Planner, Session as Recording};
use cupel_bench_turns::measure::{Follow, Sums, by_name};
use cupel_bench_turns::session::{Session, counter, files};
use cupel_bench_turns::ways::{Layered, Protocol, newest};
use serde_json::Value;

const WINDOW: i64 = 4_000;

fn runs() -> Vec<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/turns/data");
    // The shortest run of each file; the benchmark measures all of them.
    let shortest = |(_, lines): (String, Vec<Value>)| {
        let runs = lines.iter().map(|run| run["messages"].as_array().unwrap().clone());
        runs.min_by_key(Vec::len).unwrap()
    };
    files(&folder).into_iter().map(shortest).collect()
}

/// The benchmark's sums for newest-first trimming and for a policy.
fn benchmark(runs: &[Vec<Value>], policy: &Policy, model: &'static str) -> [Sums; 2] {
    let mut sums = [Sums::default(), Sums::default()];
    for run in runs {
        let session = Session::new(run.clone());
        let mut follows = [Follow::default(), Follow::default()];
        let mut layered = Layered::new(Protocol::Chat, policy.clone(), WINDOW, model);
        for known in session.calls() {
            let sent = newest(Protocol::Chat, &session, known, WINDOW);
            follows[0].call(&session, known, WINDOW, &sent);
            let sent = layered.call(&session, known);
            follows[1].call(&session, known, WINDOW, &sent);
        }
        sums.iter_mut().zip(&follows).for_each(|(sums, follow)| sums.add(&follow.sums));
    }
    sums
}

fn audit(runs: &[Vec<Value>], policy: &Policy, model: &str, rule: CacheMatch) -> AuditReport {
    let planner = Planner::new().counter(counter());
    let audit = Audit::new().window(WINDOW).way("policy", policy.clone());
    let sessions = runs.iter().map(|run| {
        let json = serde_json::json!({"messages": run}).to_string();
        Recording::read("run", &json).unwrap()
    });
    audit.planner(planner).model(model).cache(rule).sessions(sessions)
}

fn assert_close(what: &str, ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 0.01 * theirs.abs().max(0.1), "{what}: {ours} and {theirs}");
}

/// A model, the rule of its cache, and the benchmark's measure of that rule.
const WAYS: [(&str, CacheMatch, &str); 2] = [
    ("gpt-4o", CacheMatch::Prefix, "cost"),
    ("gpt-5.6", CacheMatch::Breakpoints, "cost-breakpoints"),
];

#[test]
fn calls_prefix_and_cost_are_those_of_the_benchmark() {
    let runs = runs();
    for (policy, name, ways) in
        [(Policy::chat(), "chat", &WAYS[..]), (Policy::tool_use(), "tool_use", &WAYS[..1])]
    {
        for (model, rule, cost) in ways.iter().copied() {
            let [newest, planned] = benchmark(&runs, &policy, model);
            let report = audit(&runs, &policy, model, rule);
            let window = &report.windows[0];
            let (ours, trimmed) = (&window.ways[0].tally, &window.newest_first.tally);
            let theirs = by_name(&planned, &newest);
            let calls = ours.cut.calls + ours.unfitted;
            assert!(calls > 30, "{calls}");
            assert_eq!(calls as f64, theirs["calls"] + planned.impossible, "{name} {model}");
            assert_close("prefix", ours.cut.prefix_share(), theirs["prefix"]);
            assert_close(cost, ours.cut.cost / trimmed.cut.cost, theirs[cost]);
            let trimmed_prefix = by_name(&newest, &newest)["prefix"];
            assert_close("prefix of newest-first", trimmed.cut.prefix_share(), trimmed_prefix);
        }
    }
}
