//! Transcripts of OpenAI's Responses API, in whatever types they are written.

use cupel::conversation::Role;
use serde_json::Value;

use super::api::{Api, ApiTranscript, StreamedApiTranscript};
use super::content;
use super::transcript::RecordedTurn;
use crate::conversation::ConversationHandle;
use crate::message::ArchiveMessage;

/// The items of a Responses request, but its instructions, the model's thoughts, and references to
/// what the server holds. Each keeps its JSON as [`ArchiveMessage::wire`].
#[must_use]
pub fn responses_messages(request: &Value) -> Vec<ArchiveMessage> {
    match request.get("input") {
        Some(Value::String(text)) => vec![ArchiveMessage::user(text.as_str())],
        input => items(input),
    }
}

fn items(list: Option<&Value>) -> Vec<ArchiveMessage> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(item).collect()
}

/// One item; none for what nobody said.
fn item(item: &Value) -> Option<ArchiveMessage> {
    let kind = item.get("type").and_then(Value::as_str);
    let (role, text) = match kind {
        None | Some("message") => {
            let role = match item.get("role")?.as_str()? {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                _ => return None,
            };
            (role, content::text(item.get("content")))
        }
        Some(kind) if kind.ends_with("_output") => {
            let text = match item.get("output").or_else(|| item.get("result")) {
                Some(Value::Object(output)) => Value::Object(output.clone()).to_string(),
                output => content::text(output),
            };
            (Role::Tool, text)
        }
        Some(kind) if kind.ends_with("_call") => {
            let arguments = ["arguments", "input", "action", "queries", "code"];
            let arguments = arguments.into_iter().find_map(|field| item.get(field));
            let name = Value::from(kind);
            let called = content::call(item.get("name").or(Some(&name)), arguments);
            // An MCP call has its result with it.
            let lines = [called, content::text(item.get("output"))];
            (Role::Assistant, lines.join("\n").trim_end().to_owned())
        }
        Some(_) => return None,
    };
    Some(ArchiveMessage::new(role, text).wire(item.to_string()))
}

/// Archives calls of the Responses API: requests and responses of any types that are written as the
/// API's JSON, such as async-openai's, answered whole or as a stream of events.
///
/// A request that goes on from `previous_response_id` or from a `conversation` of the server's brings
/// only what is new, and all of it is archived; of others what is archived already is recognised.
///
/// ```
/// use cupel_archive::Archive;
/// use cupel_archive::record::{RecordLayer, Recorder, Responses};
/// use serde_json::Value;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), cupel_archive::ArchiveError> {
/// let tenant = Archive::open("sqlite::memory:").await?.namespace("acme")?;
/// let responses = Responses::new(move |request: &Value| {
///     tenant.conversation(request.get("user")?.as_str()?).ok()
/// });
/// let layer = RecordLayer::new(Recorder::new(), responses);
/// # let _ = layer;
/// # Ok(())
/// # }
/// ```
pub type Responses<F> = ApiTranscript<F, LastEvent>;

/// [`Responses`] for answers that are streamed; see [`Responses::streamed`].
pub type StreamedResponses<F> = StreamedApiTranscript<F, LastEvent>;

/// The turn of a Responses request, as [`Responses`] reads it.
pub fn responses_turn(conversation: ConversationHandle, request: &Value) -> RecordedTurn {
    let messages = responses_messages(request);
    let goes_on = |field: &str| request.get(field).is_some_and(|id| !id.is_null());
    if goes_on("previous_response_id") || goes_on("conversation") {
        RecordedTurn::following(conversation, messages)
    } else {
        RecordedTurn::new(conversation, messages)
    }
}

/// Waits for the event that ends an answer: it holds all of it.
#[derive(Debug, Default)]
pub struct LastEvent(Option<Vec<ArchiveMessage>>);

impl Api for LastEvent {
    fn turn(conversation: ConversationHandle, request: &Value) -> RecordedTurn {
        responses_turn(conversation, request)
    }

    fn whole(response: &Value) -> Option<Vec<ArchiveMessage>> {
        // What ran into a limit was said all the same.
        let said = matches!(response.get("status")?.as_str()?, "completed" | "incomplete");
        said.then(|| items(response.get("output")))
    }

    fn event(&mut self, event: &Value) {
        let kind = event.get("type").and_then(Value::as_str);
        if let Some("response.completed" | "response.incomplete") = kind {
            self.0 = event.get("response").and_then(Self::whole);
        }
    }

    fn held_bytes(&self) -> usize {
        self.0.iter().flatten().map(ArchiveMessage::held_bytes).sum()
    }

    fn ended(self) -> Option<Vec<ArchiveMessage>> {
        self.0
    }
}
