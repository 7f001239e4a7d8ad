//! Transcripts of OpenAI's Chat Completions, in whatever types they are written.

use cupel::conversation::Role;
use serde_json::Value;

use super::api::{Api, ApiTranscript, StreamedApiTranscript};
use super::content;
use super::transcript::RecordedTurn;
use crate::conversation::ConversationHandle;
use crate::message::ArchiveMessage;

/// The messages of a Chat Completions request, but its instructions, which belong to the program
/// and not to the conversation. Each keeps its JSON as [`ArchiveMessage::wire`].
#[must_use]
pub fn chat_messages(request: &Value) -> Vec<ArchiveMessage> {
    let messages = request.get("messages").and_then(Value::as_array);
    messages.into_iter().flatten().filter_map(message).collect()
}

/// One message; none for instructions and what has no role that is known.
fn message(value: &Value) -> Option<ArchiveMessage> {
    let role = match value.get("role")?.as_str()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => return None,
    };
    let mut lines = vec![content::text(value.get("content"))];
    let calls = value.get("tool_calls").and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        let made = call.get("function").or_else(|| call.get("custom"));
        let part = |name: &str| made.and_then(|made| made.get(name));
        lines.push(content::call(part("name"), part("arguments").or_else(|| part("input"))));
    }
    lines.retain(|line| !line.is_empty());
    Some(ArchiveMessage::new(role, lines.join("\n")).wire(value.to_string()))
}

/// Archives calls of Chat Completions: requests and responses of any types that are written as the
/// API's JSON, such as async-openai's, answered whole or as a stream of chunks.
///
/// ```
/// use cupel_archive::Archive;
/// use cupel_archive::record::{Chat, RecordLayer, Recorder};
/// use serde_json::Value;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), cupel_archive::ArchiveError> {
/// let tenant = Archive::open("sqlite::memory:").await?.namespace("acme")?;
/// let chat = Chat::new(move |request: &Value| {
///     tenant.conversation(request.get("user")?.as_str()?).ok()
/// });
/// let layer = RecordLayer::new(Recorder::new(), chat);
/// # let _ = layer;
/// # Ok(())
/// # }
/// ```
pub type Chat<F> = ApiTranscript<F, ChatChunks>;

/// [`Chat`] for answers that are streamed; see [`Chat::streamed`].
pub type StreamedChat<F> = StreamedApiTranscript<F, ChatChunks>;

/// Puts an answer together from its chunks.
#[derive(Debug, Default)]
pub struct ChatChunks {
    text: String,
    /// Name and arguments of each tool call, by its index.
    calls: Vec<(Value, String, String)>,
    finished: bool,
}

impl Api for ChatChunks {
    fn turn(conversation: ConversationHandle, request: &Value) -> RecordedTurn {
        RecordedTurn::new(conversation, chat_messages(request))
    }

    fn whole(response: &Value) -> Option<Vec<ArchiveMessage>> {
        Some(vec![message(response.pointer("/choices/0/message")?)?])
    }

    fn event(&mut self, chunk: &Value) {
        let Some(choice) = chunk.pointer("/choices/0") else { return };
        self.finished |= choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
        let Some(delta) = choice.get("delta") else { return };
        self.text.push_str(delta.get("content").and_then(Value::as_str).unwrap_or_default());
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let index = call.get("index").and_then(Value::as_u64).unwrap_or_default();
            let Ok(index) = usize::try_from(index.min(1_024)) else { continue };
            while self.calls.len() <= index {
                self.calls.push(Default::default());
            }
            let Some((id, name, arguments)) = self.calls.get_mut(index) else { continue };
            let part =
                |part: &str| call.pointer(&format!("/function/{part}")).and_then(Value::as_str);
            if let Some(known) = call.get("id").filter(|id| !id.is_null()) {
                *id = known.clone();
            }
            name.push_str(part("name").unwrap_or_default());
            arguments.push_str(part("arguments").unwrap_or_default());
        }
    }

    fn held_bytes(&self) -> usize {
        let calls = self.calls.iter().map(|call| size_of_val(call) + call.1.len() + call.2.len());
        self.text.len() + calls.sum::<usize>()
    }

    fn ended(self) -> Option<Vec<ArchiveMessage>> {
        if !self.finished {
            return None;
        }
        let mut answer = serde_json::json!({ "role": "assistant", "content": self.text });
        if !self.calls.is_empty() {
            let call = |(id, name, arguments): (Value, String, String)| {
                serde_json::json!({
                    "id": id, "type": "function",
                    "function": { "name": name, "arguments": arguments }
                })
            };
            let calls = self.calls.into_iter().map(call).collect();
            answer.as_object_mut()?.insert("tool_calls".to_owned(), calls);
        }
        message(&answer).map(|message| vec![message])
    }
}
