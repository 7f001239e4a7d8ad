//! Messages read: what each says, whom it answers, what it costs, and what it needs.

use cupel::conversation::Role;
use serde_json::value::RawValue;

use super::meter::{BLOCK, ClaudeMeter, MESSAGE};
use super::result::is;
use crate::read::{Entry, Object, elements, string};

/// Reads all messages of a conversation.
pub(super) fn read(meter: &ClaudeMeter, messages: &[&str]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = messages.iter().map(|json| one(meter, json)).collect();
    keep_thinking(&mut entries);
    let before_user = entries.iter_mut().take_while(|entry| entry.label != "user");
    before_user.for_each(|entry| entry.refuse("the first message must be the user's"));
    entries
}

/// What a model did after a result, without thinking anew, is part of a turn that has to begin with
/// its thoughts.
fn keep_thinking(entries: &mut [Entry]) {
    let mut thoughts = None;
    for (index, entry) in entries.iter_mut().enumerate() {
        if entry.reasoning {
            thoughts = Some(index);
        } else if entry.message.role == Role::Assistant {
            entry.message.needs = thoughts;
        } else if entry.message.opens_exchange() {
            thoughts = None;
        }
    }
}

fn one(meter: &ClaudeMeter, json: &str) -> Entry {
    let message = Object::parse(json).unwrap_or_default();
    let label = message.text("role").unwrap_or_default();
    let role = match &*label {
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => Role::User,
    };
    let mut entry = Entry::with_tokens(role, &label, MESSAGE);
    // Instructions in the middle may only stand behind the user's turn, so they come and go with it.
    entry.message.with_previous = role == Role::System;
    entry.message.required = !matches!(&*label, "user" | "assistant" | "system");
    let Some(content) = message.raw("content") else { return entry };
    if let Some(text) = string(content) {
        entry.add_tokens(BLOCK.saturating_add(meter.text(&text)));
        entry.add_shown(&text);
        return entry;
    }
    let blocks = elements(content).unwrap_or_default();
    for (at, raw) in blocks.iter().enumerate() {
        let block = Object::parse(raw.get()).unwrap_or_default();
        let is_thought = is(&block, "thinking") || is(&block, "redacted_thinking");
        entry.reasoning |= at == 0 && is_thought;
        entry.add_tokens(BLOCK);
        add(meter, &mut entry, &block, raw);
    }
    if role == Role::User && !entry.message.answers.is_empty() {
        let words: Vec<String> = blocks.iter().filter_map(|raw| words(raw)).collect();
        match words.is_empty() {
            true => entry.message.role = Role::Tool,
            false => entry.message.words = Some(words.join("\n")),
        }
    }
    entry
}

/// What a user says in a text beside results of tools. Clients put remarks of their own there, in
/// marks such as `<system-reminder>`: the question that these results serve came before.
fn words(raw: &RawValue) -> Option<String> {
    let block = Object::parse(raw.get())?;
    let text = block.text("text").filter(|_| is(&block, "text"))?;
    let text = text.trim();
    let is_remark = text.starts_with('<') && text.ends_with('>');
    (!text.is_empty() && !is_remark).then(|| text.to_owned())
}

fn add(meter: &ClaudeMeter, entry: &mut Entry, block: &Object<'_>, raw: &RawValue) {
    let kind = block.text("type").unwrap_or_default();
    let text = |field: &str| block.text(field).unwrap_or_default();
    match &*kind {
        "text" => {
            entry.add_tokens(meter.text(&text("text")));
            entry.add_shown(&text("text"));
        }
        "image" => {
            entry.add_tokens(meter.image(&block.object("source").unwrap_or_default()));
            entry.add_shown("[image]");
        }
        "document" => document(meter, entry, block),
        "search_result" => {
            entry
                .add_tokens(meter.text(&text("title")).saturating_add(meter.text(&text("source"))));
            entry.add_shown(&text("title"));
            nested(meter, entry, block, false);
        }
        "thinking" => {
            // What is shown may be a summary, or nothing: the signature holds all of it.
            let sealed = meter.sealed(&text("signature"));
            entry.add_tokens(meter.text(&text("thinking")).max(sealed));
        }
        "redacted_thinking" => entry.add_tokens(meter.sealed(&text("data"))),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let input = block.raw("input").map_or("{}", RawValue::get);
            entry.add_tokens(meter.text(&text("name")).saturating_add(meter.text(input)));
            entry.add_shown(&format!("{}({input})", text("name")));
            entry.note_tool(&text("name"));
            if kind == "tool_use" {
                match block.text("id") {
                    Some(id) => entry.message.calls.push(id.into_owned()),
                    None => entry.refuse("a tool_use without an id"),
                }
            }
        }
        "tool_result" => {
            match block.text("tool_use_id") {
                Some(id) => entry.message.answers.push(id.into_owned()),
                None => entry.refuse("a tool_result without tool_use_id"),
            }
            nested(meter, entry, block, true);
        }
        "compaction" => {
            entry.add_tokens(meter.text(&text("content")));
            entry.add_shown(&text("content"));
            // It stands for all that came before it.
            entry.message.required = true;
        }
        "container_upload" => {
            entry.uncounted.push(format!("file {}", text("file_id")));
            entry.add_shown("[file]");
        }
        _ if kind.ends_with("_tool_result") => {
            entry.add_tokens(meter.json(raw.get()));
            entry.add_shown(&format!("[{kind}]"));
        }
        _ => {
            entry.add_tokens(meter.json(raw.get()));
            entry.uncounted.push(format!("content of type {kind:?}"));
            entry.add_shown(&format!("[{kind}]"));
        }
    }
}

/// The content of a result: a text, or blocks. Of a tool's own a plan may cut the texts, which
/// [`result::texts`](super::result::texts) finds in the same order.
fn nested(meter: &ClaudeMeter, entry: &mut Entry, block: &Object<'_>, of_tool: bool) {
    let Some(content) = block.raw("content") else { return };
    let add_text = |entry: &mut Entry, text: &str| {
        let tokens = meter.text(text);
        entry.add_tokens(tokens);
        entry.add_shown(text);
        entry.message.results.extend(of_tool.then_some(tokens));
    };
    if let Some(text) = string(content) {
        add_text(entry, &text);
        return;
    }
    for raw in elements(content).unwrap_or_default() {
        let part = Object::parse(raw.get()).unwrap_or_default();
        entry.add_tokens(BLOCK);
        match part.text("text").filter(|_| is(&part, "text")) {
            Some(text) => add_text(entry, &text),
            // A result in a result is none of the API's.
            None if is(&part, "tool_result") => entry.add_tokens(meter.json(raw.get())),
            None => add(meter, entry, &part, raw),
        }
    }
}

fn document(meter: &ClaudeMeter, entry: &mut Entry, block: &Object<'_>) {
    let title = block.text("title").unwrap_or_default();
    let context = block.text("context").unwrap_or_default();
    entry.add_tokens(meter.text(&title).saturating_add(meter.text(&context)));
    let shown =
        if title.is_empty() { "[document]".to_owned() } else { format!("[document {title}]") };
    entry.add_shown(&shown);
    let source = block.object("source").unwrap_or_default();
    let data = source.text("data");
    match (source.text("type").as_deref(), data) {
        (Some("text"), Some(data)) => entry.add_tokens(meter.text(&data)),
        (Some("base64"), Some(data)) => entry.add_tokens(meter.document(&data)),
        (Some("content"), _) => nested(meter, entry, &source, false),
        (_, _) => {
            let which = source.text("url").or_else(|| source.text("file_id"));
            entry.uncounted.push(format!("document {}", which.unwrap_or_default()));
        }
    }
}
