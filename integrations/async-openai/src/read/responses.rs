//! Items of the Responses API.

use std::collections::HashMap;

use cupel::conversation::Role;

use super::{Object, Seen};
use crate::count::{Detail, Meter};

pub(super) fn read(meter: &Meter, items: &[&str]) -> Vec<Seen> {
    let mut ids = Ids::default();
    items.iter().map(|json| item(meter, json, &mut ids)).collect()
}

/// Calls that are answered under another name than their call id.
#[derive(Default)]
struct Ids {
    call_of_item: HashMap<String, String>,
}

fn item(meter: &Meter, json: &str, ids: &mut Ids) -> Seen {
    let item = Object::parse(json).unwrap_or_default();
    let kind = match item.text("type") {
        Some(kind) => kind,
        None if item.has("role") => "message".into(),
        None => "item_reference".into(),
    };
    match &*kind {
        "message" => message(meter, &item),
        "reasoning" => reasoning(meter, &item),
        "item_reference" => reference(meter, &item),
        "compaction" => {
            let mut seen = output(meter, &kind);
            seen.add_tokens(encrypted(&item));
            // It stands for all that came before it.
            seen.pinned = true;
            seen
        }
        "mcp_approval_request" => {
            let mut seen = call(meter, &kind, &item, json);
            seen.calls.extend(item.text("id").map(Into::into));
            seen
        }
        "mcp_approval_response" => {
            let mut seen = result(meter, &kind, &item, json);
            seen.answers.extend(item.text("approval_request_id").map(Into::into));
            seen
        }
        "image_generation_call" => {
            let mut seen = output(meter, &kind);
            seen.add_tokens(meter.image(None, Detail::High));
            seen.show("[image]");
            seen
        }
        _ if kind.ends_with("_output") => answered(meter, &kind, &item, json, ids),
        _ if kind.ends_with("_call") || kind == "program" => {
            let mut seen = call(meter, &kind, &item, json);
            if let Some(call) = item.text("call_id") {
                if let Some(id) = item.text("id") {
                    ids.call_of_item.insert(id.into_owned(), call.clone().into_owned());
                }
                seen.calls.push(call.into_owned());
            }
            seen
        }
        "mcp_list_tools" => call(meter, &kind, &item, json),
        // Settings in the middle of a conversation, or a type this crate does not know: nothing
        // says when it may go.
        _ => {
            let mut seen = output(meter, &kind);
            seen.say_json(meter, json);
            seen.pinned = true;
            seen
        }
    }
}

fn message(meter: &Meter, item: &Object<'_>) -> Seen {
    let label = item.text("role").unwrap_or_default();
    let role = match &*label {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        _ => Role::Assistant,
    };
    let mut seen = Seen::new(meter, role, &label);
    seen.output = label == "assistant";
    seen.pinned = !matches!(&*label, "system" | "developer" | "user" | "assistant");
    if let Some(content) = item.raw("content") {
        seen.content(meter, content);
    }
    seen
}

/// An item the model wrote.
fn output(meter: &Meter, kind: &str) -> Seen {
    let mut seen = Seen::new(meter, Role::Assistant, kind);
    seen.output = true;
    seen
}

fn reasoning(meter: &Meter, item: &Object<'_>) -> Seen {
    let mut seen = output(meter, "reasoning");
    seen.reasoning = true;
    for part in ["summary", "content"] {
        if let Some(content) = item.raw(part) {
            seen.content(meter, content);
        }
    }
    seen.add_tokens(encrypted(item));
    seen
}

/// Thoughts in a sealed envelope: base64 takes four characters for three bytes, and a token is
/// about four bytes of text.
fn encrypted(item: &Object<'_>) -> i64 {
    let length = item.raw("encrypted_content").map_or(0, |raw| raw.get().len());
    i64::try_from((length / 4 * 3).div_ceil(4)).unwrap_or(i64::MAX)
}

fn reference(meter: &Meter, item: &Object<'_>) -> Seen {
    let mut seen = Seen::new(meter, Role::Assistant, "item_reference");
    let id = item.text("id").unwrap_or_default();
    seen.uncounted.push(format!("item {id}"));
    seen.show(&format!("[item {id}]"));
    seen.reference = true;
    seen.pinned = true;
    seen
}

/// A call of any type: the fields that say what is called with what, or else all of it.
fn call(meter: &Meter, kind: &str, item: &Object<'_>, json: &str) -> Seen {
    let mut seen = output(meter, kind);
    let name = item.text("name").unwrap_or_default();
    match item.text("arguments").or_else(|| item.text("input")) {
        Some(arguments) => {
            seen.call(meter, &name, &arguments);
            // An MCP call has its result with it.
            if let Some(output) = item.text("output") {
                seen.say(meter, &output);
            }
        }
        None => {
            seen.call(meter, kind, "");
            seen.say_json(meter, json);
        }
    }
    seen
}

/// What a tool gave back.
fn result(meter: &Meter, kind: &str, item: &Object<'_>, json: &str) -> Seen {
    let mut seen = Seen::new(meter, Role::Tool, kind);
    match item.raw("output").or_else(|| item.raw("result")) {
        Some(output) if kind == "computer_call_output" => {
            let screen = Object::parse(output.get()).and_then(|image| image.text("image_url"));
            seen.add_tokens(meter.image(screen.as_deref(), Detail::Auto));
            seen.show("[image]");
        }
        // Of a shell: streams and exit codes, in objects that are no content parts.
        Some(output) if kind == "shell_call_output" || output.get().starts_with('{') => {
            seen.say_json(meter, output.get());
        }
        Some(output) => {
            seen.content(meter, output);
        }
        None => seen.say_json(meter, json),
    }
    seen
}

fn answered(meter: &Meter, kind: &str, item: &Object<'_>, json: &str, ids: &Ids) -> Seen {
    let mut seen = result(meter, kind, item, json);
    match item.text("call_id") {
        Some(id) => seen.answers.push(id.into_owned()),
        None if kind == "tool_search_output" => {
            // Searched by the provider, in the model's own turn.
            seen.output = true;
            seen.with_previous = true;
        }
        // A local shell's output names the item instead of the call.
        None => match item.text("id") {
            Some(id) => {
                let id = id.into_owned();
                seen.answers.push(ids.call_of_item.get(&id).cloned().unwrap_or(id));
            }
            None => seen.refused = Some("a tool's output without call_id"),
        },
    }
    seen
}
