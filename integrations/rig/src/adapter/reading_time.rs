//! Estimate of the time that reading a request takes.

use rig_core::completion::CompletionRequest;
use rig_core::message::{
    AssistantContent, Document, DocumentSourceKind, Message, ToolResultContent, UserContent,
};
use serde_json::{Map, Value};

/// Nanoseconds of a message beside its texts.
const PER_MESSAGE: u64 = 300;

/// Nanoseconds of a byte, which has mostly been counted on an earlier turn.
const PER_BYTE: u64 = 4;

/// Nanoseconds of a byte of a long text, as if it were new.
const PER_NEW_BYTE: u64 = 32;

/// Bytes of a text that takes milliseconds to count.
const LONG_TEXT: usize = 64 * 1024;

/// Nanoseconds beyond which nobody needs to know better.
const MOST: u64 = 20_000_000;

/// Nanoseconds that reading takes, about, if it looks back over so many tokens.
pub(super) fn nanoseconds(request: &CompletionRequest, horizon: Option<i64>) -> u64 {
    // A token has at most about eight bytes.
    let most = horizon.and_then(|tokens| u64::try_from(tokens).ok());
    let most = most.map_or(MOST, |tokens| MOST.min(tokens.saturating_mul(8 * PER_BYTE)));
    let mut nanoseconds = 0_u64;
    for newest in request.chat_history.iter().rev() {
        nanoseconds = nanoseconds.saturating_add(of_message(newest));
        if nanoseconds > most {
            break;
        }
    }
    let documents = request.documents.iter().map(|document| of_text(document.text.len()));
    documents.fold(nanoseconds, u64::saturating_add)
}

fn of_text(bytes: usize) -> u64 {
    let per_byte = if bytes < LONG_TEXT { PER_BYTE } else { PER_NEW_BYTE };
    (bytes as u64).saturating_mul(per_byte)
}

fn of_message(message: &Message) -> u64 {
    let texts: u64 = match message {
        Message::System { content } => of_text(content.len()),
        Message::User { content } => content.iter().map(of_user_part).sum(),
        Message::Assistant(turn) => turn.content.iter().map(of_models_part).sum(),
    };
    texts.saturating_add(PER_MESSAGE)
}

fn of_models_part(part: &AssistantContent) -> u64 {
    of_text(match part {
        AssistantContent::Text(part) => part.text.len(),
        AssistantContent::ToolCall(call) => fields_bytes(&call.function.arguments),
        AssistantContent::Reasoning(reasoning) => reasoning.text.len(),
        _ => 0,
    })
}

fn of_user_part(part: &UserContent) -> u64 {
    match part {
        UserContent::Text(part) => of_text(part.text.len()),
        UserContent::Document(Document { data: DocumentSourceKind::String(text), .. }) => {
            of_text(text.len())
        }
        UserContent::ToolResult(result) => {
            let texts = result.content.iter().map(|part| match part {
                ToolResultContent::Text(part) => part.text.len(),
                ToolResultContent::Json { value } => json_bytes(value),
                ToolResultContent::Image(_) => 0,
            });
            texts.map(of_text).sum()
        }
        _ => 0,
    }
}

/// Bytes of a value as JSON, about.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::String(string) => string.len(),
        Value::Array(values) => values.iter().map(json_bytes).sum(),
        Value::Object(fields) => fields_bytes(fields),
        _ => 4,
    }
}

fn fields_bytes(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(key, value)| key.len() + json_bytes(value)).sum()
}
