//! One task for an agent, run in every way that there is.

use cupel::layer::{CupelLayer, CupelLayerBuilder, Selection};
use cupel::{ContextBudget, Policy};
use cupel_rig::{AgentBuilderExt as _, AgentCall, CupelHook, RigAdapter};
use futures::StreamExt as _;
use rig_agent::agent::{AgentRunner, MultiTurnStreamItem, PromptResponse};
use rig_agent::completion::PromptError;
use rig_agent::{Agent, AgentBuilder};
use rig_core::completion::CompletionRequest;
use rig_core::message::{Message, ToolResultContent, UserContent};
use tower::ServiceBuilder;

use crate::support::model::LocalModel;
use crate::support::record::Record;
use crate::support::tools::ReadPage;
use crate::support::words;

pub(crate) const QUESTION: &str = "How does the story end, and who tells it to whom?";
pub(crate) const PREAMBLE: &str = "You read books page by page.";
/// Place of the layer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Stack,
    Hook,
}

/// Way to run the agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    Whole,
    Streamed,
}

pub(crate) const ALL: [(Way, Mode); 4] = [
    (Way::Stack, Mode::Whole),
    (Way::Stack, Mode::Streamed),
    (Way::Hook, Mode::Whole),
    (Way::Hook, Mode::Streamed),
];

/// Record of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Every request as the layer sends it, before rig repairs anything.
    pub(crate) sent: Record<CompletionRequest>,
    /// Every report.
    pub(crate) selections: Record<Selection>,
}

/// Room for what an agent sends, in words.
pub(crate) fn budget(request: i64) -> ContextBudget {
    ContextBudget::builder(request + 100).output_reserve(100).build().unwrap()
}

/// A layer that plans its turns, as it does by default.
pub(crate) fn layer(budget: ContextBudget, seen: &Seen) -> CupelLayer<AgentCall, RigAdapter> {
    builder(budget, seen).build().unwrap()
}

/// A layer that scores the messages of every turn.
pub(crate) fn scoring(budget: ContextBudget, seen: &Seen) -> CupelLayer<AgentCall, RigAdapter> {
    builder(budget, seen).without_plan().build().unwrap()
}

fn builder(budget: ContextBudget, seen: &Seen) -> CupelLayerBuilder<AgentCall, RigAdapter> {
    let selections = seen.selections.clone();
    CupelLayer::builder()
        .adapter(RigAdapter::new().counter(words()))
        .policy(Policy::tool_use())
        .budget(budget)
        .on_selection(move |selection: &Selection| selections.add(selection.clone()))
}

pub(crate) fn agent(
    way: Way,
    model: LocalModel,
    layer: CupelLayer<AgentCall, RigAdapter>,
    seen: &Seen,
) -> Agent {
    let builder = AgentBuilder::new(model.clone()).preamble(PREAMBLE).tool(ReadPage);
    match way {
        Way::Stack => {
            let stack = ServiceBuilder::new().layer(layer).layer(seen.sent.clone());
            builder.build_through(stack, model)
        }
        Way::Hook => builder.add_hook(CupelHook::new(layer)).add_hook(seen.sent.clone()).build(),
    }
}

pub(crate) async fn finish(runner: AgentRunner, mode: Mode) -> Result<PromptResponse, PromptError> {
    match mode {
        Mode::Whole => runner.run().await,
        Mode::Streamed => {
            let mut items = runner.stream();
            while let Some(item) = items.next().await {
                if let MultiTurnStreamItem::FinalResponse(response) = item? {
                    return Ok(response);
                }
            }
            unreachable!("a stream ends with a response or an error")
        }
    }
}

/// Returns true if a message is the user's question, word for word.
pub(crate) fn is_question(message: &Message) -> bool {
    *message == Message::user(QUESTION)
}

/// The texts of all tool results in a request.
pub(crate) fn results(request: &CompletionRequest) -> Vec<String> {
    let mut texts = Vec::new();
    for message in &request.chat_history {
        let Message::User { content } = message else { continue };
        for part in content {
            let UserContent::ToolResult(result) = part else { continue };
            texts.extend(result.content.iter().filter_map(ToolResultContent::as_text));
        }
    }
    texts.into_iter().map(str::to_owned).collect()
}
