//! Mutated requests of the three protocols over real sockets: whatever comes in, what goes upstream is sound.
//!
//! 5,000 cases run with the suite. `CUPEL_FUZZ=<cases>` runs more, and `CUPEL_SEED=<number>` others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(missing_docs)]

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use cupel::Policy;
use cupel::tokens::Encoding;
use cupel_gateway::{Config, CountMethod, Gateway, ModelRule, Upstream};
use cupel_json::Endpoint;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use cupel_dev_servers::fuzz::mutation::{Mutant, Random, mutate};
use cupel_dev_servers::fuzz::soundness::{OtherTokenizer, check_sent};

const CASES: u64 = 5_000;
/// Cases at the same time.
const TASKS: u64 = 8;

/// Header by which the upstream knows a case.
const CASE: &str = "x-case";

/// Bodies that went upstream, by case.
type Arrived = Arc<Mutex<HashMap<String, Bytes>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_comes_in_what_goes_upstream_is_sound() {
    let number =
        |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let first = number("CUPEL_SEED").unwrap_or(1).wrapping_mul(1 << 32);
    let cases = number("CUPEL_FUZZ").unwrap_or(CASES);
    let arrived = Arrived::default();
    let upstream = upstream(Arc::clone(&arrived)).await;
    let mut gateways = Vec::new();
    for policy in [Policy::chat(), Policy::tool_use(), Policy::rag()] {
        gateways.push(gateway(upstream, policy).await);
    }
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let recorded = cupel_dev_servers::fuzz::recorded::requests();
    let fuzz = Arc::new(Fuzz { recorded, gateways, client, arrived, ..Fuzz::default() });
    let task = |task| {
        let fuzz = Arc::clone(&fuzz);
        tokio::spawn(async move {
            for case in (task..cases).step_by(usize::try_from(TASKS).unwrap()) {
                fuzz.case(first.wrapping_add(case)).await;
            }
        })
    };
    for task in (0..TASKS).map(task).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    if cases >= CASES {
        fuzz.check_mix();
    }
}

/// A server that takes everything.
async fn upstream(arrived: Arrived) -> SocketAddr {
    async fn take(State(arrived): State<Arrived>, headers: HeaderMap, body: Bytes) -> &'static str {
        let case = headers[CASE].to_str().unwrap().to_owned();
        arrived.lock().unwrap().insert(case, body);
        "{}"
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback(take).with_state(arrived);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// A gateway that knows the models `test-…`, whose window is in the name.
async fn gateway(upstream: SocketAddr, policy: Policy) -> SocketAddr {
    let mut config = Config::new(Upstream::new(format!("http://{upstream}/v1")).unwrap());
    let count = CountMethod::Exactly(Encoding::O200k);
    let rule = |window| ModelRule::new(format!("test-{window}")).window(window).count(count);
    config.models = [600, 1_000, 2_000, 100_000].map(rule).into();
    config.policy = policy;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Gateway::new(config).unwrap();
    tokio::spawn(gateway.serve(listener, std::future::pending()));
    address
}

#[derive(Default)]
struct Fuzz {
    recorded: Vec<(Endpoint, Value)>,
    gateways: Vec<SocketAddr>,
    client: reqwest::Client,
    arrived: Arrived,
    tokenizer: Mutex<OtherTokenizer>,
    /// Number of requests by outcome.
    mix: Mutex<BTreeMap<&'static str, usize>>,
}

impl Fuzz {
    async fn case(&self, seed: u64) {
        let mut random = Random::new(seed);
        let (endpoint, mut request) = random.pick(&self.recorded).clone();
        request["model"] =
            json!(random.pick(&["test-600", "test-1000", "test-2000", "test-100000"]));
        let mutant = mutate(endpoint, request, &mut random);
        let gateway = *random.pick(&self.gateways);
        if let Err(problem) = self.check(seed, endpoint, gateway, &mutant).await {
            panic!("seed {seed}, {endpoint:?}: {problem}\n{}", mutant.json);
        }
    }

    fn note(&self, what: &'static str) {
        *self.mix.lock().unwrap().entry(what).or_default() += 1;
    }

    /// Enough of the cases got as far as the checks.
    fn check_mix(&self) {
        let mix = self.mix.lock().unwrap();
        let count = |what| mix.get(what).copied().unwrap_or(0);
        assert!(count("cut") > 100 && count("whole") > 100, "{mix:?}");
        assert!(count("counted") > 200 && count("asked") > 200, "{mix:?}");
    }

    async fn check(
        &self,
        seed: u64,
        endpoint: Endpoint,
        gateway: SocketAddr,
        mutant: &Mutant,
    ) -> Result<(), String> {
        let path = match endpoint {
            Endpoint::Responses => "responses",
            Endpoint::Messages => "messages",
            _ => "chat/completions",
        };
        let case = seed.to_string();
        let call = self.client.post(format!("http://{gateway}/v1/{path}")).header(CASE, &case);
        let call = call.header("content-type", "application/json").body(mutant.json.clone());
        let answer = call.send().await.map_err(|error| format!("no answer: {error}"))?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let said = answer.text().await.map_err(|error| format!("a broken answer: {error}"))?;
        let arrived = self.arrived.lock().unwrap().remove(&case);
        let Some(sent) = arrived else {
            self.note("refused");
            let is_clients = (400..500).contains(&status);
            return is_clients.then_some(()).ok_or_else(|| format!("{status} {said}"));
        };
        if status != 200 {
            return Err(format!("the upstream answered, and the gateway said {status} {said}"));
        }
        let sent = std::str::from_utf8(&sent).map_err(|error| format!("{error}"))?;
        let tokens = headers.get("x-cupel-tokens").map(|it| it.to_str().unwrap().parse().unwrap());
        let Some(tokens) = tokens else {
            self.note("passed");
            let why = headers.get("x-cupel-passed").ok_or("neither fitted nor passed")?;
            let is_same = sent == mutant.json;
            return is_same.then_some(()).ok_or_else(|| format!("changed, and said: {why:?}"));
        };
        self.note(if sent == mutant.json { "whole" } else { "cut" });
        let after = check_sent(endpoint, &mutant.json, sent)?;
        if after.is_asked {
            self.note("asked");
        }
        if mutant.is_text && endpoint != Endpoint::Messages {
            self.note("counted");
            self.tokenizer.lock().unwrap().check(endpoint, &after.request, tokens)?;
        }
        Ok(())
    }
}
