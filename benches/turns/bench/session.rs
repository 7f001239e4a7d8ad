//! Recorded runs as sessions: messages, units of them, and the calls that were made.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use cupel::tokens::{Encoding, TokenCounter, counter_fn, shared_counter};
use serde_json::Value;

/// Counter for texts: four characters per token, as in the tables of the data, so that results do
/// not depend on a vocabulary; or exact counts with `CUPEL_TOKENS=bpe`.
pub fn counter() -> Arc<dyn TokenCounter> {
    static COUNTER: LazyLock<Arc<dyn TokenCounter>> =
        LazyLock::new(|| match std::env::var("CUPEL_TOKENS").as_deref() {
            Ok("bpe") => shared_counter(Encoding::O200k),
            _ => Arc::new(counter_fn("characters / 4", |text: &str| {
                i64::try_from(text.chars().count().div_ceil(4)).unwrap_or(i64::MAX)
            })),
        });
    Arc::clone(&COUNTER)
}

/// The tokens of a text.
pub fn count(text: &str) -> i64 {
    counter().count(text)
}

/// One message of a run.
pub struct Message {
    pub value: Value,
    pub role: String,
    /// All that a model reads of it.
    pub text: String,
    pub tokens: i64,
}

impl Message {
    pub fn new(value: Value) -> Self {
        let role = value["role"].as_str().unwrap_or_default().to_owned();
        let text = text_of(&value);
        let tokens = tokens_of(&value);
        Self { value, role, text, tokens }
    }

    pub fn calls(&self) -> &[Value] {
        self.value["tool_calls"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// The text of a message: content, and calls with their arguments.
pub fn text_of(message: &Value) -> String {
    let mut parts = Vec::new();
    match &message["content"] {
        Value::String(text) => parts.push(text.clone()),
        Value::Array(list) => {
            let texts = list.iter().filter_map(|part| part["text"].as_str());
            parts.extend(texts.map(str::to_owned));
        }
        _ => {}
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        parts.push(call["function"]["name"].as_str().unwrap_or_default().to_owned());
        parts.push(call["function"]["arguments"].as_str().unwrap_or_default().to_owned());
    }
    parts.join("\n")
}

/// The tokens of a message by the published rule: three for each, its role, its texts, one for each
/// call.
pub fn tokens_of(message: &Value) -> i64 {
    let mut tokens = 3 + count(message["role"].as_str().unwrap_or_default());
    match &message["content"] {
        Value::String(text) => tokens += count(text),
        Value::Array(list) => {
            tokens += list.iter().filter_map(|part| part["text"].as_str()).map(count).sum::<i64>();
        }
        _ => {}
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        tokens += 1
            + count(call["function"]["name"].as_str().unwrap_or_default())
            + count(call["function"]["arguments"].as_str().unwrap_or_default());
    }
    if let Some(name) = message["name"].as_str() {
        tokens += 1 + count(name);
    }
    tokens
}

/// A conversation from its first message to its last.
pub struct Session {
    pub messages: Vec<Message>,
    /// Number of messages in the head.
    pub head: usize,
    /// Tokens of the head that are in no message: tools.
    pub aside: i64,
}

impl Session {
    pub fn new(messages: Vec<Value>) -> Self {
        let messages: Vec<Message> = messages.into_iter().map(Message::new).collect();
        let head = messages.iter().take_while(|message| message.role == "system").count();
        Self { messages, head, aside: 0 }
    }

    /// All runs one after the other, with the first one's instructions.
    pub fn joined(runs: &[Vec<Value>]) -> Self {
        let first = runs.first().into_iter().flatten().take_while(|m| m["role"] == "system");
        let others = runs.iter().flatten().filter(|message| message["role"] != "system");
        Self::new(first.chain(others).cloned().collect())
    }

    pub fn head_tokens(&self) -> i64 {
        self.aside + self.messages.iter().take(self.head).map(|message| message.tokens).sum::<i64>()
    }

    pub fn tokens(&self) -> i64 {
        self.aside + self.messages.iter().map(|message| message.tokens).sum::<i64>()
    }

    /// The calls: how many messages each was made with. The next one is the recorded answer.
    pub fn calls(&self) -> Vec<usize> {
        (self.head + 1..self.messages.len())
            .filter(|at| self.messages[*at].role == "assistant")
            .filter(|at| self.question(*at).is_some())
            .collect()
    }

    /// The user's last message of so many.
    pub fn question(&self, known: usize) -> Option<usize> {
        self.messages[..known].iter().rposition(|message| message.role == "user")
    }

    /// Runs of messages that need each other: calls with their results.
    pub fn units(&self, known: usize) -> Vec<std::ops::Range<usize>> {
        let mut units: Vec<std::ops::Range<usize>> = Vec::new();
        for at in self.head..known {
            match units.last_mut() {
                Some(unit) if self.messages[at].role == "tool" => unit.end = at + 1,
                _ => units.push(at..at + 1),
            }
        }
        units
    }
}

/// Every `*.jsonl` of a folder by its name, one list of values a file.
pub fn files(folder: &Path) -> Vec<(String, Vec<Value>)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let values = lines.map(parse).collect();
        (name, values)
    };
    paths.into_iter().map(read).collect()
}
