//! Transcripts of OpenAI's Responses API, in whatever types they are written.

use std::fmt;
use std::pin::Pin;

use cupel::conversation::Role;
use futures::stream::Stream;
use serde::Serialize;
use serde_json::Value;

use super::content;
use super::stream::{Listener, RecordedStream};
use super::transcript::{OpenTurn, Transcript, Turn};
use crate::conversation::Conversation;
use crate::message::Message;

/// The items of a Responses request, but its instructions, the model's thoughts, and references to
/// what the server holds. Each keeps its JSON as [`Message::wire`].
#[must_use]
pub fn responses_messages(request: &Value) -> Vec<Message> {
    match request.get("input") {
        Some(Value::String(text)) => vec![Message::user(text.as_str())],
        input => items(input),
    }
}

fn items(list: Option<&Value>) -> Vec<Message> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(item).collect()
}

/// One item; none for what nobody said.
fn item(item: &Value) -> Option<Message> {
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
    Some(Message::new(role, text).wire(item.to_string()))
}

/// The messages of an answer; none for one that is not whole, or failed.
pub(super) fn answer(response: &Value) -> Option<Vec<Message>> {
    // What ran into a limit was said all the same.
    let said = matches!(response.get("status")?.as_str()?, "completed" | "incomplete");
    said.then(|| items(response.get("output")))
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
pub struct Responses<F> {
    conversation_of: F,
}

impl<F> Responses<F> {
    /// Archives each call in the conversation that a function names; none where it names none.
    pub fn new<Req>(conversation_of: F) -> Self
    where
        F: Fn(&Req) -> Option<Conversation> + Send + Sync,
    {
        Self { conversation_of }
    }

    /// Archives calls that are answered by a boxed stream of events.
    pub fn streamed(self) -> StreamedResponses<F> {
        StreamedResponses(self)
    }

    fn turn_of<Req: Serialize>(&self, request: &Req) -> Option<Turn>
    where
        F: Fn(&Req) -> Option<Conversation>,
    {
        let conversation = (self.conversation_of)(request)?;
        let request = serde_json::to_value(request).ok()?;
        Some(responses_turn(conversation, &request))
    }
}

/// The turn of a Responses request, as [`Responses`] reads it.
pub fn responses_turn(conversation: Conversation, request: &Value) -> Turn {
    let messages = responses_messages(request);
    let goes_on = |field: &str| request.get(field).is_some_and(|id| !id.is_null());
    if goes_on("previous_response_id") || goes_on("conversation") {
        Turn::following(conversation, messages)
    } else {
        Turn::new(conversation, messages)
    }
}

impl<F> fmt::Debug for Responses<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responses")
    }
}

impl<F, Req, Res> Transcript<Req, Res> for Responses<F>
where
    F: Fn(&Req) -> Option<Conversation> + Send + Sync,
    Req: Serialize,
    Res: Serialize,
{
    fn turn(&self, request: &Req) -> Option<Turn> {
        self.turn_of(request)
    }

    fn record(&self, response: Res, turn: OpenTurn) -> Res {
        let written = serde_json::to_value(&response).ok();
        if let Some(answer) = written.as_ref().and_then(answer) {
            turn.answered(answer);
        }
        response
    }
}

/// The same for answers that are streamed; see [`Responses::streamed`].
pub struct StreamedResponses<F>(Responses<F>);

impl<F> fmt::Debug for StreamedResponses<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamedResponses")
    }
}

/// A boxed stream of events, as clients give it.
type Events<T, E> = Pin<Box<dyn Stream<Item = Result<T, E>> + Send>>;

impl<F, Req, T, E> Transcript<Req, Events<T, E>> for StreamedResponses<F>
where
    F: Fn(&Req) -> Option<Conversation> + Send + Sync,
    Req: Serialize,
    T: Serialize + 'static,
    E: 'static,
{
    fn turn(&self, request: &Req) -> Option<Turn> {
        self.0.turn_of(request)
    }

    fn record(&self, response: Events<T, E>, turn: OpenTurn) -> Events<T, E> {
        Box::pin(RecordedStream::new(response, turn, LastEvent::default()))
    }
}

/// Waits for the event that ends an answer: it holds all of it.
#[derive(Debug, Default)]
pub(super) struct LastEvent(Option<Vec<Message>>);

impl<T: Serialize> Listener<T> for LastEvent {
    fn heard(&mut self, event: &T) {
        let Ok(event) = serde_json::to_value(event) else { return };
        let kind = event.get("type").and_then(Value::as_str);
        if let Some("response.completed" | "response.incomplete") = kind {
            self.0 = event.get("response").and_then(answer);
        }
    }

    fn answer(self) -> Option<Vec<Message>> {
        self.0
    }
}
