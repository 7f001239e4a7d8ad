//! The requests a layer can select for: raw bodies, and typed ones, unary and streaming.

mod body;
mod draft;
#[cfg(feature = "async-openai")]
mod typed;

pub use body::JsonBody;
pub(crate) use body::place;
pub(crate) use draft::{Draft, Edit};
#[cfg(feature = "async-openai")]
pub use typed::Streaming;

use std::borrow::Cow;

use cupel::gather::BoxError;

use crate::read::{Endpoint, user_text};
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
        self.peek().iter().rev().find_map(|message| user_text(&self.item(message).ok()?))
    }
}

impl<R: Parts> Request for R {}

/// How a request comes apart. Public in name only: it cannot be named from outside.
pub trait Parts: Sized + Send {
    /// A message as it waits for the selection.
    type Message: Clone + Send + 'static;

    fn endpoint(&self) -> Endpoint;

    fn model(&self) -> Option<&str>;

    /// Tokens the caller has set aside for the answer.
    fn output_tokens(&self) -> Result<Option<i64>, BoxError>;

    /// Bytes of the request as JSON; a typed one is measured up to a mebibyte.
    fn size(&self) -> usize;

    /// The request as JSON, with the messages that were not taken.
    fn whole(&self) -> Result<Cow<'_, str>, BoxError>;

    /// The messages, as they are taken.
    fn peek(&self) -> Cow<'_, [Self::Message]>;

    /// Takes the messages out.
    fn take(&mut self) -> Vec<Self::Message>;

    /// The JSON of a message.
    fn item<'a>(&'a self, message: &'a Self::Message) -> Result<Cow<'a, str>, BoxError>;

    /// Puts messages back. They are all the caller's, untouched, unless `changed`.
    fn put(&mut self, pieces: Vec<Piece<Self::Message>>, changed: bool) -> Result<(), BoxError>;
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

impl<M> Piece<M> {
    /// The JSON of it, as a message of this request.
    fn json<'a>(&'a self, request: &'a impl Parts<Message = M>) -> Result<Cow<'a, str>, BoxError> {
        Ok(match self {
            Self::Own(message) => request.item(message)?,
            Self::Edited(message, edit) => {
                edit.apply(request.endpoint(), &request.item(message)?)?.into()
            }
            Self::Context { role, text } => {
                let text = serde_json::to_string(text)?;
                format!(r#"{{"role":"{role}","content":{text}}}"#).into()
            }
        })
    }
}
