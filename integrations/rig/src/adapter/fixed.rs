//! What is sent whatever is selected.

use cupel::tokens::ToolPrices;
use rig_core::completion::CompletionRequest;
use serde_json::Value;

use super::count::Count;

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

/// The tokens of tools, an output schema and the priming of the answer. OpenAI's models have `prices` for
/// tools.
pub(super) fn tokens(
    request: &CompletionRequest,
    prices: Option<ToolPrices>,
    count: &mut Count,
) -> i64 {
    let format = count.format;
    let mut tokens = format.answer;
    let mut add = |more: i64| tokens = tokens.saturating_add(more);
    if has_tools(request) {
        add(prices.map_or(format.tools, |prices| prices.end));
    }
    let around = format.per_message.saturating_add(format.per_part);
    for tool in &request.tools {
        add(match prices {
            Some(prices) => {
                let (name, about) = (tool.name.as_str(), tool.description.as_str());
                prices.function(count.counter(), name, about, &tool.parameters)
            }
            None => count.json(tool).saturating_add(around),
        });
    }
    // Whatever else a provider takes, or runs itself.
    for tool in provider_tools(request) {
        add(count.json(tool).saturating_add(around));
    }
    if let Some(schema) = &request.output_schema {
        add(count.json(schema));
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
