//! Recorded runs of agents, turn by turn, through a rig model with the layer in front of it.
//!
//! `cargo run --release -p tower-cupel-rig --example replay -- <folder>` reads the folder's `*.jsonl`
//! files and calls a strict server on this machine through rig's own OpenAI client: with tools and
//! without, whole and streamed in turns, at four windows. It prints how many calls the server
//! refused, how many exceeded the window by the server's own count or were more by it than was counted
//! here, and how many panicked, and fails unless all are 0. "No room": what is always sent does not fit, such as a result larger than the
//! window; nothing is sent then.

mod messages;
#[path = "../../../replay/mod.rs"]
#[allow(dead_code, missing_debug_implementations, unreachable_pub, reason = "shared")]
mod replay;

use std::error::Error;
use std::future::ready;
use std::io::Write as _;
use std::process::ExitCode;
use std::task::{Context, Poll};

use cupel::Policy;
use cupel::layer::{ContextError, CupelLayer, CupelService, Error as LayerError};
use cupel_rig::{AgentCall, ModelReply, RigAdapter, RigModel};
use futures::future::{BoxFuture, FutureExt as _, TryFutureExt as _};
use rig_core::Model;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::Message;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::transcript::validate_canonical;
use rig_reqwest::{ReqwestClient, reqwest};
use tower::{BoxError, Layer as _, Service, ServiceExt as _};

use replay::local_server::LocalServer;
use replay::tally::{Outcome, Report, Tally};
use replay::{ANSWER, Counted, WINDOWS, runs};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let runs = runs::read(replay::folder()?)?;
    let server = replay::server().await;
    let mut report = Report::default();
    for (way, with_tools) in [("with tools", true), ("without tools", false)] {
        for window in WINDOWS {
            let counted = Counted::default();
            let stack = stack(&server, window, &counted)?;
            let mut tally = Tally::default();
            for run in &runs {
                let tools = if with_tools { messages::tools(&run.tools())? } else { Vec::new() };
                for (turn, sent) in run.turns().enumerate() {
                    let history = messages::history(sent)?;
                    if validate_canonical(&history).is_err() {
                        continue; // rig itself would not hold it
                    }
                    let call = call(history, &tools, turn % 2 == 1);
                    let outcome = outcome(&server, &stack, &counted, call).await;
                    tally.add(format_args!("{way}, {window}: {}, turn {turn}", run.name), outcome);
                }
            }
            report.add(way, window, tally);
        }
    }
    write!(std::io::stdout(), "{report}")?;
    Ok(report.exit_code())
}

type Stack = CupelService<Checked, AgentCall, RigAdapter>;

/// Looks at what is sent before rig gets it, which would repair it in silence.
#[derive(Clone)]
struct Checked {
    model: RigModel,
}

impl Service<AgentCall> for Checked {
    type Response = ModelReply;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<ModelReply, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: AgentCall) -> Self::Future {
        if let Err(problem) = validate_canonical(&call.request.chat_history) {
            return ready(Err(format!("rig would repair it: {problem}").into())).boxed();
        }
        self.model.call(call).err_into().boxed()
    }
}

/// The layer before rig's own client.
fn stack(server: &LocalServer, window: i64, counted: &Counted) -> Result<Stack, Box<dyn Error>> {
    // A proxy of the machine's has no business with 127.0.0.1.
    let client = reqwest::Client::builder().no_proxy().build()?;
    let config = OpenAIConfig::new("no-key").with_base_url(server.url());
    let model = Model::new(config.chat(replay::model(window)), ReqwestClient::from(client));
    let adapter = RigAdapter::for_model("openai/gpt-4o");
    let layer = CupelLayer::builder()
        .budget(adapter.window().tokens(window))
        .adapter(adapter)
        .policy(Policy::tool_use())
        .on_selection(counted.hook())
        .build()?;
    Ok(layer.layer(Checked { model: RigModel::new(model) }))
}

fn call(history: Vec<Message>, tools: &[ToolDefinition], stream: bool) -> AgentCall {
    let mut request = CompletionRequest::new("").max_tokens(u64::from(ANSWER));
    request.chat_history = history;
    request.tools = tools.to_vec();
    AgentCall::new(request, stream)
}

async fn outcome(
    server: &LocalServer,
    stack: &Stack,
    counted: &Counted,
    call: AgentCall,
) -> Outcome {
    let answered = tokio::spawn(stack.clone().oneshot(call)).await;
    let reply = match answered {
        Err(error) => return Outcome::Panicked(error.to_string()),
        Ok(Ok(reply)) => reply,
        Ok(Err(LayerError::Context(
            ContextError::FixedTokens { .. } | ContextError::Pinned { .. },
        ))) => return Outcome::NoRoom,
        Ok(Err(error)) => {
            return match Outcome::of_last(server, counted.tokens()) {
                None | Some(Outcome::Taken) => Outcome::Failed(error.to_string()),
                Some(outcome) => outcome,
            };
        }
    };
    if let ModelReply::Stream(stream) = reply
        && let Err(error) = stream.finish().await
    {
        return Outcome::Failed(error.to_string());
    }
    let outcome = Outcome::of_last(server, counted.tokens());
    outcome.unwrap_or_else(|| Outcome::Failed("nothing arrived".to_owned()))
}
