//! Recorded runs: one JSON object a line, with `name` and `messages` in the format of Chat
//! Completions.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One recorded run of an agent.
#[derive(Debug, Clone, Deserialize)]
pub struct Run {
    pub name: String,
    pub messages: Vec<Value>,
}

/// All runs of a folder's `*.jsonl` files, in the order of their names.
pub fn read(folder: impl AsRef<Path>) -> Result<Vec<Run>, Box<dyn Error>> {
    let folder = folder.as_ref();
    let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(&error))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    let mut runs = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path)?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let run = serde_json::from_str(line)
                .map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?;
            runs.push(run);
        }
    }
    if runs.is_empty() { Err(wrong(&"no runs in *.jsonl files").into()) } else { Ok(runs) }
}

impl Run {
    /// What was sent at each turn: all that came before each of the model's messages.
    pub fn turns(&self) -> impl Iterator<Item = &[Value]> {
        let of_model = |message: &Value| message.get("role").is_some_and(|r| r == "assistant");
        let ends =
            (1..self.messages.len()).filter(move |at| self.messages.get(*at).is_some_and(of_model));
        ends.filter_map(|end| self.messages.get(..end))
    }

    /// The tools that the run calls, with the arguments it calls them with.
    pub fn tools(&self) -> Vec<Value> {
        let mut tools: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        let calls =
            self.messages.iter().filter_map(|message| message.get("tool_calls")?.as_array());
        for call in calls.flatten().filter_map(|call| call.get("function")) {
            let Some(name) = call.get("name").and_then(Value::as_str) else { continue };
            let properties = tools.entry(name).or_default();
            let arguments = call.get("arguments").and_then(Value::as_str).unwrap_or_default();
            let arguments = serde_json::from_str::<Map<String, Value>>(arguments);
            for (argument, _) in arguments.unwrap_or_default() {
                properties.insert(argument, json!({ "type": "string" }));
            }
        }
        let tool = |(name, properties)| {
            json!({ "name": name, "description": "A tool of the recorded run.",
                "parameters": { "type": "object", "properties": properties } })
        };
        tools.into_iter().map(tool).collect()
    }
}
