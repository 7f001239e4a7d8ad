//! The tool by which a model asks for an original.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::ArchiveError;
use crate::namespace::Namespace;

/// The tool's name.
pub const NAME: &str = "read_original";

/// Description of the tool for the model.
pub(super) const DESCRIPTION: &str = "Reads the whole of a text of which only an excerpt is shown. \
    The key is the hash in the mark of the excerpt, after \"the whole is\".";

/// Longest answer, in characters.
const MOST: usize = 8_000;

/// The tool's parameters as a JSON schema.
pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "key": {
                "type": "string",
                "description": "The 32 hexadecimal digits in the mark."
            },
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "How many characters of the text to skip; 0 unless given."
            },
            "length": {
                "type": "integer",
                "minimum": 1,
                "description": "How many characters to read; 8000 at most, and unless given."
            }
        },
        "required": ["key"],
        "additionalProperties": false
    })
}

/// The tool in the form of OpenAI's Chat Completions, for the `tools` of a request.
#[must_use]
pub fn definition() -> Value {
    json!({
        "type": "function",
        "function": { "name": NAME, "description": DESCRIPTION, "parameters": parameters() }
    })
}

/// Arguments of a call: a key, and the part of the text to read.
#[derive(Debug, Deserialize)]
pub struct ReadArguments {
    key: String,
    #[serde(default)]
    offset: usize,
    length: Option<usize>,
}

/// Answers a call of the tool: a part of the text and a line that says which. Arguments that are
/// wrong, and keys that are not known, are answered in words, for the model to try again.
///
/// # Errors
///
/// Whatever the database says.
pub async fn answer(namespace: &Namespace, arguments: &str) -> Result<String, ArchiveError> {
    match serde_json::from_str(arguments) {
        Ok(arguments) => read(namespace, &arguments).await,
        Err(error) => Ok(format!("The arguments are wrong: {error}.")),
    }
}

pub(super) async fn read(
    namespace: &Namespace,
    arguments: &ReadArguments,
) -> Result<String, ArchiveError> {
    let Some(text) = namespace.original(&arguments.key).await? else {
        return Ok(format!(
            "No text has the key {:?}. A key is the 32 hexadecimal digits in the mark of an excerpt.",
            arguments.key.chars().take(64).collect::<String>()
        ));
    };
    let length = arguments.length.unwrap_or(MOST).clamp(1, MOST);
    let part: String = text.chars().skip(arguments.offset).take(length).collect();
    let all = text.chars().count();
    let end = arguments.offset.saturating_add(length).min(all);
    let from = arguments.offset.min(all);
    Ok(format!("{part}\n[characters {from} to {end} of {all}]"))
}
