//! Policies as data: what reads back equal, what is refused, and where the refusal points.

#![cfg(feature = "config")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "policy_spec/arbitrary.rs"]
mod arbitrary;
#[path = "policy_spec/depth.rs"]
mod depth;
#[path = "policy_spec/files.rs"]
mod files;
#[path = "policy_spec/limits.rs"]
mod limits;
#[path = "policy_spec/meaning.rs"]
mod meaning;
#[path = "policy_spec/paths.rs"]
mod paths;
#[path = "policy_spec/round_trip.rs"]
mod round_trip;
#[path = "policy_spec/values.rs"]
mod values;

use chrono::DateTime;
use cupel::policy::spec::ScorerRegistry;
use cupel::relevance::{Candidate, Hint, Question, judge_fn};
use cupel::scorer::FixedTimeProvider;
use cupel::{ContextItem, Scorer};
use serde_json::{Value, json};

/// Prefers items of few tokens.
struct Brevity;

impl Scorer for Brevity {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        1.0 / (1.0 + item.tokens() as f64)
    }
}

/// A registry with the names the tests use.
fn registry() -> ScorerRegistry {
    let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let registry = ScorerRegistry::new(FixedTimeProvider::new(now));
    let registry = registry.register("brevity", Brevity).unwrap();
    // A built-in scorer may have a house name too.
    let registry = registry.register("newest first", cupel::scorer::RecencyScorer).unwrap();
    let letters = judge_fn("letters", |question: &Question, candidate: &Candidate<'_>| {
        Hint::new(if candidate.text.contains(question.text()) { 1.0 } else { 0.0 })
    });
    registry.register_judge("letters", letters).unwrap()
}

/// Valid specs that together have every type and every key.
fn samples() -> Vec<Value> {
    let scorers = json!([
        { "type": "recency", "weight": 1 },
        { "type": "age", "weight": 1 },
        { "type": "priority", "weight": 0.5 },
        { "type": "frequency", "weight": 2.0 },
        { "type": "reflexive", "weight": 3 },
        { "type": "kind", "weight": 1, "weights": { "Document": 1, "My Kind": 0.25 } },
        {
            "type": "tag", "weight": 1, "ignore_case": true,
            "weights": { "billing": 3, "re.fund": 1 }
        },
        { "type": "metadata_trust", "weight": 1, "default_score": 0.5 },
        { "type": "metadata_key", "weight": 1, "key": "k", "value": "v", "boost": 1.5 },
        {
            "type": "decay", "weight": 1, "null_timestamp_score": 0.1,
            "curve": { "type": "exponential", "half_life_secs": 3600 }
        },
        {
            "type": "decay", "weight": 1, "null_timestamp_score": 0.5,
            "curve": {
                "type": "step",
                "windows": [
                    { "max_age_secs": 60, "score": 1 },
                    { "max_age_secs": 3600.5, "score": 0.25 }
                ]
            }
        },
        {
            "type": "decay", "weight": 1, "null_timestamp_score": 0.5,
            "curve": { "type": "window", "max_age_secs": 60 }
        },
        {
            "type": "composite", "weight": 1,
            "scorers": [
                { "type": "scaled", "weight": 2, "scorer": { "type": "frequency" } },
                {
                    "type": "composite", "weight": 1,
                    "scorers": [{ "type": "custom", "name": "brevity", "weight": 1 }]
                }
            ]
        }
    ]);
    let entries = json!([
        { "kind": "ToolOutput", "require_count": 1, "cap_count": 4 },
        { "kind": "Memory", "require_count": 0, "cap_count": 9 }
    ]);
    let quotas = json!([
        { "kind": "Document", "require": 40, "cap": 80.5 },
        { "kind": "Message", "require": 0, "cap": 25 }
    ]);
    let slicers = [
        json!({ "type": "greedy" }),
        json!({ "type": "best_first" }),
        json!({ "type": "knapsack", "bucket_size": 10, "widen_buckets": true }),
        json!({
            "type": "quota", "quotas": quotas,
            "inner": { "type": "knapsack", "bucket_size": 10, "widen_buckets": false }
        }),
        json!({
            "type": "fill",
            "inner": { "type": "quota", "quotas": quotas, "inner": { "type": "greedy" } }
        }),
        json!({
            "type": "count_quota", "entries": entries, "scarcity": "throw", "within_budget": true,
            "inner": { "type": "quota", "quotas": quotas, "inner": { "type": "greedy" } }
        }),
        json!({
            "type": "count_constrained_knapsack", "entries": entries, "scarcity": "degrade",
            "within_budget": false, "bucket_size": 5, "widen_buckets": false
        }),
    ];
    let overflows = ["throw", "truncate", "proceed"];
    slicers
        .into_iter()
        .zip(overflows.into_iter().cycle())
        .zip([true, false].into_iter().cycle())
        .zip(["u_shaped", "chronological", "age"].into_iter().cycle())
        .map(|(((slicer, overflow), deduplication), placer)| {
            json!({
                "scorers": scorers, "slicer": slicer, "placer": { "type": placer },
                "overflow": overflow, "deduplication": deduplication
            })
        })
        .chain([json!({
            "scorer": { "type": "scaled", "scorer": { "type": "custom", "name": "newest first" } },
            "slicer": { "type": "greedy" }, "placer": { "type": "u_shaped" },
            "overflow": "throw", "deduplication": true,
            "relevance": { "type": "custom", "name": "letters", "blend": 0.25 }
        })])
        .chain([json!({
            "scorer": { "type": "recency" },
            "slicer": { "type": "greedy" }, "placer": { "type": "age" },
            "overflow": "truncate", "deduplication": true,
            "relevance": {
                "type": "lexical", "language": "german", "blend": 0.0,
                "scorers": [{ "type": "reflexive", "weight": 3 }, { "type": "age", "weight": 1 }],
                "slicer": { "type": "best_first" }
            }
        })])
        .collect()
}
