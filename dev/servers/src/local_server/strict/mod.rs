//! Refusals of the APIs, with similar messages.

mod chat;
mod parts;
mod responses;

use serde_json::Value;

use super::tokens;

/// Checks a body; its JSON, or why it is refused.
pub fn check(path: &str, body: &[u8]) -> Result<Value, String> {
    let json: Value = serde_json::from_slice(body)
        .map_err(|error| format!("We could not parse the JSON body of your request. {error}"))?;
    let model = json["model"].as_str().ok_or("you must provide a model parameter")?;
    let window = tokens::window(model).ok_or(format!("The model `{model}` does not exist"))?;
    let (prompt, output) = match path {
        "/chat/completions" => {
            chat::check(&json)?;
            let output = json.get("max_completion_tokens").or(json.get("max_tokens"));
            (tokens::chat(&json), output)
        }
        _ => {
            responses::check(&json)?;
            (tokens::response(&json), json.get("max_output_tokens"))
        }
    };
    let output = output.and_then(Value::as_i64).unwrap_or(0);
    if prompt + output > window {
        return Err(format!(
            "This model's maximum context length is {window} tokens. However, you requested \
             {} tokens ({prompt} in the messages, {output} in the completion).",
            prompt + output,
        ));
    }
    Ok(json)
}

/// Other providers' servers take fields that OpenAI's refuses.
fn is_open(request: &Value) -> bool {
    request["model"].as_str().is_some_and(|model| model.starts_with("other-"))
}

fn only(value: &Value, allowed: &[&str], place: &str) -> Result<(), String> {
    let object = value.as_object().ok_or(format!("'{place}' is not of type 'object'"))?;
    match object.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(key) => Err(format!(
            "Additional properties are not allowed ('{key}' was unexpected) - '{place}'"
        )),
        None => Ok(()),
    }
}

fn text<'a>(value: &'a Value, field: &str, place: &str) -> Result<&'a str, String> {
    value[field].as_str().ok_or(format!("Missing required parameter: '{place}.{field}'."))
}
