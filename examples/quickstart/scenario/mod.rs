//! The context candidates of one incident: an on-call engineer, a payment service, a rollback.
//!
//! The texts live in `data/*.txt` as blocks separated by a line `---`; each block is a few
//! `key: value` lines, an empty line, and the content. `at`, `hint`, `tags`, `pinned`, `tokens`,
//! `kind` and `source` become fields of the item (`hint` is what a retriever thinks of it),
//! every other key becomes metadata. Without `tokens` the count is estimated from the text.
#![allow(dead_code, reason = "each example that includes this module uses its own part of it")]

use std::error::Error;

use chrono::{DateTime, NaiveDateTime, Utc};
use cupel::{ContextBudget, ContextItem, ContextItemBuilder, ContextKind, ContextSource};
use cupel_dev::terminal;

/// Candidates and budget of one call to the model.
pub(crate) struct Scenario {
    pub(crate) items: Vec<ContextItem>,
    pub(crate) budget: ContextBudget,
    /// The moment of the question: fixed, so that every run selects the same context.
    pub(crate) now: DateTime<Utc>,
}

/// Files of the candidates, with the default kind and source of each file.
const FILES: [(&str, &str, &str); 6] = [
    (include_str!("data/system.txt"), "SystemPrompt", "Chat"),
    (include_str!("data/conversation.txt"), "Message", "Chat"),
    (include_str!("data/documents.txt"), "Document", "Rag"),
    // A second retriever, which finds some of the same documents again.
    (include_str!("data/keyword.txt"), "Document", "KeywordSearch"),
    (include_str!("data/tools.txt"), "ToolOutput", "Tool"),
    (include_str!("data/memories.txt"), "Memory", "MemoryStore"),
];

impl Scenario {
    /// The incident of 12 March, 14:21, with a window of 8,000 tokens.
    pub(crate) fn load() -> Result<Self, Box<dyn Error>> {
        let mut items = Vec::new();
        for (text, kind, source) in FILES {
            // A checkout may have turned line ends into CRLF.
            let text = text.replace('\r', "");
            for block in text.trim_end().split("\n---\n") {
                let item = parse(block, kind, source).map_err(|error| {
                    format!("{error}, in the block that begins {:?}", terminal::clip(block, 60))
                })?;
                items.push(item);
            }
        }
        Ok(Self {
            items,
            budget: ContextBudget::builder(8_000).output_reserve(1_500).build()?,
            now: timestamp("2026-03-12 14:21")?,
        })
    }
}

impl Scenario {
    /// Question of the engineer.
    pub(crate) fn question(&self) -> &str {
        let asked = |item: &&ContextItem| item.pinned() && *item.kind() == ContextKind::message();
        self.items.iter().find(asked).map_or("", ContextItem::content)
    }
}

/// Reads one block: header lines, an empty line, the content.
fn parse(block: &str, kind: &str, source: &str) -> Result<ContextItem, Box<dyn Error>> {
    let (header, content) = block.split_once("\n\n").ok_or("no empty line after the header")?;
    let mut fields = Vec::new();
    for line in header.lines() {
        fields.push(line.split_once(": ").ok_or_else(|| format!("no \": \" in {line:?}"))?);
    }
    let tokens = match fields.iter().find(|(key, _)| *key == "tokens") {
        Some((_, given)) => given.parse()?,
        None => estimate_tokens(content)?,
    };
    let mut item = ContextItemBuilder::new(content, tokens)
        .kind(ContextKind::new(kind)?)
        .source(ContextSource::new(source)?);
    for (key, value) in fields {
        item = match key {
            "tokens" => item,
            "kind" => item.kind(ContextKind::new(value)?),
            "source" => item.source(ContextSource::new(value)?),
            "at" => item.timestamp(timestamp(value)?),
            "hint" => item.future_relevance_hint(value.parse()?),
            "tags" => item.tags(value.split(", ")),
            "pinned" => item.pinned(value.parse()?),
            _ => item.metadata_entry(key, value),
        };
    }
    Ok(item.build()?)
}

/// A common rule of thumb: four characters are about one token, rounded up.
pub(crate) fn estimate_tokens(text: &str) -> Result<i64, std::num::TryFromIntError> {
    i64::try_from(text.chars().count().div_ceil(4))
}

fn timestamp(text: &str) -> Result<DateTime<Utc>, chrono::ParseError> {
    Ok(NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M")?.and_utc())
}
