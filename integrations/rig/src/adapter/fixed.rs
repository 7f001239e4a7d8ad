//! What is sent whatever is selected.

use rig_core::completion::CompletionRequest;
use serde_json::Value;

use super::count::{Count, PER_TOOL, PRIMING};

/// Fields by which a provider continues a conversation that it holds itself.
const STORED: [&str; 3] = ["previous_response_id", "conversation", "previous_interaction_id"];

/// The tokens of tools, an output schema and the priming of the answer.
pub(super) fn tokens(request: &CompletionRequest, count: &Count) -> i64 {
    let tool = |json: i64| json.saturating_add(PER_TOOL);
    let tools = request.tools.iter().map(|definition| tool(count.json(definition)));
    let parameters = request.additional_params.as_ref();
    let provider_tools = parameters.and_then(|value| value.get("tools")).and_then(Value::as_array);
    let provider_tools =
        provider_tools.into_iter().flatten().map(|definition| tool(count.json(definition)));
    let schema = request.output_schema.iter().map(|schema| count.json(schema));
    tools.chain(provider_tools).chain(schema).fold(PRIMING, i64::saturating_add)
}

/// Context that the provider adds on its side.
pub(super) fn uncounted(request: &CompletionRequest) -> Vec<String> {
    let Some(parameters) = &request.additional_params else { return Vec::new() };
    let stored =
        STORED.iter().filter(|field| parameters.get(**field).is_some_and(|v| !v.is_null()));
    stored.map(|field| format!("{field}: the provider adds a conversation it holds")).collect()
}
