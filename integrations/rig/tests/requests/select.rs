//! A request through the layer, and what it says about it.

use cupel::gather::Source;
use cupel::layer::{
    ContextError, CupelLayer, CupelLayerBuilder, SelectedRequest, Selection, TurnReport,
};
use cupel::{ContextBudget, Policy};
use cupel_rig::RigAdapter;
use rig_core::completion::CompletionRequest;
use rig_core::message::{
    AssistantContent, AssistantMessage, Message, ToolCall, ToolFunction, ToolName,
    ToolResultContent,
};

use crate::support::words;

pub(crate) fn adapter() -> RigAdapter {
    RigAdapter::new().counter(words())
}

/// Room for so many tokens, with nothing kept for an answer.
pub(crate) fn room(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

type Builder = CupelLayerBuilder<CompletionRequest, RigAdapter>;
type Selecting = Result<(CompletionRequest, Selection), ContextError>;

fn builder(adapter: RigAdapter, tokens: i64, sources: Vec<Source<CompletionRequest>>) -> Builder {
    let builder =
        CupelLayer::builder().adapter(adapter).policy(Policy::chat()).budget(room(tokens));
    sources.into_iter().fold(builder, CupelLayerBuilder::source)
}

/// Scores a request, and returns the sent one and the report.
pub(crate) async fn try_select(
    request: CompletionRequest,
    adapter: RigAdapter,
    tokens: i64,
    sources: Vec<Source<CompletionRequest>>,
) -> Selecting {
    run(request, builder(adapter, tokens, sources).without_plan()).await
}

/// Plans a request, and returns the sent one and the report.
pub(crate) async fn try_plan(
    request: CompletionRequest,
    adapter: RigAdapter,
    tokens: i64,
    sources: Vec<Source<CompletionRequest>>,
) -> Selecting {
    run(request, builder(adapter, tokens, sources)).await
}

async fn run(request: CompletionRequest, builder: Builder) -> Selecting {
    builder.build().unwrap().selector().select(request).await.map(SelectedRequest::into_parts)
}

/// Scores a request, and returns the sent one.
pub(crate) async fn select(
    request: CompletionRequest,
    tokens: i64,
) -> (CompletionRequest, Selection) {
    try_select(request, adapter(), tokens, Vec::new()).await.unwrap()
}

/// Plans these messages, and returns the sent ones.
pub(crate) async fn plan(
    history: &[Message],
    adapter: RigAdapter,
    tokens: i64,
) -> (Vec<Message>, TurnReport) {
    let planned = try_plan(request(history.to_vec()), adapter, tokens, Vec::new()).await;
    let (sent, selection) = planned.unwrap();
    (sent.chat_history, *selection.plan.expect("a planned turn"))
}

pub(crate) fn request(history: Vec<Message>) -> CompletionRequest {
    let mut request = CompletionRequest::new("");
    request.chat_history = history;
    request
}

pub(crate) fn tool_call(id: &str) -> ToolCall {
    let name = ToolName::new("look").unwrap();
    ToolCall::from_wire(id, ToolFunction::new(name, serde_json::json!({ "at": id })))
}

/// An assistant message that makes these calls.
pub(crate) fn calls(ids: &[&str]) -> Message {
    let calls = ids.iter().map(|id| AssistantContent::ToolCall(tool_call(id)));
    Message::Assistant(AssistantMessage::new(calls.collect()))
}

/// A message that answers these calls.
pub(crate) fn answers(ids: &[&str], text: &str) -> Message {
    let result = |id: &&str| tool_call(id).result(vec![ToolResultContent::text(text)]);
    Message::tool_results(ids.iter().map(result).collect())
}
