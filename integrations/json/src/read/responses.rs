//! Items of the Responses API.
//!
//! Reasoning is one unit with the items right after it, up to the first that the model did not
//! write, and with the results of their calls. Calls may also stand after the results of others, as
//! in `reasoning, call 1, result 1, call 2, result 2`. By its order such a call cannot be told from
//! one of a later response that came without reasoning, so it is sent only with the last reasoning
//! before it. It does not hold that reasoning's unit: a long loop stays many units.

use std::collections::{HashMap, HashSet};

use cupel::conversation::Role;

use super::entry::image_tokens;
use super::{Entry, Meter};
use crate::media::Detail;
use crate::object::Object;

/// Reads all items of a conversation. `remote`: part of the conversation is on the server.
pub(crate) fn read(meter: &Meter, items: &[&str], remote: bool) -> Vec<Entry> {
    let mut ids = Ids::default();
    let mut entries: Vec<Entry> =
        items.iter().map(|json| read_item(meter, json, &mut ids)).collect();
    keep_together(&mut entries, remote);
    entries
}

fn read_item(meter: &Meter, json: &str, ids: &mut Ids) -> Entry {
    let item = Object::parse(json).unwrap_or_default();
    let mut entry = of_type(meter, &item, json, ids);
    // By its id the API knows what led to it. A final answer comes in a turn without calls, so no
    // result can stand between it and its thoughts.
    let is_final = item.text("phase").is_some_and(|phase| phase == "final_answer");
    let is_free = entry.reasoning || entry.message.required || is_final;
    entry.led_to = entry.output && item.has("id") && !is_free;
    entry
}

/// Calls that are answered under another name than their call id: by the item's.
type Ids = HashMap<String, String>;

fn of_type(meter: &Meter, item: &Object<'_>, json: &str, ids: &mut Ids) -> Entry {
    let kind = match item.text("type") {
        Some(kind) => kind,
        None if item.has("type") => "".into(),
        None if item.has("role") => "message".into(),
        None if item.has("id") => "item_reference".into(),
        None => "".into(),
    };
    match &*kind {
        "message" => message(meter, item),
        "reasoning" => reasoning(meter, item),
        "item_reference" => reference(meter, item),
        "compaction" => {
            let mut entry = output(meter, &kind);
            add_encrypted(&mut entry, item);
            // It stands for all that came before it.
            entry.message.required = true;
            entry
        }
        "mcp_approval_request" => {
            let mut entry = call(meter, &kind, item, json);
            entry.message.calls.extend(item.text("id").map(Into::into));
            entry
        }
        "mcp_approval_response" => {
            let mut entry = result(meter, &kind, item, json);
            entry.message.answers.extend(item.text("approval_request_id").map(Into::into));
            entry
        }
        "image_generation_call" => {
            let mut entry = output(meter, &kind);
            entry.message.note_unseen(json);
            entry.add_tokens(image_tokens(meter, None, Detail::High));
            entry.add_shown("[image]");
            entry
        }
        _ if kind.ends_with("_output") => answered(meter, &kind, item, json, ids),
        _ if kind.ends_with("_call") || kind == "program" => {
            let mut entry = call(meter, &kind, item, json);
            if let Some(call) = item.text("call_id") {
                if let Some(id) = item.text("id") {
                    ids.insert(id.into_owned(), call.clone().into_owned());
                }
                entry.message.calls.push(call.into_owned());
            }
            entry
        }
        "mcp_list_tools" => call(meter, &kind, item, json),
        // Settings in the middle of a conversation, or a type this crate does not know: nothing
        // says when it may go.
        _ => {
            let mut entry = output(meter, &kind);
            entry.add_json(meter, json);
            entry.message.required = true;
            entry
        }
    }
}

fn message(meter: &Meter, item: &Object<'_>) -> Entry {
    let label = item.text("role").unwrap_or_default();
    let role = match &*label {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        _ => Role::Assistant,
    };
    let mut entry = Entry::new(meter, role, &label);
    entry.output = label == "assistant";
    entry.message.required = !matches!(&*label, "system" | "developer" | "user" | "assistant");
    if let Some(content) = item.raw("content") {
        entry.add_content(meter, content);
    }
    entry
}

/// An item the model wrote.
fn output(meter: &Meter, kind: &str) -> Entry {
    let mut entry = Entry::new(meter, Role::Assistant, kind);
    entry.output = true;
    entry
}

fn reasoning(meter: &Meter, item: &Object<'_>) -> Entry {
    let mut entry = output(meter, "reasoning");
    entry.reasoning = true;
    for part in ["summary", "content"] {
        if let Some(content) = item.raw(part) {
            entry.add_content(meter, content);
        }
    }
    add_encrypted(&mut entry, item);
    entry
}

/// Thoughts in a sealed envelope: base64 takes four characters for three bytes, and a token is
/// about four bytes of text.
fn add_encrypted(entry: &mut Entry, item: &Object<'_>) {
    let Some(sealed) = item.raw("encrypted_content") else { return };
    entry.message.note_unseen(sealed.get());
    let tokens = (sealed.get().len() / 4 * 3).div_ceil(4);
    entry.add_tokens(i64::try_from(tokens).unwrap_or(i64::MAX));
}

fn reference(meter: &Meter, item: &Object<'_>) -> Entry {
    let mut entry = Entry::new(meter, Role::Assistant, "item_reference");
    let id = item.text("id").unwrap_or_default();
    entry.uncounted.push(format!("item {id}"));
    entry.add_shown(&format!("[item {id}]"));
    entry.reference = true;
    entry.message.required = true;
    entry
}

/// A call of any type: the fields that say what is called with what, or else all of it.
fn call(meter: &Meter, kind: &str, item: &Object<'_>, json: &str) -> Entry {
    let mut entry = output(meter, kind);
    let name = item.text("name").unwrap_or_default();
    match item.text("arguments").or_else(|| item.text("input")) {
        Some(arguments) => {
            entry.add_call(meter, &name, &arguments);
            // An MCP call has its result with it.
            if let Some(output) = item.text("output") {
                entry.add_text(meter, &output);
            }
        }
        None => {
            entry.add_call(meter, kind, "");
            entry.add_json(meter, json);
        }
    }
    entry
}

/// Reads the result of a tool.
fn result(meter: &Meter, kind: &str, item: &Object<'_>, json: &str) -> Entry {
    let mut entry = Entry::new(meter, Role::Tool, kind);
    match item.raw("output").or_else(|| item.raw("result")) {
        Some(output) if kind == "computer_call_output" => {
            entry.message.note_unseen(output.get());
            let screen = Object::parse(output.get()).and_then(|image| image.text("image_url"));
            entry.add_tokens(image_tokens(meter, screen.as_deref(), Detail::Auto));
            entry.add_shown("[image]");
        }
        // Of a shell: streams and exit codes, in objects that are no content parts.
        Some(output) if kind == "shell_call_output" || output.get().starts_with('{') => {
            entry.add_json(meter, output.get());
        }
        Some(output) => {
            entry.add_content(meter, output);
            entry.note_result(meter, output);
        }
        None => entry.add_json(meter, json),
    }
    entry
}

fn answered(meter: &Meter, kind: &str, item: &Object<'_>, json: &str, ids: &Ids) -> Entry {
    let mut entry = result(meter, kind, item, json);
    match item.text("call_id") {
        Some(id) => entry.message.answers.push(id.into_owned()),
        None if kind == "tool_search_output" => {
            // Searched by the provider, in the model's own turn.
            entry.output = true;
            entry.message.with_previous = true;
        }
        // A local shell's output names the item instead of the call.
        None => match item.text("id") {
            Some(id) => {
                let id = id.into_owned();
                entry.message.answers.push(ids.get(&id).cloned().unwrap_or(id));
            }
            None => entry.refuse("a tool's output without call_id"),
        },
    }
    entry
}

/// Keeps reasoning with what the model went on to write, and outputs whose calls are on the server.
fn keep_together(items: &mut [Entry], remote: bool) {
    keep_reasoning_with_output(items);
    keep_later_output_with_reasoning(items);
    let remote = remote || items.iter().any(|item| item.reference);
    let called: HashSet<String> =
        items.iter().flat_map(|item| item.message.calls.clone()).collect();
    let answered: HashSet<String> =
        items.iter().flat_map(|item| item.message.answers.clone()).collect();
    for item in items {
        // An approval may still be waited for.
        if item.label == "mcp_approval_request" {
            item.message.calls.retain(|id| answered.contains(id));
        }
        if remote
            && !item.message.answers.is_empty()
            && item.message.answers.iter().all(|id| !called.contains(id))
        {
            // Without it, the call on the server would have no answer.
            item.message.answers.clear();
            item.message.required = true;
        }
    }
}

fn keep_reasoning_with_output(items: &mut [Entry]) {
    // From the end, so that a chain of thoughts that leads nowhere is entry to.
    let mut next_is_output = false;
    for item in items.iter_mut().rev() {
        if item.reasoning && !next_is_output {
            item.refuse("reasoning without the output that followed it");
        }
        item.message.with_next |= next_is_output && (item.reasoning || item.reference);
        next_is_output = (item.output || item.reference) && item.message.refused.is_none();
    }
    let mut in_turn = false;
    for item in items {
        let goes_on = in_turn && item.output && item.message.refused.is_none();
        item.message.with_previous |= goes_on;
        in_turn = goes_on || (item.reasoning && item.message.refused.is_none());
    }
}

/// Binds items after a tool's result to the last thoughts of their turn. A turn ends where somebody else
/// speaks and no call waits for a result that comes.
fn keep_later_output_with_reasoning(items: &mut [Entry]) {
    let mut answered_at: HashMap<String, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        answered_at.extend(item.message.answers.iter().map(|id| (id.clone(), index)));
    }
    let mut thoughts = None;
    let mut waits_until = 0;
    for (index, item) in items.iter_mut().enumerate() {
        let is_result = !item.message.answers.is_empty();
        if item.reasoning {
            thoughts = Some(index);
        } else if item.led_to && !item.message.with_previous {
            item.message.needs = thoughts;
        } else if !item.output && !item.reference && !is_result && waits_until < index {
            thoughts = None;
        }
        let answers = item.message.calls.iter().filter_map(|id| answered_at.get(id).copied());
        waits_until = answers.fold(waits_until, usize::max);
    }
}
