//! Messages of Chat Completions.

use std::borrow::Cow;

use cupel::conversation::Role;

use super::{Entry, Meter};
use crate::object::Object;

/// Reads all messages of a conversation.
pub(crate) fn read(meter: &Meter, messages: &[&str]) -> Vec<Entry> {
    let mut functions = Functions::default();
    messages.iter().map(|json| message(meter, json, &mut functions)).collect()
}

/// Calls in the older form, which have no ids: the answer is the next message, with the same name.
#[derive(Default)]
struct Functions {
    made: usize,
    open: Option<String>,
}

impl Functions {
    fn call(&mut self, name: &str) -> String {
        self.made += 1;
        self.open = Some(name.to_owned());
        self.id()
    }

    fn answer(&mut self, name: &str) -> String {
        match self.open.take() {
            Some(open) if open == name => self.id(),
            _ => format!("function call of {name:?}"),
        }
    }

    fn id(&self) -> String {
        format!("function call {}", self.made)
    }
}

fn message(meter: &Meter, json: &str, functions: &mut Functions) -> Entry {
    let message = Object::parse(json).unwrap_or_default();
    let label = message.text("role").unwrap_or_default();
    let role = match &*label {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "tool" | "function" => Role::Tool,
        _ => Role::Assistant,
    };
    let mut entry = Entry::new(meter, role, &label);
    if let Some(name) = message.text("name") {
        entry.add_tokens(meter.format.per_name.saturating_add(meter.text(&name)));
        entry.message.note_unseen(&name);
        entry.name = Some(name.into_owned());
    }
    let has_content =
        message.raw("content").is_some_and(|content| entry.add_content(meter, content));
    if role == Role::Tool {
        if let Some(content) = message.raw("content") {
            entry.note_result(meter, content);
        }
    }
    match &*label {
        "assistant" => assistant(meter, &message, &mut entry, has_content, functions),
        "tool" => match message.text("tool_call_id") {
            Some(id) => entry.message.answers.push(id.into_owned()),
            None => entry.refuse("a tool message without tool_call_id"),
        },
        "function" => {
            let answered = functions.answer(entry.name.as_deref().unwrap_or_default());
            entry.message.answers.push(answered);
        }
        "system" | "developer" | "user" => {}
        // A role of some other server's: nothing is known about when it may go.
        _ => entry.message.required = true,
    }
    if label != "function" && !message.has("function_call") {
        functions.open = None;
    }
    entry
}

fn assistant(
    meter: &Meter,
    message: &Object<'_>,
    entry: &mut Entry,
    has_content: bool,
    functions: &mut Functions,
) {
    let refusal = message.text("refusal");
    if let Some(refusal) = &refusal {
        entry.add_text(meter, refusal);
    }
    // Thoughts, as other servers send and take them back.
    for field in ["reasoning_content", "reasoning"] {
        if let Some(thoughts) = message.text(field) {
            entry.message.note_unseen(&thoughts);
            entry.add_tokens(meter.text(&thoughts));
        }
    }
    let audio = message.object("audio");
    if let Some(audio) = &audio {
        let id = audio.text("id").unwrap_or_default();
        entry.message.note_unseen(&id);
        entry.uncounted.push(format!("audio {id}"));
        entry.add_shown("[audio]");
    }
    for call in message.array("tool_calls").unwrap_or_default() {
        tool_call(meter, &Object::parse(call.get()).unwrap_or_default(), entry);
    }
    let function = message.object("function_call");
    if let Some(function) = &function {
        let name = function.text("name").unwrap_or_default();
        entry.add_call(meter, &name, &input(function, "arguments"));
        entry.message.calls.push(functions.call(&name));
    }
    let says = has_content || refusal.is_some() || audio.is_some();
    if !says && entry.message.calls.is_empty() {
        entry.refuse("an assistant message without content or calls");
    }
}

fn tool_call(meter: &Meter, call: &Object<'_>, entry: &mut Entry) {
    let (part, field) = match call.text("type").as_deref() {
        Some("custom") => ("custom", "input"),
        _ => ("function", "arguments"),
    };
    // The typed client writes `custom_tool` where the API has `custom`.
    let made = call.object(part).or_else(|| call.object("custom_tool")).unwrap_or_default();
    let name = made.text("name").unwrap_or_default();
    entry.add_call(meter, &name, &input(&made, field));
    match call.text("id") {
        Some(id) => entry.message.calls.push(id.into_owned()),
        None => entry.refuse("a tool call without an id"),
    }
}

/// Arguments of a call: a text, or JSON as some servers write it.
fn input<'a>(call: &Object<'a>, field: &str) -> Cow<'a, str> {
    let json = || call.raw(field).map_or("", |raw| raw.get());
    call.text(field).unwrap_or_else(|| json().into())
}
