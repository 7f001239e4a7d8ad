//! `cargo bench -p cupel-bench-turns --bench time`: what planning 1,000 messages takes beside scoring
//! them, when all texts are new and when they were seen before.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]

use std::time::{Duration, Instant};

use cupel::layer::{CupelLayer, CupelService};
use cupel::{ContextBudget, Policy};
use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
use futures::future::{Ready, ready};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt};

const MESSAGES: usize = 1_000;
const WINDOW: i64 = 16_000;
const ROUNDS: usize = 15;

/// Gives back how many bytes it was sent.
#[derive(Clone)]
struct Measure;

impl Service<JsonBody> for Measure {
    type Response = usize;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<usize, Self::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, body: JsonBody) -> Self::Future {
        ready(Ok(body.json().len()))
    }
}

type Fitting = CupelService<Measure, JsonBody, OpenAiAdapter>;

fn fitting(policy: Policy) -> Fitting {
    let layer = CupelLayer::<JsonBody, _>::builder()
        .adapter(OpenAiAdapter::new())
        .policy(policy)
        .budget(ContextBudget::builder(WINDOW).build().unwrap());
    layer.build().unwrap().layer(Measure)
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

fn call(fitting: &mut Fitting, json: &str) -> Duration {
    let body = JsonBody::parse(Endpoint::Chat, json.to_owned()).unwrap();
    let begun = Instant::now();
    futures::executor::block_on(async { fitting.ready().await.unwrap().call(body).await }).unwrap();
    begun.elapsed()
}

fn main() {
    let mut ways = [fitting(Policy::chat().without_plan()), fitting(Policy::chat())];
    // Loads the encoding.
    for way in &mut ways {
        call(way, &conversation(1_000));
    }
    let mut times = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for round in 0..ROUNDS {
        for (number, (way, [cold, warm])) in ways.iter_mut().zip(&mut times).enumerate() {
            let json = conversation(round * 2 + number);
            cold.push(call(way, &json));
            warm.push(call(way, &json));
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
            "{kind}: scored {scored:.2} ms, planned {planned:.2} ms, {:.2} times",
            planned / scored
        );
    }
}
