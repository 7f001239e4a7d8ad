//! Presets that send the same requests are one preset: each pair differs on the recorded runs.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use cupel::layer::CupelLayer;
use cupel::tokens::HeuristicCounter;
use cupel::{ContextBudget, Policy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use serde_json::{Value, json};

const WINDOW: i64 = 8_000;

/// The requests of every recorded run, each up to its last question or result.
fn requests() -> Vec<JsonBody> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/turns/data");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let runs = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
    let texts: Vec<String> = runs.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let requests = texts.iter().flat_map(|text| text.lines()).map(|line| {
        let run: Value = serde_json::from_str(line).unwrap();
        let mut messages = run["messages"].as_array().unwrap().clone();
        while messages.last().is_some_and(|last| last["role"] == "assistant") {
            messages.pop();
        }
        let body = json!({"model": "gpt-4o", "messages": messages});
        JsonBody::parse(Endpoint::Chat, body.to_string()).unwrap()
    });
    requests.collect()
}

/// Requests that a preset sends for each of them.
fn sent(policy: Policy, requests: &[JsonBody]) -> Vec<String> {
    let layer = CupelLayer::builder()
        .adapter(OpenAiAdapter::new().counter(HeuristicCounter))
        .policy(policy)
        .budget(ContextBudget::builder(WINDOW).build().unwrap());
    let selector = layer.build().unwrap().selector();
    let send = |request: &JsonBody| {
        let selected = futures::executor::block_on(selector.select(request.clone())).unwrap();
        selected.request.json().to_owned()
    };
    requests.iter().map(send).collect()
}

#[test]
fn every_pair_of_presets_sends_different_requests_for_a_recorded_run() {
    let requests = requests();
    let presets = [
        ("chat", Policy::chat()),
        ("tool_use", Policy::tool_use()),
        ("rag", Policy::rag()),
        ("document_qa", Policy::document_qa()),
    ];
    let sent = presets.map(|(name, policy)| (name, sent(policy, &requests)));
    for (at, (one, first)) in sent.iter().enumerate() {
        for (other, second) in &sent[at + 1..] {
            assert!(first != second, "{one} and {other} send the same bytes for all runs");
        }
    }
}
