//! The requests a layer can select for: typed ones, unary and streaming, and raw bodies.

mod body;
mod chat;
mod responses;
mod streaming;

pub use body::JsonBody;
pub use streaming::Streaming;

use cupel::gather::BoxError;

use crate::read::{Endpoint, Object, user_text};
use crate::template::ContextRole;

/// A request of Chat Completions or of the Responses API.
///
/// It is implemented by `CreateChatCompletionRequest`, `CreateResponse`, both in [`Streaming`],
/// and [`JsonBody`]; and by nothing else.
pub trait Request: Parts {
    /// The text of the last user message: what a source of candidates may search for.
    ///
    /// ```
    /// use async_openai::types::responses::CreateResponse;
    /// use cupel_async_openai::Request;
    ///
    /// let request = CreateResponse { input: "Where is the key?".into(), ..Default::default() };
    /// assert_eq!(request.question().as_deref(), Some("Where is the key?"));
    /// ```
    fn question(&self) -> Option<String> {
        self.look_back(user_text)
    }
}

impl<R: Parts> Request for R {}

/// How a request comes apart. Public in name only: it cannot be named from outside.
pub trait Parts: Sized + Send {
    /// A message as it waits for the selection.
    type Message: Send;

    fn endpoint(&self) -> Endpoint;

    fn model(&self) -> Option<&str>;

    /// Tokens the caller has set aside for the answer.
    fn output_tokens(&self) -> Result<Option<i64>, BoxError>;

    /// Takes the messages out; `read` sees their JSON.
    fn take<T>(
        &mut self,
        read: impl FnOnce(&[&str]) -> T,
    ) -> Result<(Vec<Self::Message>, T), BoxError>;

    /// Looks at the fields besides the messages.
    fn head<T>(&self, read: impl FnOnce(&Object<'_>) -> T) -> Result<T, BoxError>;

    /// Puts messages back. They are all the caller's, untouched, unless `changed`.
    fn put(&mut self, pieces: Vec<Piece<Self::Message>>, changed: bool) -> Result<(), BoxError>;

    /// The first answer to `read` from the last message back.
    fn look_back<T>(&self, read: impl Fn(&str) -> Option<T>) -> Option<T>;
}

/// A message to be sent.
#[derive(Debug)]
pub enum Piece<M> {
    /// One of the caller's.
    Own(M),
    /// What sources gave.
    Context { role: ContextRole, text: String },
}

/// Serializes a typed value to look at it.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, BoxError> {
    serde_json::to_string(value).map_err(|error| format!("not serializable: {error}").into())
}

/// Serializes typed messages for `read`.
fn read_all<T>(
    messages: &[impl serde::Serialize],
    read: impl FnOnce(&[&str]) -> T,
) -> Result<T, BoxError> {
    let json = messages.iter().map(to_json).collect::<Result<Vec<_>, _>>()?;
    let json: Vec<&str> = json.iter().map(String::as_str).collect();
    Ok(read(&json))
}

/// Looks at the fields of a typed request from which the messages were taken.
fn read_head<T>(
    request: &impl serde::Serialize,
    read: impl FnOnce(&Object<'_>) -> T,
) -> Result<T, BoxError> {
    let json = to_json(request)?;
    Ok(read(&Object::parse(&json).unwrap_or_default()))
}
