//! Tools of a request as candidates.

use cupel::tokens::ToolPrices;
use cupel::tool_choice::{ToolCandidate, ToolOffer, ToolReason, definition_text};
use rig_core::completion::CompletionRequest;
use rig_core::message::ToolChoice;
use serde_json::Value;

use super::count::{TokenCounts, provider_tools};

/// The request's own tools in their order, and behind them those of the provider, which always stay.
pub(super) fn offer(
    request: &CompletionRequest,
    count: &mut TokenCounts,
    prices: Option<ToolPrices>,
) -> ToolOffer {
    let demanded = match &request.tool_choice {
        Some(ToolChoice::Specific { function_names }) => function_names.as_slice(),
        _ => &[],
    };
    let mut tools: Vec<ToolCandidate> = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        let definition = serde_json::to_string(tool).unwrap_or_default();
        let tokens = count.tool(tool, prices).max(0);
        let candidate = ToolCandidate::defined(tool.name.as_str(), definition, text, tokens);
        tools.push(match demanded.contains(&tool.name) {
            true => candidate.keep(ToolReason::Demanded),
            false => candidate,
        });
    }
    for tool in provider_tools(request) {
        let name = ["name", "type"].iter().find_map(|field| tool.get(field)?.as_str());
        let tokens = count.provider_tool(tool).max(0);
        let candidate = ToolCandidate::new(name.unwrap_or_default(), "", tokens);
        tools.push(candidate.keep(ToolReason::Hosted));
    }
    ToolOffer::new(tools)
}

fn text(definition: &str) -> String {
    serde_json::from_str::<Value>(definition)
        .map_or_else(|_| definition.to_owned(), |value| definition_text(&value))
}
