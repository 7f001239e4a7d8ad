//! The longest single poll of a call, for large bodies: `cargo bench -p tower-cupel-json --bench polls`.
//!
//! A poll holds a thread of the executor, and with it every other call on that thread. Each body goes
//! through the layer three times. A row has the longest step of each call in milliseconds: making the
//! future, polling it or dropping it. The least of several runs counts, because other programs
//! interrupt long ones. The rows marked `full pool` have no thread of the blocking pool to go to.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::future::Future;
use std::time::{Duration, Instant};

use cupel::Policy;
use cupel::layer::{BudgetProvider, ContextAdapter, CupelLayer, Selector};
use cupel_json::{Endpoint, JsonBody, MessagesAdapter, OpenAiAdapter};
use tokio::runtime::Builder;

/// A step of a call must not take longer.
const MOST: Duration = Duration::from_millis(10);

const CALLS: usize = 3;

/// Bodies by name: bytes of the newest tool result, and number of short messages before it.
const SHAPES: [(&str, usize, usize); 5] = [
    ("tool result of 4.3 MB", 4_300_000, 20),
    ("tool result of 11 MB", 11_000_000, 20),
    ("tool result of 15 MB", 15_000_000, 20),
    ("12,000 messages, 3.7 MB", 2_000, 12_000),
    ("19,000 messages, 15 MB", 9_000_000, 19_000),
];

fn main() {
    let runs = if std::env::args().any(|argument| argument == "--test") { 1 } else { 5 };
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    println!("longest step of a call in ms{:>32}{:>9}{:>9}", "call 1", "call 2", "call 3");
    let mut seeds = 1..;
    for (shape, result, messages) in SHAPES {
        for (endpoint, api) in [(Endpoint::Chat, "chat"), (Endpoint::Messages, "messages")] {
            for (policy, way) in [(Policy::chat(), "planned"), (Policy::rag(), "scored")] {
                for (pool, threads) in [("", 4), (", full pool", 0)] {
                    let name = format!("{shape}, {api}, {way}{pool}");
                    if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted.as_str())) {
                        continue;
                    }
                    // New texts each time: what one call has counted, the next one knows.
                    let measure = |seed| {
                        let body = body(endpoint, result, messages, seed);
                        longest_steps(&body, endpoint, policy.clone(), threads)
                    };
                    let runs: Vec<[Duration; CALLS]> =
                        seeds.by_ref().take(runs).map(measure).collect();
                    let least = |call: usize| runs.iter().filter_map(|run| run.get(call)).min();
                    let least = (0..CALLS).filter_map(least).copied().collect::<Vec<_>>();
                    let columns = least.iter().map(|step| {
                        let mark = if *step > MOST { "!" } else { " " };
                        format!("{:>8.1}{mark}", step.as_secs_f64() * 1_000.0)
                    });
                    println!("{name:<52}{}", columns.collect::<String>());
                }
            }
        }
    }
}

/// The longest step of each call with the same body.
fn longest_steps(
    body: &str,
    endpoint: Endpoint,
    policy: Policy,
    threads: usize,
) -> [Duration; CALLS] {
    let runtime =
        Builder::new_current_thread().enable_all().max_blocking_threads(threads.max(1)).build();
    let runtime = runtime.unwrap();
    let (release, busy) = std::sync::mpsc::channel::<()>();
    if threads == 0 {
        runtime.spawn_blocking(move || busy.recv());
    }
    let calls = runtime.block_on(async {
        if endpoint == Endpoint::Messages {
            let adapter = MessagesAdapter::new();
            let window = adapter.window();
            calls(selector(adapter, window, policy), body, endpoint).await
        } else {
            let adapter = OpenAiAdapter::new();
            let window = adapter.window();
            calls(selector(adapter, window, policy), body, endpoint).await
        }
    });
    drop(release);
    calls
}

fn selector<A: ContextAdapter<JsonBody> + 'static>(
    adapter: A,
    window: impl BudgetProvider<JsonBody> + 'static,
    policy: Policy,
) -> Selector<JsonBody, A> {
    CupelLayer::builder().adapter(adapter).policy(policy).budget(window).build().unwrap().selector()
}

async fn calls<A: ContextAdapter<JsonBody> + 'static>(
    selector: Selector<JsonBody, A>,
    body: &str,
    endpoint: Endpoint,
) -> [Duration; CALLS] {
    let mut longest = [Duration::ZERO; CALLS];
    for longest in &mut longest {
        let request = JsonBody::parse(endpoint, body).unwrap();
        let mut call = timed(longest, || Box::pin(selector.select(request)));
        let polls = std::future::poll_fn(|cx| timed(longest, || call.as_mut().poll(cx)));
        let selected = polls.await;
        timed(longest, || drop(call));
        drop(selected); // a result that does not fit is an error without a plan
    }
    longest
}

/// Runs a step, and keeps its time if it is the longest. Time in which other programs had the processor
/// does not count where the system tells it.
fn timed<T>(longest: &mut Duration, step: impl FnOnce() -> T) -> T {
    let waited = || {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let nanos = stat.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
        Duration::from_nanos(nanos.unwrap_or_default())
    };
    let (before, begun) = (waited(), Instant::now());
    let done = step();
    let elapsed = begun.elapsed();
    *longest = elapsed.saturating_sub(waited().saturating_sub(before)).max(*longest);
    done
}

/// A conversation with an agent whose newest tool result is long.
fn body(endpoint: Endpoint, result: usize, messages: usize, seed: usize) -> String {
    let mut all = Vec::with_capacity(messages + 3);
    for number in 0..messages {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let text = words(300, seed * 100_000 + number);
        all.push(format!(r#"{{"role":"{role}","content":"{text}"}}"#));
    }
    let result = words(result, seed * 100_000 + messages);
    let question = r#"{"role":"user","content":"Which build failed last night, and why?"}"#;
    all.push(question.to_owned());
    if endpoint == Endpoint::Messages {
        all.push(
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"log","input":{}}]}"#
                .to_owned(),
        );
        all.push(format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c1","content":"{result}"}}]}}"#
        ));
        let messages = all.join(",");
        return format!(
            r#"{{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{messages}]}}"#
        );
    }
    all.push(
        r#"{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"log","arguments":"{}"}}]}"#
            .to_owned(),
    );
    all.push(format!(r#"{{"role":"tool","tool_call_id":"c1","content":"{result}"}}"#));
    format!(r#"{{"model":"gpt-4o","messages":[{}]}}"#, all.join(","))
}

/// Lines of a build log of about so many bytes.
fn words(bytes: usize, seed: usize) -> String {
    const WORDS: [&str; 16] = [
        "error",
        "build",
        "the",
        "linker",
        "panicked",
        "src/main.rs:42",
        "warning",
        "finished",
        "compiling",
        "0x7fe3",
        "timeout",
        "after",
        "retry",
        "node-17",
        "connection",
        "refused",
    ];
    let mut text = String::with_capacity(bytes + 32);
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    while text.len() < bytes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (state >> 33) as usize;
        text.push_str(WORDS.get(pick % WORDS.len()).copied().unwrap_or_default());
        text.push_str(if pick % 11 == 0 { "\\n" } else { " " });
        if pick % 7 == 0 {
            text.push_str(&(pick % 10_007).to_string());
        }
    }
    text
}
