//! Planned turns through rig's own clients to a server on this machine that is as strict as the APIs.

use cupel::Policy;
use cupel::layer::{CupelLayer, Selection};
use cupel_rig::{AgentCall, ModelReply, RigAdapter, RigModel};
use rig_core::DynModel;
use rig_core::completion::{CompletionRequest, Document, ToolDefinition};
use rig_core::message::{
    AssistantContent, AssistantMessage, Message, ToolCall, ToolFunction, ToolName,
    ToolResultContent,
};
use rig_core::operation::Completion;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::transcript::validate_canonical;
use rig_reqwest::{ReqwestClient, reqwest};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};

use crate::support::record::Record;
use cupel_dev_servers::local_server::answer::Reply;
use cupel_dev_servers::local_server::{LocalServer, messages, tokens};

/// Tokens that each request reserves for the answer.
const ANSWER: u64 = 200;

/// API of a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Chat,
    Responses,
    Messages,
}

impl Api {
    fn model(self, server: &LocalServer, window: i64) -> DynModel<Completion> {
        let client = || ReqwestClient::from(reqwest::Client::builder().no_proxy().build().unwrap());
        let name = format!("test-{window}");
        let openai = OpenAIConfig::new("no-key").with_base_url(server.url());
        match self {
            Self::Chat => openai.connect(client()).chat(name).erase(),
            Self::Responses => openai.connect(client()).responses(name).erase(),
            Self::Messages => {
                let config = AnthropicConfig::new("no-key").with_base_url(server.url());
                config.connect(client()).completion(name).erase()
            }
        }
    }

    /// Claude's tokenizer is not public: the adapter's estimate for it, and its margin.
    fn adapter(self) -> RigAdapter {
        match self {
            Self::Chat | Self::Responses => RigAdapter::for_model("openai/gpt-4o"),
            Self::Messages => RigAdapter::for_model("anthropic/claude-haiku-4-5"),
        }
    }
}

fn words(seed: usize, count: usize) -> String {
    let theme = ["parcel", "invoice", "flight", "garden", "printer"][seed % 5];
    (0..count).map(|n| format!("{theme} {} of {seed}, ", n * 7 % 31)).collect()
}

/// A long conversation with tools: several calls at once, long results, JSON, instructions in it.
fn conversation() -> Vec<Message> {
    let mut history = vec![Message::system("You help customers. Be brief.")];
    for turn in 0..18 {
        history.push(Message::user(words(turn, 4 + turn % 5)));
        for step in 0..turn % 4 {
            let call = |n: usize| {
                let function =
                    ToolFunction::new(ToolName::new("look").unwrap(), json!({ "at": [turn, n] }));
                ToolCall::from_wire(format!("call_{turn}_{step}_{n}"), function)
            };
            let made: Vec<ToolCall> = (0..=step % 2).map(call).collect();
            let result = |call: &ToolCall| match (turn + step) % 5 {
                0 => call.result(vec![ToolResultContent::text(words(turn, 300))]),
                1 => call.result(vec![ToolResultContent::json(json!({ "rows": words(turn, 9) }))]),
                2 => call.result(vec![ToolResultContent::text("")]),
                _ => call.result(vec![ToolResultContent::text(words(turn + step, 30))]),
            };
            let results = made.iter().map(result).collect();
            let mut content: Vec<_> = made.into_iter().map(AssistantContent::ToolCall).collect();
            if step == 0 {
                content.insert(0, AssistantContent::text("I will look."));
            }
            history.push(Message::Assistant(AssistantMessage::new(content)));
            history.push(Message::tool_results(results));
        }
        history.push(Message::assistant(words(turn + 2, 12)));
        if turn == 10 {
            history.push(Message::system("From now on mention the weather."));
        }
    }
    history
}

fn tool() -> ToolDefinition {
    let parameters = json!({ "type": "object", "properties": {
        "at": { "type": "array", "items": { "type": "integer" } } } });
    ToolDefinition::new(ToolName::new("look").unwrap(), "Looks something up.", parameters)
}

/// Requests of the model at each turn.
fn requests(with_tools: bool) -> Vec<CompletionRequest> {
    let history = conversation();
    let is_models = |message: &&Message| matches!(message, Message::Assistant(_));
    let calls = history.iter().enumerate().filter(|(_, message)| is_models(message));
    let request = |(at, _): (usize, &Message)| {
        let mut request = CompletionRequest::new("").max_tokens(ANSWER);
        request.chat_history = history[..at].to_vec();
        request.tools = if with_tools { vec![tool()] } else { Vec::new() };
        if at % 3 == 0 {
            let text = words(at, 40);
            let id = at.to_string();
            request.documents = vec![Document { id, text, additional_props: Default::default() }];
        }
        request
    };
    calls.map(request).collect()
}

#[tokio::test]
async fn nothing_is_refused_at_any_window_and_counts_hold() {
    let done = |_| async { Reply::Text("Done.".to_owned()) };
    let server = LocalServer::start(done).await;
    for (api, windows) in [
        (Api::Chat, [1_200_i64, 2_500, 6_000]),
        (Api::Responses, [1_200, 2_500, 6_000]),
        // With a prompt of the provider's for tools, which is a quarter of the smallest.
        (Api::Messages, [1_600, 2_500, 6_000]),
    ] {
        for (window, with_tools) in windows.into_iter().zip([true, false, true]) {
            let selections = Record::<Selection>::default();
            let seen = selections.clone();
            let adapter = api.adapter();
            let layer = CupelLayer::builder()
                .budget(adapter.window().tokens(window))
                .adapter(adapter)
                .policy(Policy::tool_use())
                .on_selection(move |selection: &Selection| seen.add(selection.clone()))
                .build()
                .unwrap();
            let stack = layer.layer(RigModel::new(api.model(&server, window)));
            let mut cut = 0;
            for (turn, request) in requests(with_tools).into_iter().enumerate().skip(2).step_by(3) {
                let what = format!("{api:?}, {window}, turn {turn}");
                validate_canonical(&request.chat_history).unwrap();
                // The server's streams of responses are not whole.
                let stream = turn % 2 == 1 && api != Api::Responses;
                let reply = stack.clone().oneshot(AgentCall::new(request, stream)).await;
                let arrived = server.take_arrived().pop();
                let refused = arrived.as_ref().and_then(|arrived| arrived.refused.clone());
                assert_eq!(refused, None, "{what}");
                match reply.unwrap_or_else(|error| panic!("{what}: {error}")) {
                    ModelReply::Stream(stream) => drop(stream.finish().await.unwrap()),
                    ModelReply::Whole(_) => {}
                }
                let selection = selections.all().pop().unwrap();
                let plan = selection.plan.as_ref().expect("a planned turn");
                cut += usize::from(!plan.whole);
                let json: Value = serde_json::from_slice(&arrived.unwrap().body).unwrap();
                let counted = selection.sent.tokens + selection.fixed_tokens;
                assert_eq!(plan.cached_tokens + plan.new_tokens, counted, "{what}");
                let really = match api {
                    Api::Chat => tokens::chat(&json),
                    Api::Responses => tokens::response(&json),
                    Api::Messages => messages::count::request(&json),
                };
                assert!(really <= counted, "{what}: {really} tokens arrived, {counted} counted");
            }
            assert!(cut > 4, "{api:?}, {window}: {cut} requests were cut");
        }
    }
}
