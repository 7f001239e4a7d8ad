//! Words of a tool's definition by which a question finds it.

use serde_json::Value;

/// Text of a tool's definition in JSON: descriptions, names of parameters, and the values that these may have.
///
/// The names of tools in a group are part of it; the tool's own name is not, since a
/// [`ToolCandidate`](super::ToolCandidate) has it.
///
/// ```
/// use cupel::tool_choice::definition_text;
///
/// let definition = serde_json::json!({"name": "weather", "description": "Forecast of a city.", "parameters":
///     {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius"]}}}});
/// assert_eq!(definition_text(&definition), "Forecast of a city.\ncity\nunit\ncelsius\n");
/// ```
#[must_use]
pub fn definition_text(definition: &Value) -> String {
    let mut text = String::new();
    write(definition, false, &mut text);
    text
}

fn write(value: &Value, names: bool, text: &mut String) {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.iter().for_each(|item| write(item, names, text)),
        _ => return,
    };
    for (key, field) in fields {
        match (key.as_str(), field) {
            ("description" | "title", Value::String(words)) => add(words, text),
            // Names of tools in a group; the own name counts by itself.
            ("name", Value::String(name)) if names => add(name, text),
            ("enum", Value::Array(values)) => {
                values.iter().filter_map(Value::as_str).for_each(|value| add(value, text));
            }
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    add(name, text);
                    write(property, names, text);
                }
            }
            ("tools", field) => write(field, true, text),
            (_, field) => write(field, names, text),
        }
    }
}

fn add(words: &str, text: &mut String) {
    text.push_str(words);
    text.push('\n');
}
