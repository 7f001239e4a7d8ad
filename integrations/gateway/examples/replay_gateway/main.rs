//! Recorded runs of agents, turn by turn, through a gateway to a strict server.
//!
//! `cargo run --release -p tower-cupel-gateway --example replay_gateway -- <folder>` reads the `*.jsonl` files
//! of the folder (or of the one that `CUPEL_RUNS_DIR` names), sends every turn of every run as a request to
//! `gpt-4o` through Chat Completions and Responses at three windows, and prints how many calls the server
//! refused, how many exceeded the window or our own count by the server's count, and how many failed; it
//! fails unless all are 0. "No room": what is always sent does not fit. The gateway is told to refuse that,
//! since the server would.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use bytes::Bytes;
use cupel_gateway::{Config, Gateway, Upstream};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use cupel_dev_servers::replay::runs::Run;
use cupel_dev_servers::replay::tally::{Outcome, Report, Tally};
use cupel_dev_servers::replay::{self, ANSWER, items, runs};

/// The windows; smaller ones are the other integrations' business.
const WINDOWS: [i64; 3] = [4_500, 12_000, 32_000];

const MODEL: &str = "gpt-4o";

#[derive(Debug, Clone, Copy)]
enum Api {
    Chat,
    Responses,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let runs = runs::read(replay::folder()?)?;
    let server = replay::server().await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut report = Report::default();
    let ways = [
        (Api::Chat, "chat through the gateway"),
        (Api::Responses, "responses through the gateway"),
    ];
    for (api, way) in ways {
        for window in WINDOWS {
            let gateway = gateway(server.url(), window).await?;
            let mut tally = Tally::default();
            for run in &runs {
                for (turn, sent) in run.turns().enumerate() {
                    let (status, counted) = post(&client, gateway, api, run, sent).await?;
                    let outcome = match (status, Outcome::of_last(&server, counted)) {
                        (422, None) => Outcome::NoRoom,
                        (200, Some(Outcome::Taken)) if counted + i64::from(ANSWER) > window => {
                            Outcome::Over(format!("{counted} tokens were sent"))
                        }
                        (_, Some(outcome)) => outcome,
                        (status, None) => Outcome::Failed(status.to_string()),
                    };
                    tally.add(format_args!("{}, turn {turn}", run.name), outcome);
                }
            }
            report.add(way, window, tally);
        }
    }
    write!(std::io::stdout(), "{report}")?;
    Ok(report.exit_code())
}

/// A gateway that keeps to a window, however large the model's is.
async fn gateway(upstream: &str, window: i64) -> Result<SocketAddr, Box<dyn Error>> {
    let mut config = Config::new(Upstream::new(upstream)?);
    config.fail_closed = true;
    config.at_most = Some(window);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(Gateway::new(config)?.serve(listener, std::future::pending()));
    Ok(address)
}

fn request(api: Api, run: &Run, messages: &[Value]) -> Value {
    let tools = run.tools();
    let of_type = |tool: &Value| match api {
        Api::Chat => json!({ "type": "function", "function": tool }),
        Api::Responses => {
            let mut tool = tool.clone();
            if let Some(fields) = tool.as_object_mut() {
                fields.insert("type".to_owned(), "function".into());
            }
            tool
        }
    };
    let mut request = match api {
        Api::Chat => {
            let messages: Vec<Value> = messages.iter().map(message).collect();
            json!({ "model": MODEL, "messages": messages, "max_completion_tokens": ANSWER })
        }
        Api::Responses => json!({
            "model": MODEL, "input": items::of(messages, true), "max_output_tokens": ANSWER,
        }),
    };
    if let (Some(fields), false) = (request.as_object_mut(), tools.is_empty()) {
        fields.insert("tools".to_owned(), tools.iter().map(of_type).collect());
    }
    request
}

/// A recorded message without what OpenAI does not take: fields of other providers, and empty ones.
fn message(recorded: &Value) -> Value {
    const TAKEN: [&str; 4] = ["role", "content", "tool_calls", "tool_call_id"];
    let fields = recorded.as_object().into_iter().flatten();
    let taken = fields.filter(|(name, value)| TAKEN.contains(&name.as_str()) && !value.is_null());
    taken.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The status, and the tokens that were counted here.
async fn post(
    client: &Client<HttpConnector, Full<Bytes>>,
    gateway: SocketAddr,
    api: Api,
    run: &Run,
    messages: &[Value],
) -> Result<(u16, i64), Box<dyn Error>> {
    let path = match api {
        Api::Chat => "chat/completions",
        Api::Responses => "responses",
    };
    let body = request(api, run, messages).to_string();
    let request = http::Request::post(format!("http://{gateway}/v1/{path}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))?;
    let answer = client.request(request).await?;
    let status = answer.status().as_u16();
    let counted = answer.headers().get("x-cupel-tokens").and_then(|value| value.to_str().ok());
    let counted = counted.and_then(|tokens| tokens.parse().ok()).unwrap_or_default();
    answer.into_body().collect().await?;
    Ok((status, counted))
}
