//! The content of messages.

use serde_json::Value;

use super::text;

/// A string, or a list of at least one part of these types.
pub fn content(content: &Value, types: &[&str], place: &str) -> Result<(), String> {
    let parts = match content {
        Value::String(_) => return Ok(()),
        Value::Array(parts) if parts.is_empty() => {
            return Err(format!("Invalid '{place}': empty array."));
        }
        Value::Array(parts) => parts,
        _ => return Err(format!("Invalid type for '{place}': expected a string or an array.")),
    };
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let kind = text(part, "type", &place)?;
        if !types.contains(&kind) {
            return Err(format!("Invalid value: '{kind}' - '{place}'. Supported: {types:?}."));
        }
        match kind {
            "text" | "input_text" | "output_text" => drop(text(part, "text", &place)?),
            "refusal" => drop(text(part, "refusal", &place)?),
            "image_url" => url(text(&part["image_url"], "url", &place)?, &place)?,
            "input_image" => url(text(part, "image_url", &place)?, &place)?,
            "input_audio" => {
                text(&part["input_audio"], "data", &place)?;
                let format = text(&part["input_audio"], "format", &place)?;
                if !["wav", "mp3"].contains(&format) {
                    return Err(format!("Invalid value: '{format}' - '{place}.format'"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn url(url: &str, place: &str) -> Result<(), String> {
    let is_valid = url.starts_with("https://") || url.starts_with("data:image/");
    if is_valid { Ok(()) } else { Err(format!("Invalid '{place}': not a valid URL.")) }
}
