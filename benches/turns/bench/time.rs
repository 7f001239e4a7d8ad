//! `cargo bench -p cupel-bench-turns --bench time`: what planning 1,000 messages takes beside scoring
//! them, as JSON bodies and as typed requests of async-openai, when all texts are new and when they were
//! seen before.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

use std::convert::Infallible;
use std::time::{Duration, Instant};

use async_openai::types::chat::CreateChatCompletionRequest;
use cupel::layer::{CupelLayer, CupelService};
use cupel::{ContextBudget, Policy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter, Request};
use futures::future::{Ready, ready};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt};

const MESSAGES: usize = 1_000;
const WINDOW: i64 = 16_000;
const ROUNDS: usize = 15;

/// Takes what it is sent.
#[derive(Clone)]
struct Sink;

impl<R> Service<R> for Sink {
    type Response = R;
    type Error = Infallible;
    type Future = Ready<Result<R, Infallible>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        ready(Ok(request))
    }
}

type Fitting<R> = CupelService<Sink, R, OpenAiAdapter>;

fn fitting<R: Request + 'static>(policy: Policy) -> Fitting<R> {
    let layer = CupelLayer::<R, _>::builder()
        .adapter(OpenAiAdapter::new())
        .policy(policy)
        .budget(ContextBudget::builder(WINDOW).build().unwrap());
    layer.build().unwrap().layer(Sink)
}

/// A conversation whose texts occur nowhere else.
fn conversation(seed: usize) -> String {
    let text = |at: usize, words: usize| -> String {
        let word = |word: usize| format!("w{} ", (seed * 7_919 + at * 104_729 + word * 31) % 9_973);
        (0..words).map(word).chain([format!("n{seed}x{at}")]).collect()
    };
    let message = |at: usize| -> Value {
        let id = format!("c{}", at / 4);
        match at % 4 {
            0 => json!({"role": "user", "content": text(at, 20)}),
            1 => json!({"role": "assistant", "content": null, "tool_calls": [{"id": id,
                "type": "function", "function": {"name": "look", "arguments": text(at, 3)}}]}),
            2 => json!({"role": "tool", "tool_call_id": id, "content": text(at, 60)}),
            _ => json!({"role": "assistant", "content": text(at, 20)}),
        }
    };
    let messages: Vec<Value> = (0..=MESSAGES).map(message).collect();
    json!({"model": "gpt-4o", "messages": messages}).to_string()
}

fn call<R: Request + 'static>(fitting: &mut Fitting<R>, request: R) -> Duration {
    let begun = Instant::now();
    futures::executor::block_on(async { fitting.ready().await.unwrap().call(request).await })
        .unwrap();
    begun.elapsed()
}

/// Times both ways in turns, with conversations of their own.
fn measure<R: Request + 'static>(what: &str, seed: usize, request: impl Fn(&str) -> R) {
    let mut ways = [fitting::<R>(Policy::chat().without_plan()), fitting::<R>(Policy::chat())];
    // Loads the encoding.
    for way in &mut ways {
        call(way, request(&conversation(seed + 1_000)));
    }
    let mut times = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for round in 0..ROUNDS {
        for (number, (way, [cold, warm])) in ways.iter_mut().zip(&mut times).enumerate() {
            let json = conversation(seed + round * 2 + number);
            cold.push(call(way, request(&json)));
            warm.push(call(way, request(&json)));
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1_000.0
    };
    let [scored, planned] = times.map(|mut kinds| kinds.each_mut().map(median));
    for (kind, at) in [("cold", 0), ("warm", 1)] {
        let (scored, planned) = (scored[at], planned[at]);
        println!(
            "{what}, {kind}: scored {scored:.2} ms, planned {planned:.2} ms, {:.2} times",
            planned / scored
        );
    }
}

fn main() {
    measure("JSON bodies", 0, |json| JsonBody::parse(Endpoint::Chat, json.to_owned()).unwrap());
    measure("typed requests", 5_000, |json| {
        serde_json::from_str::<CreateChatCompletionRequest>(json).unwrap()
    });
}
