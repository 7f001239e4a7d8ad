//! Recorded runs in Anthropic's format, turn by turn, to a strict stand-in of the API.
//!
//! `cargo run --release -p tower-cupel-json --all-features --example replay_messages -- <folder>` reads
//! the folder's `*.jsonl` files and joins the runs of each to one session. At every window it sends the
//! session's calls newest first, scored and planned (once more with thinking that is bound to what
//! stood before it), and prints what became of those that had to be trimmed: a table, and lines for
//! scripts, `turns <file> <window> messages-<way> <measure> <value>`. It fails if the stand-in refuses
//! a call.
//!
//! `prefix`: share of the bytes that begin like the previous call; `read`: share of the tokens that the
//! stand-in's prompt cache had, by Anthropic's rules; `cost`: input cost as a multiple of newest first,
//! which marks its last block; `fill`: tokens sent, of the window.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

#[path = "../../tests/messages/support.rs"]
#[allow(dead_code, reason = "shared with tests")]
mod support;

use std::path::Path;
use std::process::ExitCode;

use cupel_dev_servers::local_server::messages::caches::Memory;
use cupel_dev_servers::local_server::messages::{self, check, count};
use cupel_dev_servers::replay::runs::{Run, joined};
use serde_json::{Value, json};
use support::{Session, Thinking, layer, planned, scored, send};

const WINDOWS: [i64; 3] = [8_000, 12_000, 32_000];
const WAYS: [(&str, Thinking); 4] = [
    ("newest", Thinking::None),
    ("scored", Thinking::None),
    ("plan", Thinking::None),
    ("plan-thinking", Thinking::Bound),
];

fn main() -> ExitCode {
    let folder = std::env::args().nth(1).expect("name a folder of recorded runs");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut refused = 0;
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl")) {
        let text = std::fs::read_to_string(file).unwrap();
        let runs: Vec<Run> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for window in WINDOWS {
            refused += compare(file, &joined(&runs), &tools(&runs), window);
        }
    }
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tools(runs: &[Run]) -> Vec<Value> {
    let mut tools: Vec<Value> = runs.iter().flat_map(Run::tools).collect();
    tools.sort_by_key(|tool| tool["name"].to_string());
    tools.dedup_by_key(|tool| tool["name"].to_string());
    tools
}

/// Outcome of one way.
#[derive(Default)]
struct Sums {
    calls: usize,
    refused: usize,
    no_room: usize,
    bytes: usize,
    shared: usize,
    tokens: i64,
    read: i64,
    cost: f64,
}

fn compare(file: &Path, messages: &[Value], tools: &[Value], window: i64) -> usize {
    let name = file.file_stem().unwrap().to_string_lossy();
    let ways = WAYS.map(|(way, thinking)| follow(way, messages, tools, window, thinking));
    let newest = ways[0].cost / ways[0].calls.max(1) as f64;
    for ((way, _), sums) in WAYS.iter().zip(&ways) {
        let calls = sums.calls.max(1) as f64;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let measures = [
            ("calls", sums.calls as f64),
            ("invalid", sums.refused as f64),
            ("impossible", sums.no_room as f64),
            ("prefix", share(sums.shared as f64, sums.bytes as f64)),
            ("read", share(sums.read as f64, sums.tokens as f64)),
            ("cost", share(sums.cost / calls, newest)),
            ("fill", share(sums.tokens as f64 / calls, window as f64)),
        ];
        let shown = measures.map(|(measure, value)| format!("{measure} {value:.3}")).join("  ");
        println!("{name:18} {window:>6} {way:13} {shown}");
        for (measure, value) in measures {
            println!("turns {name} {window} messages-{way} {measure} {value:.3}");
        }
    }
    ways.iter().skip(1).map(|sums| sums.refused).sum()
}

fn follow(way: &str, recorded: &[Value], tools: &[Value], window: i64, thinking: Thinking) -> Sums {
    let mut session = Session::new(recorded, tools, window, thinking);
    let fitting = layer(window, if way == "scored" { scored() } else { planned() });
    let mut memory = Memory::default();
    let mut sums = Sums::default();
    let mut before = String::new();
    for known in session.calls() {
        let body = session.body(known);
        let sent = match way {
            "newest" => newest(&session, known, window).map(|json| (json, "")),
            _ => send(&fitting, &body)
                .ok()
                .map(|(sent, _)| (sent.json().to_owned(), sent.needs_beta().unwrap_or_default())),
        };
        let Some((sent, beta)) = sent else {
            sums.no_room += 1;
            continue;
        };
        let json: Value = serde_json::from_str(&sent).unwrap();
        let usage = memory.serve(&json);
        let bytes = rendered(&json);
        if json["messages"].as_array().unwrap().len() < known || sent.contains("tokens left out") {
            let shared = bytes.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
            sums.calls += 1;
            sums.bytes += bytes.len();
            sums.shared += shared;
            sums.tokens += usage.total();
            sums.read += usage.read;
            sums.cost += usage.cost();
        }
        if let Err(refused) = check(sent.as_bytes(), beta) {
            sums.refused += 1;
            println!("# {way} {window} message {known}: {}", refused.message);
        }
        before = bytes;
        session.think(known, &json);
    }
    sums
}

/// A request as text, without the marks that the server does not show the model.
fn rendered(json: &Value) -> String {
    let mut text = json["system"].to_string();
    for message in json["messages"].as_array().into_iter().flatten() {
        for mut block in messages::blocks(message) {
            block.as_object_mut().map(|fields| fields.remove("cache_control"));
            text.push_str(&block.to_string());
        }
    }
    text
}

/// The newest messages that fit, from a user's own words on, by the stand-in's count.
fn newest(session: &Session, known: usize, window: i64) -> Option<String> {
    let opens = |at: &usize| {
        let message = &session.messages[*at];
        let is_result = |block: &Value| block["type"] == "tool_result";
        message["role"] == "user" && !message["content"].as_array().unwrap().iter().any(is_result)
    };
    let room = window - session.head["max_tokens"].as_i64().unwrap();
    let fits = |start: usize| {
        let mut body = session.head.clone();
        body["messages"] = json!(session.messages[start..known]);
        body["cache_control"] = json!({"type": "ephemeral"});
        (count::request(&body) <= room).then(|| body.to_string())
    };
    // Longer ones do not fit if a shorter one does not.
    let starts: Vec<usize> = (0..known).filter(opens).collect();
    let first = starts.partition_point(|start| fits(*start).is_none());
    starts.get(first).and_then(|start| fits(*start))
}
