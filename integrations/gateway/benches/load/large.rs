//! Questions of health beside two requests with a tool result of 15 MB, on two worker threads.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cupel_gateway::{Config, Gateway, Upstream};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::client::{Client, Failure};

/// Bytes of a tool's result.
const SIZE: usize = 15 << 20;
/// The longest that a question of health may wait.
const MOST: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Large {
    slowest: Duration,
    asked: usize,
    took: Duration,
}

impl Large {
    pub(crate) fn is_good(&self) -> bool {
        self.slowest <= MOST
    }
}

impl fmt::Display for Large {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slowest, asked, took } = self;
        write!(
            f,
            "two requests with results of 15 MB took {took:?}; beside them {asked} questions of health, the slowest {slowest:?} (at most {MOST:?})"
        )
    }
}

/// Measures in a runtime of the gateway's own.
pub(crate) async fn measure(upstream: SocketAddr) -> Result<Large, Failure> {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let runtime = threads.worker_threads(2).enable_all().build()?;
    let mut config = Config::new(Upstream::new(format!("http://{upstream}/v1"))?);
    config.at_most = Some(100_000);
    let gateway = Gateway::new(config)?;
    let listener = runtime.spawn(TcpListener::bind("127.0.0.1:0")).await??;
    let address = listener.local_addr()?;
    runtime.spawn(gateway.serve(listener, std::future::pending()));

    let client = Client::new();
    let mut calls = JoinSet::new();
    let started = Instant::now();
    for seed in 0..2 {
        let (client, body) = (client.clone(), request(seed));
        calls.spawn(async move { client.call(address, &body).await });
    }
    let (mut slowest, mut asked) = (Duration::ZERO, 0);
    let mut left = 2;
    while left > 0 {
        let begun = Instant::now();
        client.health(address).await?;
        slowest = slowest.max(begun.elapsed());
        asked += 1;
        while let Some(done) = calls.try_join_next() {
            done??;
            left -= 1;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = started.elapsed();
    runtime.shutdown_background();
    Ok(Large { slowest, asked, took })
}

fn request(seed: usize) -> Bytes {
    let mut result = String::with_capacity(SIZE + 100);
    let mut at = 0;
    while result.len() < SIZE {
        result.push_str(&format!("{seed}-{at}: parcel {} of shelf {} is blue\n", at * 7, at % 90));
        at += 1;
    }
    let call =
        json!({"id": "a", "type": "function", "function": {"name": "list", "arguments": "{}"}});
    let body = json!({"model": "gpt-4o", "max_completion_tokens": 500, "messages": [
        {"role": "user", "content": "Which parcel is red?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": result},
    ]});
    Bytes::from(body.to_string())
}
