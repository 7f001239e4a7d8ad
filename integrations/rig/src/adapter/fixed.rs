//! What is sent whatever is selected.

use rig_core::completion::CompletionRequest;
use serde_json::Value;

use super::count::{Count, PER_TOOL, PRIMING};

/// Fields by which a provider continues a conversation that it holds itself.
const STORED: [&str; 3] = ["previous_response_id", "conversation", "previous_interaction_id"];

/// The tokens of tools, an output schema and the priming of the answer.
pub(super) fn tokens(request: &CompletionRequest, count: &mut Count) -> i64 {
    let parameters = request.additional_params.as_ref();
    let provider_tools = parameters.and_then(|value| value.get("tools")).and_then(Value::as_array);
    let mut tokens = PRIMING;
    for tool in &request.tools {
        tokens = tokens.saturating_add(count.json(tool)).saturating_add(PER_TOOL);
    }
    for tool in provider_tools.into_iter().flatten() {
        tokens = tokens.saturating_add(count.json(tool)).saturating_add(PER_TOOL);
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
