//! Texts in requests and answers of OpenAI's APIs.

use serde_json::Value;

/// The text of a message's content: parts that are no text are named. Lines are joined as a planned
/// turn joins them, so that the key in an excerpt's mark is the key of this text.
pub(super) fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts: Vec<String> = parts.iter().map(part).collect();
            let said = parts.iter().map(String::as_str).filter(|part| !part.is_empty());
            said.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn part(part: &Value) -> String {
    let text = part.get("text").or_else(|| part.get("refusal")).unwrap_or(part).as_str();
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("part");
    text.map_or_else(|| format!("[{kind}]"), str::to_owned)
}

/// A call of a tool in one line.
pub(super) fn call(name: Option<&Value>, arguments: Option<&Value>) -> String {
    let name = name.and_then(Value::as_str).unwrap_or("tool");
    let arguments = match arguments {
        Some(Value::String(arguments)) => arguments.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    format!("{name}({arguments})")
}
