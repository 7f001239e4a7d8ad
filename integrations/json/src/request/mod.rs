//! The requests a layer can select for: raw bodies, and typed ones, unary and streaming.

mod body;
#[cfg(feature = "async-openai")]
mod chat;
mod edit;
#[cfg(feature = "async-openai")]
mod responses;
#[cfg(feature = "async-openai")]
mod streaming;
#[cfg(feature = "async-openai")]
mod typed;

pub use body::JsonBody;
pub(crate) use body::place;
#[cfg(feature = "async-openai")]
pub use streaming::Streaming;

pub(crate) use edit::Edit;

use cupel::gather::BoxError;

use crate::read::{Endpoint, Object, user_text};
use crate::template::ContextRole;

/// A request of Chat Completions, of the Responses API or of Anthropic's Messages.
///
/// It is implemented by [`JsonBody`]; with the feature `async-openai` by
/// `CreateChatCompletionRequest`, `CreateResponse`, and both in `Streaming`; and by nothing else.
pub trait Request: Parts {
    /// The text of the last user message: what a source of candidates may search for.
    ///
    /// ```
    /// use cupel_json::{Endpoint, JsonBody, Request};
    ///
    /// let json = r#"{"model": "gpt-4o", "input": "Where is the key?"}"#;
    /// let request = JsonBody::parse(Endpoint::Responses, json).unwrap();
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
    type Message: Send + 'static;

    fn endpoint(&self) -> Endpoint;

    fn model(&self) -> Option<&str>;

    /// Tokens the caller has set aside for the answer.
    fn output_tokens(&self) -> Result<Option<i64>, BoxError>;

    /// Bytes of the request as JSON; a typed one is measured up to a mebibyte.
    fn size(&self) -> usize;

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
    /// One of the caller's that a plan changes.
    Edited(M, Edit),
    /// What sources gave.
    Context { role: ContextRole, text: String },
}
