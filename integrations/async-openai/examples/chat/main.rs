//! A long conversation with tools, in a window that is too small for it.
//!
//! Run it with `cargo run -p tower-cupel-async-openai --example chat`. The model is a bundled
//! server on 127.0.0.1: real HTTP, no key. It thinks by rules and knows nothing but the messages
//! it is sent, so what a selection drops shows in the next call: it looks a thing up again, or has
//! to say that it cannot see it any more. The tools run here.
//!
//! With `OPENAI_BASE_URL` and `OPENAI_API_KEY` set, a real endpoint answers instead
//! (`OPENAI_MODEL`, or gpt-4o-mini). For an `https` address add `--features async-openai/rustls`.

#![allow(
    clippy::indexing_slicing,
    reason = "only JSON values are indexed, and a field they do not have is null"
)]

mod model;
mod tools;
mod view;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessage,
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage,
    ChatCompletionRequestToolMessage, ChatCompletionRequestUserMessage,
    ChatCompletionResponseMessage, CreateChatCompletionRequest,
};
use cupel::Policy;
use cupel::conversation::Attributes;
use cupel::layer::CupelLayer;
use cupel::tokens::Encoding;
use cupel_async_openai::{ChatService, Model, Models, OpenAiAdapter};
use tower::{Service, ServiceBuilder, ServiceExt};

use cupel_dev_servers::local_server::LocalServer;

/// The window of this conversation: a real one would take an hour to fill.
const WINDOW: i64 = 900;
const OUTPUT: u32 = 100;
/// No question needs more calls of the model than this.
const MOST_CALLS: usize = 8;

const QUESTIONS: [&str; 12] = [
    "How many bolts do we have?",
    "And what does one of them cost?",
    "Remember that Ann wants 200 washers.",
    "What are all the bolts worth?",
    "How many gears do we have?",
    "Which are worth more, the gears or the springs?",
    "How many washers do we have?",
    "Are there enough washers for Ann?",
    "What does a bearing cost?",
    "What are all the bearings worth?",
    "What are all the bolts worth, once more?",
    "Who wanted washers?",
];

type BoxError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&mut io::stdout().lock()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(out: &mut impl Write) -> Result<(), BoxError> {
    // Stops when it goes out of scope.
    let server = LocalServer::start(|asked| async move { model::think(&asked) }).await;
    let (client, model) = endpoint(&server)?;

    // The window is our own here, so any model will do.
    let models = Models::new().otherwise(Model::new(8_192, Encoding::O200k));
    let adapter = OpenAiAdapter::new().models(models).attributes(|message| {
        // What the user asks to be remembered outlives the rest.
        match message.role() == "user" && message.text().starts_with("Remember") {
            true => Attributes::new().pinned(true),
            false => Attributes::new(),
        }
    });
    let cupel = CupelLayer::<CreateChatCompletionRequest, _>::builder()
        .budget(adapter.window().at_most(WINDOW))
        .adapter(adapter)
        .policy(Policy::chat())
        .build()?;
    let mut chat =
        ServiceBuilder::new().layer(cupel.with_report()).service(ChatService::new(client));

    let instructions = "You keep the stock of a workshop. Use the tools; never guess numbers.";
    let mut history: Vec<ChatCompletionRequestMessage> =
        vec![ChatCompletionRequestSystemMessage::from(instructions).into()];
    let mut totals = view::Totals::default();
    for question in QUESTIONS {
        view::question(out, question)?;
        history.push(ChatCompletionRequestUserMessage::from(question).into());
        for _ in 0..MOST_CALLS {
            let request = CreateChatCompletionRequest {
                model: model.clone(),
                messages: history.clone(),
                tools: Some(tools::definitions()?),
                max_completion_tokens: Some(OUTPUT),
                ..Default::default()
            };
            let call = chat.ready().await?.call(request);
            let (answer, selection) = call.await?;
            view::selection(out, history.len(), &selection, &mut totals)?;
            let message = answer.choices.into_iter().next().ok_or("no answer")?.message;
            let calls = message.tool_calls.clone().unwrap_or_default();
            history.push(own_words(message.clone()));
            if calls.is_empty() {
                view::answer(out, message.content.as_deref().unwrap_or_default())?;
                break;
            }
            for call in calls {
                let ChatCompletionMessageToolCalls::Function(call) = call else { continue };
                let result = tools::run(&call.function.name, &call.function.arguments);
                view::tool(out, &call.function.name, &call.function.arguments)?;
                history.push(ChatCompletionRequestMessage::Tool(
                    ChatCompletionRequestToolMessage {
                        content: result.into(),
                        tool_call_id: call.id,
                    },
                ));
            }
        }
    }
    view::totals(out, &totals, history.len(), WINDOW)?;
    Ok(())
}

/// The bundled server, or the endpoint of the environment.
fn endpoint(server: &LocalServer) -> Result<(Client<OpenAIConfig>, String), BoxError> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let (Some(url), Some(key)) = (var("OPENAI_BASE_URL"), var("OPENAI_API_KEY")) {
        let config = OpenAIConfig::new().with_api_base(url).with_api_key(key);
        let model = var("OPENAI_MODEL").unwrap_or_else(|| "gpt-4o-mini".to_owned());
        return Ok((Client::with_config(config), model));
    }
    let config = OpenAIConfig::new().with_api_base(server.url()).with_api_key("none");
    // A proxy of the machine's has no business with 127.0.0.1.
    let http = reqwest::Client::builder().no_proxy().build()?;
    Ok((Client::with_config(config).with_http_client(http), "gpt-4o".to_owned()))
}

/// The model's message as a part of the history.
fn own_words(message: ChatCompletionResponseMessage) -> ChatCompletionRequestMessage {
    ChatCompletionRequestAssistantMessage {
        content: message.content.map(Into::into),
        tool_calls: message.tool_calls,
        ..Default::default()
    }
    .into()
}
