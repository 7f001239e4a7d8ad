//! Recorded runs of agents, turn by turn, through a rig model with the layer in front of it.
//!
//! `cargo run --release -p tower-cupel-rig --example replay -- <folder>` reads the folder's `*.jsonl`
//! files and calls a strict server on this machine through rig's own clients: OpenAI's Chat Completions
//! and Responses and Anthropic's Messages, planned, and once scored; with tools and without, whole and
//! streamed in turns. `--joined` makes one session of the runs of each file, `--windows 4500,12000,32000`
//! sets the windows, `--way messages` takes the ways with that in their name, and may come again.
//!
//! It prints how many calls the server
//! refused, how many exceeded the window by the server's own count or were more by it than was counted
//! here, and how many panicked, and fails unless all are 0. "No room": what is always sent does not fit,
//! such as a result larger than the window that is not planned; nothing is sent then.
//!
//! Then, in shares of the room, what the calls that were trimmed used, and where the rest is: kept for
//! recall, kept because counts are estimates, free although whole units before the cut would have fitted
//! (the cut lies on the plan's grid), and free because none would.

mod args;
mod fill;
mod messages;

use std::error::Error;
use std::future::ready;
use std::io::Write as _;
use std::process::ExitCode;
use std::task::{Context, Poll};

use cupel::Policy;
use cupel::layer::{ContextError, CupelLayer, CupelService, Error as LayerError};
use cupel::tokens::ClaudeTokenizer;
use cupel_rig::{AgentCall, ModelReply, RigAdapter, RigModel};
use futures::future::{BoxFuture, FutureExt as _, TryFutureExt as _};
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::Message;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::transcript::validate_canonical;
use rig_reqwest::{ReqwestClient, reqwest};
use tower::{BoxError, Layer as _, Service, ServiceExt as _};

use args::Args;
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::replay::tally::{self, Outcome, Report, Tally};
use cupel_dev_servers::replay::{self, ANSWER, Counted, runs};
use fill::{Filled, HEAD};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Args::read()?;
    let runs = if args.joined { runs::read_joined(args.folder)? } else { runs::read(args.folder)? };
    let server = replay::server().await;
    let mut report = Report::default();
    let mut fills = vec![HEAD.to_owned()];
    let mut skipped = 0;
    for way in args.ways {
        for window in args.windows.iter().copied() {
            let (counted, filled) = (Counted::default(), Filled::default());
            let margin = way.api.margin_percent();
            let stack = stack(&server, way, window, &counted, &filled)?;
            let mut tally = Tally::default();
            for run in &runs {
                let tools = if way.tools { messages::tools(&run.tools())? } else { Vec::new() };
                for (turn, sent) in run.turns().enumerate() {
                    let history = messages::history(sent)?;
                    if validate_canonical(&history).is_err() {
                        skipped += 1; // rig itself would not hold it
                        continue;
                    }
                    // The server's streams of responses are not whole.
                    let stream = turn % 2 == 1 && way.api != Api::Responses;
                    let call = call(history, &tools, stream);
                    let outcome = outcome(&server, &stack, &counted, &filled, margin, call).await;
                    let name = way.name;
                    tally.add(format_args!("{name}, {window}: {}, turn {turn}", run.name), outcome);
                }
            }
            fills.push(format!("| {} | {window} | {filled} |", way.name));
            report.add(way.name, window, tally);
        }
    }
    writeln!(std::io::stdout(), "{report}{skipped} skipped\n\n{}", fills.join("\n"))?;
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

/// API that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Chat,
    Responses,
    Messages,
}

impl Api {
    fn adapter(self) -> RigAdapter {
        match self {
            Self::Chat | Self::Responses => RigAdapter::for_model("openai/gpt-4o"),
            Self::Messages => RigAdapter::for_model("anthropic/claude-haiku-4-5"),
        }
    }

    /// Percentage that the adapter's window keeps free.
    fn margin_percent(self) -> f64 {
        match self {
            Self::Chat | Self::Responses => 0.0,
            Self::Messages => ClaudeTokenizer::MARGIN_PERCENT,
        }
    }
}

/// One way to replay the runs.
#[derive(Debug, Clone, Copy)]
struct Way {
    name: &'static str,
    api: Api,
    tools: bool,
    planned: bool,
}

const WAYS: [Way; 5] = [
    Way { name: "chat, tools", api: Api::Chat, tools: true, planned: true },
    Way { name: "chat, no tools", api: Api::Chat, tools: false, planned: true },
    Way { name: "responses, tools", api: Api::Responses, tools: true, planned: true },
    Way { name: "messages, tools", api: Api::Messages, tools: true, planned: true },
    Way { name: "chat, tools, scored", api: Api::Chat, tools: true, planned: false },
];

/// The layer before rig's own client.
fn stack(
    server: &LocalServer,
    way: Way,
    window: i64,
    counted: &Counted,
    filled: &Filled,
) -> Result<Stack, Box<dyn Error>> {
    // A proxy of the machine's has no business with 127.0.0.1.
    let client = ReqwestClient::from(reqwest::Client::builder().no_proxy().build()?);
    let openai = OpenAIConfig::new("no-key").with_base_url(server.url());
    let name = replay::model(window);
    let model = match way.api {
        Api::Chat => openai.connect(client).chat(name).erase(),
        Api::Responses => openai.connect(client).responses(name).erase(),
        Api::Messages => {
            let anthropic = AnthropicConfig::new("no-key").with_base_url(server.url());
            anthropic.connect(client).completion(name).erase()
        }
    };
    let (adapter, margin) = (way.api.adapter(), way.api.margin_percent());
    let policy = if way.planned { Policy::tool_use() } else { Policy::tool_use().without_plan() };
    let layer = CupelLayer::builder()
        .budget(adapter.window().tokens(window))
        .adapter(adapter)
        .policy(policy)
        .on_selection(counted.hook())
        .on_selection(filled.hook(window - i64::from(ANSWER), margin, way.api == Api::Messages))
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
    filled: &Filled,
    margin: f64,
    call: AgentCall,
) -> Outcome {
    let arrived = || {
        let arrived = server.take_arrived().pop()?;
        filled.arrived(tally::tokens(&arrived));
        // What is kept free is for counts that are too low.
        let counted = counted.tokens() as f64 / (1.0 - margin / 100.0);
        Some(Outcome::of_arrived(&arrived, counted as i64))
    };
    let answered = tokio::spawn(stack.clone().oneshot(call)).await;
    let reply = match answered {
        Err(error) => return Outcome::Panicked(error.to_string()),
        Ok(Ok(reply)) => reply,
        Ok(Err(LayerError::Context(
            ContextError::FixedTokens { .. } | ContextError::Pinned { .. },
        ))) => return Outcome::NoRoom,
        Ok(Err(error)) => {
            return match arrived() {
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
    arrived().unwrap_or_else(|| Outcome::Failed("nothing arrived".to_owned()))
}
