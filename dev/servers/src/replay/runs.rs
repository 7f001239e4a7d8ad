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
    Ok(read_files(folder)?.into_iter().flat_map(|(_, runs)| runs).collect())
}

/// The runs of each of a folder's `*.jsonl` files, as one session named after the file.
pub fn read_joined(folder: impl AsRef<Path>) -> Result<Vec<Run>, Box<dyn Error>> {
    let files = read_files(folder)?;
    Ok(files.into_iter().map(|(name, runs)| Run { name, messages: joined(&runs) }).collect())
}

/// The name of a file without its ending, and the runs in it.
type File = (String, Vec<Run>);

/// A folder's `*.jsonl` files.
fn read_files(folder: impl AsRef<Path>) -> Result<Vec<File>, Box<dyn Error>> {
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
    let mut all = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path)?;
        let mut runs = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let run = serde_json::from_str(line)
                .map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?;
            runs.push(run);
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        all.push((name, runs));
    }
    let none = all.iter().all(|(_, runs)| runs.is_empty());
    if none { Err(wrong(&"no runs in *.jsonl files").into()) } else { Ok(all) }
}

/// All runs as one session: ids stay unique, instructions are the first run's.
pub fn joined(runs: &[Run]) -> Vec<Value> {
    let mut all = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        for message in &run.messages {
            if number > 0 && message.get("role").is_some_and(|role| role == "system") {
                continue;
            }
            let mut message = message.clone();
            let mark = |id: Option<&mut Value>| {
                if let Some(Value::String(id)) = id {
                    id.insert_str(0, &format!("r{number}_"));
                }
            };
            mark(message.get_mut("tool_call_id"));
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            calls.into_iter().flatten().for_each(|call| mark(call.get_mut("id")));
            all.push(message);
        }
    }
    all
}

impl Run {
    /// Request of each turn: everything before each message of the model.
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
