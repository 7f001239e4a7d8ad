//! Recorded runs of agents, turn by turn, through an async-openai client with the layer above it.
//!
//! `cargo run --release -p tower-cupel-async-openai --example replay_openai -- <folder>` reads the folder's
//! `*.jsonl` files and calls a strict server on this machine: with tools and without, at four windows.
//! It prints how many calls the server refused, how many exceeded the window by the server's own
//! count, and how many panicked, and fails unless all are 0. "No room": what is always sent does not
//! fit, such as a result larger than the window; nothing is sent then.

#[path = "../../../replay/mod.rs"]
#[allow(dead_code, missing_debug_implementations, unreachable_pub, reason = "shared")]
mod replay;

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use cupel::layer::{ContextError, CupelLayer, CupelService, Error as LayerError};
use cupel::tokens::Encoding;
use cupel::{CupelError, Policy};
use cupel_async_openai::{ChatService, Model, Models, OpenAiAdapter};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};

use replay::local_server::LocalServer;
use replay::tally::{Outcome, Report, Tally};
use replay::{ANSWER, WINDOWS, runs};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let runs = runs::read(replay::folder()?)?;
    let server = replay::server().await;
    let mut report = Report::default();
    for (way, with_tools) in [("chat with tools", true), ("chat without tools", false)] {
        for window in WINDOWS {
            let chat = chat(&server, window)?;
            let mut tally = Tally::default();
            for run in &runs {
                let tools = if with_tools { run.tools() } else { Vec::new() };
                for (turn, sent) in run.turns().enumerate() {
                    let request = request(window, sent, &tools)?;
                    let outcome = outcome(&server, &chat, request).await;
                    tally.add(format_args!("{way}, {window}: {}, turn {turn}", run.name), outcome);
                }
            }
            report.add(way, window, tally);
        }
    }
    write!(std::io::stdout(), "{report}")?;
    Ok(report.exit_code())
}

type Chat = CupelService<ChatService<OpenAIConfig>, CreateChatCompletionRequest, OpenAiAdapter>;

fn chat(server: &LocalServer, window: i64) -> Result<Chat, Box<dyn Error>> {
    let model = Model::new(window, Encoding::O200k);
    let adapter = OpenAiAdapter::new().models(Models::new().with(replay::model(window), model));
    let layer = CupelLayer::builder()
        .budget(adapter.window())
        .adapter(adapter)
        .policy(Policy::tool_use())
        .build()?;
    // A proxy of the machine's has no business with 127.0.0.1.
    let client = reqwest::Client::builder().no_proxy().build()?;
    let config = OpenAIConfig::new().with_api_base(server.url()).with_api_key("none");
    let client = Client::with_config(config).with_http_client(client);
    Ok(layer.layer(ChatService::new(client)))
}

fn request(
    window: i64,
    messages: &[Value],
    tools: &[Value],
) -> Result<CreateChatCompletionRequest, serde_json::Error> {
    let mut request = json!({
        "model": replay::model(window), "messages": messages, "max_completion_tokens": ANSWER,
    });
    if let (Some(fields), false) = (request.as_object_mut(), tools.is_empty()) {
        let tool = |tool: &Value| json!({ "type": "function", "function": tool });
        fields.insert("tools".to_owned(), tools.iter().map(tool).collect());
    }
    serde_json::from_value(request)
}

async fn outcome(server: &LocalServer, chat: &Chat, call: CreateChatCompletionRequest) -> Outcome {
    match tokio::spawn(chat.clone().oneshot(call)).await {
        Err(error) => Outcome::Panicked(error.to_string()),
        Ok(Err(LayerError::Context(
            ContextError::FixedTokens { .. }
            | ContextError::Selection(CupelError::PinnedExceedsBudget { .. }),
        ))) => Outcome::NoRoom,
        Ok(answered) => {
            let refused = server.take_arrived().pop().and_then(|arrived| arrived.refused);
            match (answered, refused) {
                (Err(error), None) => Outcome::Failed(error.to_string()),
                (_, refused) => Outcome::of(refused),
            }
        }
    }
}
