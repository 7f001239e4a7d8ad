//! A model without a network: a function answers, within a window of tokens.

use std::sync::Arc;

use futures::stream;
use rig_core::completion::{CompletionRequest, CompletionResponse, Usage};
use rig_core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_core::error::ProviderError;
use rig_core::message::{
    AssistantContent, DocumentSourceKind, Message, Origin, ToolCall, ToolFunction, ToolName,
    ToolResultContent, UserContent,
};
use rig_core::test_utils::{MockFrame, MockScript, MockStreamEvent};
use rig_core::wire::Mode;

use super::word_count;

pub(crate) type LocalModel = Model<MockScript, Local>;

/// Model behind rig's scripted wire: it refuses requests that exceed its window, as a provider
/// does, and answers the others.
#[derive(Clone)]
pub(crate) struct Local {
    window: i64,
    reply: Reply,
}

type Reply = Arc<dyn Fn(&CompletionRequest) -> Vec<AssistantContent> + Send + Sync>;

/// A model with a window of so many words for what it reads.
pub(crate) fn local(
    window: i64,
    reply: impl Fn(&CompletionRequest) -> Vec<AssistantContent> + Send + Sync + 'static,
) -> LocalModel {
    Model::new(MockScript::new("local"), Local { window, reply: Arc::new(reply) })
}

pub(crate) fn call(
    id: impl Into<String>,
    name: &str,
    arguments: serde_json::Value,
) -> AssistantContent {
    let function = ToolFunction::new(ToolName::new(name).unwrap(), arguments);
    AssistantContent::ToolCall(ToolCall::from_wire(id, function))
}

impl Transport<MockScript> for Local {
    fn send(&self, request: CompletionRequest, exchange: Exchange) -> Opening<MockFrame> {
        let size = size_of(&request);
        if size > self.window {
            let problem = format!("{size} tokens exceed the window of {}", self.window);
            return Opening::failed(ProviderError::Provider(problem));
        }
        let content = (self.reply)(&request);
        let frames = match exchange.mode {
            Mode::Unary => vec![MockFrame::Response(Box::new(CompletionResponse::new(
                content,
                Usage::default(),
                Origin::new("local.api", "local", ""),
                serde_json::Value::Null,
            )))],
            Mode::Streaming => events(content),
        };
        Opening::ready(Opened::new(stream::iter(frames.into_iter().map(Ok))))
    }
}

fn events(content: Vec<AssistantContent>) -> Vec<MockFrame> {
    let mut events = Vec::new();
    for part in content {
        match part {
            AssistantContent::Text(text) => {
                events.extend(text.text.split_inclusive(' ').map(MockStreamEvent::text));
            }
            AssistantContent::ToolCall(call) => events.push(MockStreamEvent::tool_call(
                call.id.to_string(),
                call.function.name.as_str(),
                call.function.arguments_value(),
            )),
            other => panic!("the local model does not stream {other:?}"),
        }
    }
    events.push(MockStreamEvent::final_response_with_default_usage());
    events.into_iter().map(MockFrame::Event).collect()
}

/// The words of everything in a request, reckoned on its own and without any overhead.
pub(crate) fn size_of(request: &CompletionRequest) -> i64 {
    let messages: i64 = request.chat_history.iter().map(size_of_message).sum();
    let tools: i64 =
        request.tools.iter().map(|tool| word_count(&serde_json::to_string(tool).unwrap())).sum();
    let documents: i64 = request.documents.iter().map(|d| word_count(&d.to_string())).sum();
    messages + tools + documents
}

fn size_of_message(message: &Message) -> i64 {
    match message {
        Message::System { content } => word_count(content),
        Message::User { content } => content.iter().map(size_of_user_part).sum(),
        Message::Assistant(turn) => turn
            .content
            .iter()
            .map(|part| match part {
                AssistantContent::Text(text) => word_count(&text.text),
                AssistantContent::ToolCall(call) => {
                    1 + word_count(&call.function.arguments_value().to_string())
                }
                _ => 0,
            })
            .sum(),
    }
}

fn size_of_user_part(part: &UserContent) -> i64 {
    match part {
        UserContent::Text(text) => word_count(&text.text),
        UserContent::Document(document) => match &document.data {
            DocumentSourceKind::String(text) => word_count(text),
            _ => 0,
        },
        UserContent::ToolResult(result) => result
            .content
            .iter()
            .map(|part| match part {
                ToolResultContent::Text(text) => word_count(&text.text),
                ToolResultContent::Json { value } => word_count(&value.to_string()),
                ToolResultContent::Image(_) => 0,
            })
            .sum(),
        _ => 0,
    }
}
