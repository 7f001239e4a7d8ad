//! Messages of Anthropic's API as they were read, and their tokens. Claude's tokenizer is not public, so
//! another one is scaled.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cupel::conversation::Role;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::media::{image_size, pages};
use crate::models::{ClaudeModel, Meter};
use crate::object::{Object, elements, place, string};
use crate::read::{Endpoint, Entry, Head};
use crate::tools::candidates;

/// Pixels for each token of an image.
const PIXELS: u64 = 750;

/// A counter that is scaled to a model's tokenizer, and the model's rules.
pub(super) type ClaudeMeter = Meter<ClaudeModel>;

impl ClaudeMeter {
    /// Tokens of data that only the provider can read. Base64 takes four characters for three bytes, and a
    /// token is about four bytes of text.
    fn sealed(&self, data: &str) -> i64 {
        let tokens = (data.len() / 4 * 3).div_ceil(4);
        i64::try_from(tokens).unwrap_or(i64::MAX).saturating_mul(self.model.text_percent()) / 100
    }

    /// JSON whose encrypted parts are not text.
    fn json(&self, json: &str) -> i64 {
        match serde_json::from_str::<Value>(json) {
            Ok(value) if json.contains("\"encrypted_") => self.value(&value),
            _ => self.text(json),
        }
    }

    fn value(&self, value: &Value) -> i64 {
        match value {
            Value::Object(fields) => fields.iter().fold(0, |sum, (name, field)| {
                let own = match field {
                    Value::String(data) if name.starts_with("encrypted_") => self.sealed(data),
                    field => self.value(field),
                };
                sum.saturating_add(self.text(name)).saturating_add(own)
            }),
            Value::Array(items) => {
                items.iter().fold(0, |sum, item| self.value(item).saturating_add(sum))
            }
            Value::String(text) => self.text(text),
            other => self.text(&other.to_string()),
        }
    }

    /// An image by its source; as large as they get when its size is not known.
    fn image(&self, source: &Object<'_>) -> i64 {
        let most = self.model.image_tokens;
        let size = source.text("data").and_then(|data| image_size(&data));
        size.map_or(most, |(width, height)| {
            let pixels = u64::from(width).saturating_mul(u64::from(height));
            i64::try_from(pixels.div_ceil(PIXELS)).unwrap_or(most).clamp(1, most)
        })
    }

    /// A document in base64.
    fn document(&self, data: &str) -> i64 {
        let Ok(bytes) = STANDARD.decode(data) else {
            return i64::try_from(data.len()).unwrap_or(i64::MAX);
        };
        let pages = i64::try_from(pages(&bytes)).unwrap_or(i64::MAX);
        pages.saturating_mul(self.model.page_tokens)
    }
}

/// Counts everything of a request that is no message.
pub(super) fn head(meter: &ClaudeMeter, request: &Object<'_>) -> Head {
    let mut head = Head { tokens: meter.format.answer, ..Head::default() };
    head.identify(request, &["model", "system", "tools", "output_config"]);
    // A local server writes instructions as a message of their own.
    if meter.local.is_some() && request.has("system") {
        head.add(meter.message("system"));
    }
    let block = meter.format.per_part;
    let mut add_block = |text: &str| {
        head.add(block.saturating_add(meter.text(text)));
        head.instructions.push(text.to_owned());
    };
    match request.text("system") {
        Some(text) => add_block(&text),
        None => {
            for part in request.array("system").unwrap_or_default() {
                let text = Object::parse(part.get()).and_then(|part| part.text("text"));
                add_block(&text.unwrap_or_default());
            }
        }
    }
    let tools = request.array("tools").unwrap_or_default();
    let size = |raw: &RawValue| block.saturating_add(meter.text(raw.get()));
    let by_template = meter.local_tools(request, Endpoint::Messages);
    let one_by_one = || tools.iter().map(|raw| size(raw)).fold(0, i64::saturating_add);
    let tokens = by_template.unwrap_or_else(one_by_one);
    head.add(tokens);
    head.tools = candidates(Endpoint::Messages, request, tokens, &size);
    if by_template.is_none() && !tools.is_empty() {
        head.add(meter.format.tools);
    }
    for tool in tools.into_iter().filter_map(|tool| Object::parse(tool.get())) {
        let kind = tool.text("type").unwrap_or_default();
        if !matches!(&*kind, "" | "custom") {
            head.note_tool(&kind);
        }
    }
    if let Some(format) = request.object("output_config").and_then(|set| set.raw("format")) {
        head.add(meter.text(format.get()));
    }
    head.note(request, &["container", "mcp_servers", "context_management"]);
    head
}

/// Reads all messages of a conversation.
pub(super) fn read(meter: &ClaudeMeter, messages: &[&str]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = messages.iter().map(|json| one(meter, json)).collect();
    keep_thinking(&mut entries);
    let before_user = entries.iter_mut().take_while(|entry| entry.label != "user");
    before_user.for_each(|entry| entry.refuse("the first message must be the user's"));
    entries
}

/// Binds messages that a model wrote after a result, without thinking again, to the thoughts that their turn
/// has to begin with.
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
    let mut entry = Entry::new(meter, role, &label);
    // Instructions in the middle may only stand behind the user's turn, so they come and go with it.
    entry.message.with_previous = role == Role::System;
    entry.message.required = !matches!(&*label, "user" | "assistant" | "system");
    let Some(content) = message.raw("content") else { return entry };
    if let Some(text) = string(content) {
        entry.add_tokens(meter.format.per_part);
        entry.add_text(meter, &text);
        return entry;
    }
    let blocks = elements(content).unwrap_or_default();
    for (at, raw) in blocks.iter().enumerate() {
        let block = Object::parse(raw.get()).unwrap_or_default();
        let is_thought = block.is("thinking") || block.is("redacted_thinking");
        entry.reasoning |= at == 0 && is_thought;
        entry.add_tokens(meter.format.per_part);
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

/// Words of a user in a text beside results of tools. Clients put remarks of their own there, in marks
/// such as `<system-reminder>`: the question that these results serve came before.
fn words(raw: &RawValue) -> Option<String> {
    let block = Object::parse(raw.get())?;
    let text = block.text("text").filter(|_| block.is("text"))?;
    let text = text.trim();
    let is_remark = text.starts_with('<') && text.ends_with('>');
    (!text.is_empty() && !is_remark).then(|| text.to_owned())
}

fn add(meter: &ClaudeMeter, entry: &mut Entry, block: &Object<'_>, raw: &RawValue) {
    let kind = block.text("type").unwrap_or_default();
    let text = |field: &str| block.text(field).unwrap_or_default();
    match &*kind {
        "text" => entry.add_text(meter, &text("text")),
        "image" => {
            note_source(entry, block);
            entry.add_tokens(meter.image(&block.object("source").unwrap_or_default()));
            entry.add_shown("[image]");
        }
        "document" => document(meter, entry, block),
        "search_result" => {
            entry.add_text(meter, &text("title"));
            entry.message.note_unseen(&text("source"));
            entry.add_tokens(meter.text(&text("source")));
            nested(meter, entry, block, false);
        }
        "thinking" => {
            // What is shown may be a summary, or nothing: the signature holds all of it.
            entry.message.note_unseen(&text("signature"));
            entry.message.note_unseen(&text("thinking"));
            let sealed = meter.sealed(&text("signature"));
            entry.add_tokens(meter.text(&text("thinking")).max(sealed));
        }
        "redacted_thinking" => {
            entry.message.note_unseen(&text("data"));
            entry.add_tokens(meter.sealed(&text("data")));
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            entry.add_call(meter, &text("name"), block.raw("input").map_or("{}", RawValue::get));
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
            // Of each result a local server makes a message.
            if meter.local.is_some() {
                entry.add_tokens(meter.message("tool"));
            }
            nested(meter, entry, block, true);
        }
        "compaction" => {
            entry.add_text(meter, &text("content"));
            // It stands for all that came before it.
            entry.message.required = true;
        }
        "container_upload" => {
            entry.message.note_unseen(&text("file_id"));
            entry.uncounted.push(format!("file {}", text("file_id")));
            entry.add_shown("[file]");
        }
        _ => {
            entry.message.note_unseen(raw.get());
            entry.add_tokens(meter.json(raw.get()));
            entry.add_shown(&format!("[{kind}]"));
            if !kind.ends_with("_tool_result") {
                entry.uncounted.push(format!("content of type {kind:?}"));
            }
        }
    }
}

/// The content of a result: a text, or blocks. Of a tool's own a plan may cut the texts, which
/// [`result_texts`] finds in the same order.
fn nested(meter: &ClaudeMeter, entry: &mut Entry, block: &Object<'_>, of_tool: bool) {
    let Some(content) = block.raw("content") else { return };
    let add_text = |entry: &mut Entry, text: &str| {
        entry.add_text(meter, text);
        entry.message.results.extend(of_tool.then(|| meter.text(text)));
    };
    if let Some(text) = string(content) {
        add_text(entry, &text);
        return;
    }
    for raw in elements(content).unwrap_or_default() {
        let part = Object::parse(raw.get()).unwrap_or_default();
        entry.add_tokens(meter.format.per_part);
        match part.text("text").filter(|_| part.is("text")) {
            Some(text) => add_text(entry, &text),
            // The API has no result inside a result.
            None if part.is("tool_result") => entry.add_tokens(meter.json(raw.get())),
            None => add(meter, entry, &part, raw),
        }
    }
}

/// Notes the data of an image or a document, which no text shows.
fn note_source(entry: &mut Entry, block: &Object<'_>) {
    if let Some(source) = block.raw("source") {
        entry.message.note_unseen(source.get());
    }
}

fn document(meter: &ClaudeMeter, entry: &mut Entry, block: &Object<'_>) {
    note_source(entry, block);
    let title = block.text("title").unwrap_or_default();
    let context = block.text("context").unwrap_or_default();
    entry.message.note_unseen(&context);
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

/// The literals of all texts in a message's tool results, in their order, as places in its JSON.
pub(super) fn result_texts(json: &str) -> Vec<Range<usize>> {
    let message = Object::parse(json).unwrap_or_default();
    let blocks = message.array("content").unwrap_or_default();
    let mut found = Vec::new();
    for block in blocks
        .into_iter()
        .filter_map(|raw| Object::parse(raw.get()))
        .filter(|block| block.is("tool_result"))
    {
        let Some(content) = block.raw("content") else { continue };
        if content.get().starts_with('"') {
            found.extend(place(json, content));
            continue;
        }
        let parts = elements(content).unwrap_or_default();
        for part in parts
            .into_iter()
            .filter_map(|raw| Object::parse(raw.get()))
            .filter(|part| part.is("text"))
        {
            let text = part.raw("text").filter(|text| text.get().starts_with('"'));
            found.extend(text.and_then(|text| place(json, text)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::CountRules;

    #[test]
    fn every_text_of_a_result_is_found_where_it_stands() {
        let json = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x\n"},
            {"type":"tool_result","content":[{"type":"text","text":"y"},{"type":"image"},
            {"type":"text","text":"z"}],"tool_use_id":"b"},{"type":"text","text":"mine"}]}"#;
        let found: Vec<&str> = result_texts(json).into_iter().map(|range| &json[range]).collect();
        assert_eq!(found, [r#""x\n""#, r#""y""#, r#""z""#]);
        assert!(result_texts(r#"{"role":"user","content":"plain"}"#).is_empty());
        assert!(result_texts("7").is_empty());
    }

    #[test]
    fn the_newer_tokenizer_counts_more() {
        let text = "The migration window opened at two in the morning."; // o200k: 10
        let count = |model| ClaudeMeter::new(model, &CountRules::default()).text(text);
        assert_eq!(count(ClaudeModel::new(1_000)), 13);
        assert_eq!(count(ClaudeModel::new(1_000).newer_tokenizer()), 17);
        assert_eq!(ClaudeMeter::new(ClaudeModel::new(1_000), &CountRules::default()).text(""), 0);
    }

    #[test]
    fn what_is_sealed_is_not_counted_as_text() {
        let meter = ClaudeMeter::new(
            ClaudeModel::new(1_000).with_text_percent(100),
            &CountRules::default(),
        );
        assert_eq!(meter.sealed(&"A".repeat(1_600)), 300);
        let sealed = format!(r#"{{"title":"T","encrypted_content":"{}"}}"#, "Q9z".repeat(1_000));
        assert!(meter.json(&sealed) < 650, "{}", meter.json(&sealed));
    }

    #[test]
    fn a_page_and_an_image_have_their_price() {
        let meter = ClaudeMeter::new(ClaudeModel::new(1_000), &CountRules::default());
        let pdf = STANDARD.encode(b"%PDF-1.7 /Type /Page /Type /Page>>");
        assert_eq!(meter.document(&pdf), 6_000);
        let unknown = Object::parse(r#"{"type":"url","url":"https://x"}"#).unwrap();
        assert_eq!(meter.image(&unknown), 1_600);
    }
}
