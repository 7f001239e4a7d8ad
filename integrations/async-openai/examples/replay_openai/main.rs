//! Recorded runs of agents, turn by turn, through an async-openai client with the layer above it.
//!
//! `cargo run --release -p tower-cupel-async-openai --example replay_openai -- <folder>` reads the folder's
//! `*.jsonl` files and calls a strict server on this machine through both APIs: with tools and without,
//! and with reasoning before the calls it led to, at four windows. It prints how many calls the server
//! refused, how many exceeded the window by the server's own count or were more by it than was counted
//! here, and how many panicked, and fails unless all are 0. "No room": what is always sent does not fit, such as a result larger than the
//! window; nothing is sent then.

use std::error::Error;
use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use async_openai::types::responses::CreateResponse;
use cupel::Policy;
use cupel::layer::{ContextError, CupelLayer, Error as LayerError};
use cupel::tokens::Encoding;
use cupel_async_openai::{ChatService, Model, Models, OpenAiAdapter, Request, ResponsesService};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower::{Layer as _, Service, ServiceExt as _};

use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::replay::runs::Run;
use cupel_dev_servers::replay::tally::{Outcome, Report, Tally};
use cupel_dev_servers::replay::{self, ANSWER, Counted, WINDOWS, items, runs};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let runs = runs::read(replay::folder()?)?;
    let server = replay::server().await;
    let mut report = Report::default();
    for window in WINDOWS {
        let client = client(&server)?;
        let counted = Counted::default();
        let chat = layer::<CreateChatCompletionRequest>(window, &counted)?;
        let chat = chat.layer(ChatService::new(client.clone()));
        let responses = layer::<CreateResponse>(window, &counted)?;
        let responses = responses.layer(ResponsesService::new(client));
        for (way, with_tools) in [("chat with tools", true), ("chat without tools", false)] {
            let request = |run: &Run, sent: &[Value]| chat_request(window, run, sent, with_tools);
            report.add(way, window, replay(&server, &runs, &counted, &chat, request).await?);
        }
        for (way, with_reasoning) in
            [("responses with tools", false), ("responses with reasoning", true)]
        {
            let request =
                |run: &Run, sent: &[Value]| response_request(window, run, sent, with_reasoning);
            report.add(way, window, replay(&server, &runs, &counted, &responses, request).await?);
        }
    }
    write!(std::io::stdout(), "{report}")?;
    Ok(report.exit_code())
}

fn layer<R: Request + 'static>(
    window: i64,
    counted: &Counted,
) -> Result<CupelLayer<R, OpenAiAdapter>, Box<dyn Error>> {
    let model = Model::new(window, Encoding::O200k);
    let adapter = OpenAiAdapter::new().models(Models::new().with(replay::model(window), model));
    let budget = adapter.window();
    let builder = CupelLayer::builder().budget(budget).adapter(adapter);
    Ok(builder.policy(Policy::tool_use()).on_selection(counted.hook()).build()?)
}

fn client(server: &LocalServer) -> Result<Client<OpenAIConfig>, reqwest::Error> {
    // A proxy of the machine's has no business with 127.0.0.1.
    let client = reqwest::Client::builder().no_proxy().build()?;
    let config = OpenAIConfig::new().with_api_base(server.url()).with_api_key("none");
    Ok(Client::with_config(config).with_http_client(client))
}

fn chat_request(window: i64, run: &Run, messages: &[Value], with_tools: bool) -> Value {
    let mut request = json!({
        "model": replay::model(window), "messages": messages, "max_completion_tokens": ANSWER,
    });
    let tools = if with_tools { run.tools() } else { Vec::new() };
    if let (Some(fields), false) = (request.as_object_mut(), tools.is_empty()) {
        let tool = |tool: &Value| json!({ "type": "function", "function": tool });
        fields.insert("tools".to_owned(), tools.iter().map(tool).collect());
    }
    request
}

fn response_request(window: i64, run: &Run, messages: &[Value], with_reasoning: bool) -> Value {
    let mut tools = run.tools();
    for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
        tool.insert("type".to_owned(), "function".into());
    }
    json!({
        "model": replay::model(window), "input": items::of(messages, with_reasoning),
        "max_output_tokens": ANSWER, "tools": tools,
    })
}

/// Sends all turns of all runs.
async fn replay<S, R, E>(
    server: &LocalServer,
    runs: &[Run],
    counted: &Counted,
    service: &S,
    request: impl Fn(&Run, &[Value]) -> Value,
) -> Result<Tally, serde_json::Error>
where
    S: Service<R, Error = LayerError<E>, Future: Send> + Clone + Send + 'static,
    S::Response: Send + 'static,
    R: DeserializeOwned + Send + 'static,
    E: Display + Send + 'static,
{
    let mut tally = Tally::default();
    for run in runs {
        for (turn, sent) in run.turns().enumerate() {
            let call: R = serde_json::from_value(request(run, sent))?;
            let answered = tokio::spawn(service.clone().oneshot(call)).await;
            let outcome = match answered {
                Err(error) => Outcome::Panicked(error.to_string()),
                Ok(Err(LayerError::Context(
                    ContextError::FixedTokens { .. } | ContextError::Pinned { .. },
                ))) => Outcome::NoRoom,
                Ok(answered) => match (answered, Outcome::of_last(server, counted.tokens())) {
                    (Err(error), None | Some(Outcome::Taken)) => Outcome::Failed(error.to_string()),
                    (Ok(_), None) => Outcome::Failed("nothing arrived".to_owned()),
                    (_, Some(outcome)) => outcome,
                },
            };
            tally.add(format_args!("{}, turn {turn}", run.name), outcome);
        }
    }
    Ok(tally)
}
