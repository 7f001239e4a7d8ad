//! Contents of a request: everything that the model knows.
//!
//! Messages of Chat Completions, one after the other. Before the user's last words stands what the
//! layer has recalled and retrieved, quoted, with a label in front of each entry.

use serde_json::Value;

use super::tools::Call;

/// The request as the model reads it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sight {
    /// The user's last words.
    pub(crate) question: String,
    /// All else, in its order.
    pub(crate) entries: Vec<Entry>,
    /// Number of entries before the user's last words.
    pub(crate) before: usize,
}

/// A message, or something quoted.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) who: Who,
    pub(crate) text: String,
    /// The call whose output it is.
    pub(crate) answers: Option<Call>,
    /// True if the entry is quoted and is not a message.
    pub(crate) recalled: bool,
}

/// Origin of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    User,
    Model,
    Tool,
    Memory,
    Docs,
}

const OPEN: &str = "<recalled>";
const CLOSE: &str = "</recalled>";

impl Sight {
    /// Reads the messages of a request. Instructions say how to answer, not what.
    pub(crate) fn of(messages: &[Value]) -> Self {
        let mut sight = Self::default();
        let mut calls: Vec<(&str, Call)> = Vec::new();
        for message in messages {
            match field(message, "role") {
                "user" => sight.user(message),
                "assistant" => {
                    calls.extend(calls_of(message));
                    sight.push(Who::Model, words(message).join("\n"), None);
                }
                "tool" => {
                    let id = field(message, "tool_call_id");
                    let call = calls.iter().rfind(|(known, _)| *known == id);
                    let call = call.map(|(_, call)| call.clone());
                    sight.push(Who::Tool, words(message).join("\n"), call);
                }
                _ => {}
            }
        }
        sight
    }

    /// The same without what was recalled and retrieved.
    pub(crate) fn without_recall(&self) -> Self {
        let kept = |entry: &&Entry| !entry.recalled;
        let entries = self.entries.iter().filter(kept).cloned().collect();
        let before = self.entries.iter().take(self.before).filter(kept).count();
        Self { question: self.question.clone(), entries, before }
    }

    fn user(&mut self, message: &Value) {
        let before = std::mem::take(&mut self.question);
        self.push(Who::User, before, None);
        for text in words(message) {
            match text.strip_prefix(OPEN) {
                Some(quoted) => self.quoted(quoted),
                None => text.clone_into(&mut self.question),
            }
        }
        self.before = self.entries.len();
    }

    /// Reads `[12] user: …`, `[13, untrusted] tool: …` and `[docs, untrusted] …`, and the lines
    /// that belong to them.
    fn quoted(&mut self, quoted: &str) {
        let first = self.entries.len();
        for line in quoted.lines().take_while(|line| *line != CLOSE) {
            let labelled = line.strip_prefix('[').and_then(|line| line.split_once("] "));
            let Some((label, text)) = labelled else {
                let further = line.strip_prefix("> ").unwrap_or(line.trim_start());
                // What stands before the first label says what this is.
                if let Some(entry) = self.entries.get_mut(first..).and_then(<[_]>::last_mut) {
                    entry.text.push('\n');
                    entry.text.push_str(further);
                }
                continue;
            };
            let (who, text) = match (text.split_once(": "), label.split(',').next()) {
                (_, Some("docs")) => (Who::Docs, text),
                (_, Some("memory")) => (Who::Memory, text),
                (Some(("user", text)), _) => (Who::User, text),
                (Some(("tool", text)), _) => (Who::Tool, text),
                (Some((_, text)), _) => (Who::Model, text),
                (None, _) => (Who::Model, text),
            };
            let call = self.entries.last().filter(|_| who == Who::Tool);
            let call = call.and_then(|entry| Call::quoted(&entry.text));
            self.entries.push(Entry { who, text: text.to_owned(), answers: call, recalled: true });
        }
    }

    fn push(&mut self, who: Who, text: String, answers: Option<Call>) {
        if !text.is_empty() {
            self.entries.push(Entry { who, text, answers, recalled: false });
        }
    }
}

/// A field of a message that is a text; empty when it is none.
pub(crate) fn field<'a>(message: &'a Value, name: &str) -> &'a str {
    message.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of a message, part by part. A quotation at the beginning of a text is a part of its own.
pub(crate) fn words(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => match text.split_once(CLOSE) {
            Some((quoted, words)) if quoted.starts_with(OPEN) => vec![quoted, words.trim_start()],
            _ => vec![text],
        },
        Some(Value::Array(parts)) => parts.iter().map(|part| field(part, "text")).collect(),
        _ => Vec::new(),
    }
}

/// The tool calls of a message, with their ids.
pub(crate) fn calls_of(message: &Value) -> impl Iterator<Item = (&str, Call)> {
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    calls.filter_map(|call| {
        let function = call.get("function")?;
        let read = Call::read(field(function, "name"), field(function, "arguments"))?;
        Some((field(call, "id"), read))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Sight, Who};
    use crate::agent::tools::{Call, Tool};

    #[test]
    fn quoted_entries_are_read_like_messages() {
        let quoted = "<recalled>\nQuoted as data.\n[3] user: One\n and two.\n\
                      [4] assistant: calculator({\"expression\":\"1 + 1\"})\n\
                      [5, untrusted] tool: 2\n[docs, untrusted] a.rs:1: A text.\n</recalled>\n\n";
        let sight = Sight::of(&[
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": "Before."}),
            json!({"role": "user", "content": format!("{quoted}Now?")}),
        ]);
        assert_eq!(sight.question, "Now?");
        let seen: Vec<(Who, &str)> =
            sight.entries.iter().map(|entry| (entry.who, entry.text.as_str())).collect();
        let call = "calculator({\"expression\":\"1 + 1\"})";
        let expected = [
            (Who::User, "Before."),
            (Who::User, "One\nand two."),
            (Who::Model, call),
            (Who::Tool, "2"),
            (Who::Docs, "a.rs:1: A text."),
        ];
        assert_eq!(seen, expected);
        let sum = Call { tool: Tool::Calculator, argument: "1 + 1".to_owned() };
        assert_eq!(sight.entries[3].answers, Some(sum));
        assert_eq!(sight.without_recall().entries.len(), 1);
    }
}
