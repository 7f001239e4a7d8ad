//! Recorded runs of agents, turn by turn, through a gateway to a strict server.
//!
//! `cargo run --release -p tower-cupel-gateway --example replay_gateway -- <folder>` reads the folder's
//! `*.jsonl` files, sends every turn of every run through Chat Completions at three windows, and prints
//! how many calls the server refused, how many exceeded the window by its own count, and how many
//! failed; it fails unless all are 0. "No room": what is always sent does not fit. The gateway is told
//! to refuse that, since the server would.

#[path = "../../../replay/mod.rs"]
#[allow(dead_code, missing_debug_implementations, unreachable_pub, reason = "shared")]
mod replay;

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use bytes::Bytes;
use cupel::tokens::Encoding;
use cupel_gateway::{Config, Count, Gateway, ModelRule, Upstream};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use replay::runs::Run;
use replay::tally::{Outcome, Report, Tally};
use replay::{ANSWER, runs};

/// The windows; smaller ones are the other integrations' business.
const WINDOWS: [i64; 3] = [4_500, 12_000, 32_000];

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let runs = runs::read(replay::folder()?)?;
    let server = replay::server().await;
    let mut config = Config::new(Upstream::new(server.url())?);
    config.fail_closed = true;
    let count = Count::Exactly(Encoding::O200k);
    let rule = |window| ModelRule::new(model(window)).window(window).count(count);
    config.models = WINDOWS.map(rule).into();
    let gateway = Gateway::new(config)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(gateway.serve(listener, std::future::pending()));

    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut report = Report::default();
    for window in WINDOWS {
        let mut tally = Tally::default();
        for run in &runs {
            for (turn, sent) in run.turns().enumerate() {
                let status = post(&client, address, &request(window, run, sent)).await?;
                let refused = server.take_arrived().pop().and_then(|arrived| arrived.refused);
                let outcome = match (status, refused) {
                    (422, None) => Outcome::NoRoom,
                    (200, None) => Outcome::Taken,
                    (status, None) => Outcome::Failed(status.to_string()),
                    (_, refused) => Outcome::of(refused),
                };
                tally.add(format_args!("{}, turn {turn}", run.name), outcome);
            }
        }
        report.add("chat through the gateway", window, tally);
    }
    write!(std::io::stdout(), "{report}")?;
    Ok(report.exit_code())
}

/// The server's name for a model with this window, of a provider that takes more fields than OpenAI
/// does: recorded runs have some, and nothing is taken out of them here.
fn model(window: i64) -> String {
    format!("other-{window}")
}

fn request(window: i64, run: &Run, messages: &[Value]) -> Value {
    let mut request = json!({
        "model": model(window), "messages": messages, "max_completion_tokens": ANSWER,
    });
    let tool = |tool: &Value| json!({ "type": "function", "function": tool });
    let tools: Vec<Value> = run.tools().iter().map(tool).collect();
    if let (Some(fields), false) = (request.as_object_mut(), tools.is_empty()) {
        fields.insert("tools".to_owned(), tools.into());
    }
    request
}

async fn post(
    client: &Client<HttpConnector, Full<Bytes>>,
    gateway: SocketAddr,
    body: &Value,
) -> Result<u16, Box<dyn Error>> {
    let request = http::Request::post(format!("http://{gateway}/v1/chat/completions"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))?;
    let answer = client.request(request).await?;
    let status = answer.status().as_u16();
    answer.into_body().collect().await?;
    Ok(status)
}
