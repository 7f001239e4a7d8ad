//! What is sent whatever is selected.

use rig_core::completion::CompletionRequest;
use serde_json::Value;

use super::count::{Count, FORMAT};

/// What is sent once around the definitions of tools, by OpenAI's published rule; other providers send
/// something as well.
const AROUND_TOOLS: i64 = 12;

/// Fields by which a provider continues a conversation that it holds itself.
const STORED: [&str; 3] = ["previous_response_id", "conversation", "previous_interaction_id"];

/// Whether a request offers tools, its own or the provider's.
pub(super) fn has_tools(request: &CompletionRequest) -> bool {
    !request.tools.is_empty() || provider_tools(request).next().is_some()
}

fn provider_tools(request: &CompletionRequest) -> impl Iterator<Item = &Value> {
    let parameters = request.additional_params.as_ref();
    let tools = parameters.and_then(|value| value.get("tools")).and_then(Value::as_array);
    tools.into_iter().flatten()
}

/// The tokens of tools, an output schema and the priming of the answer.
pub(super) fn tokens(request: &CompletionRequest, count: &mut Count) -> i64 {
    let mut tokens = FORMAT.answer;
    if has_tools(request) {
        tokens = tokens.saturating_add(AROUND_TOOLS);
    }
    for tool in &request.tools {
        tokens = tokens.saturating_add(count.json(tool)).saturating_add(FORMAT.per_message);
    }
    for tool in provider_tools(request) {
        tokens = tokens.saturating_add(count.json(tool)).saturating_add(FORMAT.per_message);
    }
    if let Some(schema) = &request.output_schema {
        tokens = tokens.saturating_add(count.json(schema));
    }
    tokens
}

/// Context that the provider adds on its side.
pub(super) fn uncounted(request: &CompletionRequest) -> Vec<String> {
    let Some(parameters) = &request.additional_params else { return Vec::new() };
    let stored =
        STORED.iter().filter(|field| parameters.get(**field).is_some_and(|v| !v.is_null()));
    stored.map(|field| format!("{field}: the provider adds a conversation it holds")).collect()
}
