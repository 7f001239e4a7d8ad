//! Tools of a request: as candidates, and the list with some of them left out.

use std::ops::Range;

use cupel::tool_choice::{ToolCandidate, ToolReason, definition_text};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::object::{Object, elements, place, whole_characters};
use crate::read::Endpoint;

/// Tools of a request whose definitions take so many tokens together. Cut apart, they may take more than in one
/// piece: then each counts a little less, so that what is left out is not overrated.
pub(crate) fn candidates(
    endpoint: Endpoint,
    request: &Object<'_>,
    tokens: i64,
    size: &dyn Fn(&RawValue) -> i64,
) -> Vec<ToolCandidate> {
    let tools: Vec<&RawValue> = request.array("tools").unwrap_or_default();
    let sizes: Vec<i64> = tools.iter().map(|raw| size(raw).max(0)).collect();
    let sum = sizes.iter().copied().fold(0, i64::saturating_add);
    let share = |size: i64| match sum > tokens {
        // `as` saturates.
        true => (size as f64 * (tokens.max(0) as f64 / sum as f64)).floor() as i64,
        false => size,
    };
    let tools = tools.iter().zip(sizes).map(|(raw, size)| candidate(endpoint, raw, share(size)));
    keep_demanded(tools.collect(), request)
}

/// A tool of a request, and the tokens of its definition.
pub(crate) fn candidate(endpoint: Endpoint, raw: &RawValue, tokens: i64) -> ToolCandidate {
    let tool = Object::parse(raw.get()).unwrap_or_default();
    let kind = tool.text("type").unwrap_or_default();
    // Chat Completions wraps the definition, the others do not.
    let wrapped = tool.object(&kind);
    let own = wrapped.as_ref().unwrap_or(&tool);
    let name = own.text("name").or_else(|| tool.text("name")).unwrap_or_default();
    let mut candidate = ToolCandidate::defined(&*name, raw.get(), text, tokens);
    let mut is_deferred = is_deferred(&tool) || is_deferred(own);
    for inner in own.array("tools").unwrap_or_default() {
        let inner = Object::parse(inner.get()).unwrap_or_default();
        is_deferred |= self::is_deferred(&inner);
        if let Some(name) = inner.text("name") {
            candidate = candidate.inner(name);
        }
    }
    let is_ours = match endpoint {
        Endpoint::Messages => matches!(&*kind, "" | "custom"),
        Endpoint::Chat => matches!(&*kind, "function" | "custom"),
        Endpoint::Responses => matches!(&*kind, "function" | "custom" | "namespace"),
    };
    match () {
        () if !is_ours || name.is_empty() => candidate.keep(ToolReason::Hosted),
        () if is_deferred => candidate.keep(ToolReason::Deferred),
        () => candidate,
    }
}

fn is_deferred(tool: &Object<'_>) -> bool {
    tool.raw("defer_loading").is_some_and(|raw| raw.get() == "true")
}

/// Keeps the tools that the request's `tool_choice` names.
pub(crate) fn keep_demanded(tools: Vec<ToolCandidate>, request: &Object<'_>) -> Vec<ToolCandidate> {
    let mut names = Vec::new();
    if let Some(choice) = request.raw("tool_choice") {
        let value = serde_json::from_str(&whole_characters(choice.get())).unwrap_or_default();
        named(&value, &mut names);
    }
    if names.is_empty() {
        return tools;
    }
    let keep = |tool: ToolCandidate| {
        let is_named = tool.names().any(|name| names.iter().any(|it| it == name));
        if is_named { tool.keep(ToolReason::Demanded) } else { tool }
    };
    tools.into_iter().map(keep).collect()
}

/// Texts under the key `name`, however deep.
fn named(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(name) if key == "name" => names.push(name.clone()),
                    field => named(field, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, names)),
        _ => {}
    }
}

/// Text of a definition.
fn text(definition: &str) -> String {
    match serde_json::from_str::<Value>(&whole_characters(definition)) {
        Ok(value) => definition_text(&value),
        // Too deep for a parser.
        Err(_) => definition.to_owned(),
    }
}

/// The list of tools with only these in it, in their order, and where it stands. What the caller has
/// marked for the prompt cache stays marked: at the last tool that is sent.
pub(crate) fn kept_list(json: &str, kept: &[usize]) -> Option<(Range<usize>, String)> {
    let request = Object::parse(json)?;
    let list = request.raw("tools")?;
    let tools = elements(list)?;
    let mut sent: Vec<String> =
        kept.iter().filter_map(|at| Some(tools.get(*at)?.get().to_owned())).collect();
    let marked = |(at, tool): (usize, &&'_ RawValue)| Some((at, mark_of(tool)?));
    let last = tools.iter().enumerate().rev().find_map(marked);
    if let Some((_, mark)) = last.filter(|(at, _)| kept.binary_search(at).is_err()) {
        let newest = sent.last_mut()?;
        if !Object::parse(newest)?.has("cache_control") {
            let end = newest.rfind('}')?;
            newest.insert_str(end, &format!(",\"cache_control\":{}", mark));
        }
    }
    Some((place(json, list)?, format!("[{}]", sent.join(","))))
}

/// JSON of the caller's mark on a tool.
fn mark_of(tool: &RawValue) -> Option<String> {
    Some(Object::parse(tool.get())?.raw("cache_control")?.get().to_owned())
}
