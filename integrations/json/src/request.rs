//! Requests that a layer can select for: the trait of all of them, and the bytes of a body. Only the
//! messages in them are ever edited.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use cupel::gather::BoxError;

use crate::draft::Edit;
use crate::object::{Object, elements, place};
use crate::read::{Endpoint, user_text};
use crate::template::ContextRole;
use crate::tools::kept_list;

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

/// Takes a request apart and puts it together. Public in name only: it cannot be named from outside.
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

    /// Leaves out all tools but these, given by ascending indexes. Messages are put back before.
    fn keep_tools(&mut self, kept: &[usize]) -> Result<(), BoxError>;

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
    /// Quotation of what sources gave.
    Context { role: ContextRole, text: String },
}

impl<M> Piece<M> {
    /// The JSON of it, as a message of this request.
    pub(crate) fn json<'a>(
        &'a self,
        request: &'a impl Parts<Message = M>,
    ) -> Result<Cow<'a, str>, BoxError> {
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

/// The JSON body of an HTTP request to one of the APIs.
///
/// Only its `messages` (or `input`) are edited, as slices of the text: fields this crate has never
/// heard of, the order of keys and the spaces between them stay as they are.
///
/// ```
/// use cupel_json::{Endpoint, JsonBody, Request};
///
/// let json = r#"{"model": "gpt-4o", "top_k": 7, "messages": [{"role": "user", "content": "Hi"}]}"#;
/// let body = JsonBody::parse(Endpoint::Chat, json).unwrap();
/// assert_eq!(body.question().as_deref(), Some("Hi"));
/// assert_eq!(body.json(), json);
/// ```
#[derive(Clone)]
pub struct JsonBody<T = ()> {
    parsed: Parsed,
    /// Companion of the body, such as its HTTP head.
    companion: T,
}

/// A body's text, and where in it things stand.
#[derive(Clone)]
struct Parsed {
    endpoint: Endpoint,
    json: Arc<str>,
    /// Range of the list of messages, or of the text that stands for one.
    input: Range<usize>,
    messages: Vec<Range<usize>>,
    model: Option<String>,
    /// The limit of the answer.
    output_tokens: Option<i64>,
}

impl Parsed {
    fn read(endpoint: Endpoint, json: Arc<str>) -> Option<Self> {
        let body = Object::parse(&json)?;
        let (field, limits) = match endpoint {
            Endpoint::Chat => ("messages", ["max_completion_tokens", "max_tokens"]),
            Endpoint::Responses => ("input", ["max_output_tokens", "max_output_tokens"]),
            Endpoint::Messages => ("messages", ["max_tokens", "max_tokens"]),
        };
        let input = body.raw(field)?;
        let messages = match endpoint {
            Endpoint::Responses if input.get().starts_with('"') => vec![input],
            _ => elements(input)?,
        };
        let messages =
            messages.into_iter().map(|item| place(&json, item)).collect::<Option<_>>()?;
        let input = place(&json, input)?;
        let model = body.text("model").map(Into::into);
        let output_tokens = limits.into_iter().find_map(|limit| body.integer(limit));
        Some(Self { endpoint, input, messages, model, output_tokens, json })
    }
}

impl<T> std::fmt::Debug for JsonBody<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The companion may hold an API key.
        f.debug_struct("JsonBody")
            .field("endpoint", &self.parsed.endpoint)
            .field("json", &self.parsed.json)
            .finish_non_exhaustive()
    }
}

impl JsonBody {
    /// Reads a body; none when it has no messages to select from, or is no JSON.
    #[must_use]
    pub fn parse(endpoint: Endpoint, json: impl Into<Arc<str>>) -> Option<Self> {
        Some(Self { parsed: Parsed::read(endpoint, json.into())?, companion: () })
    }
}

impl<T> JsonBody<T> {
    /// The API it is for.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.parsed.endpoint
    }

    /// The model it names.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.parsed.model.as_deref()
    }

    /// Sets the model where the address names it, as Azure's does. The text stays as it is.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.parsed.model = Some(model.into());
        self
    }

    /// The body as it is, or will be, sent.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.parsed.json
    }

    /// Number of messages.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.parsed.messages.len()
    }

    /// The JSON of each message; of a text that stands for one, the text.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.parsed.messages.iter().map(|range| self.slice(range))
    }

    /// The body as it will be sent, to be kept without a copy.
    #[must_use]
    pub fn into_json(self) -> Arc<str> {
        self.parsed.json
    }

    /// Adds what rides along with the body, for sources, budgets and whoever sends it: an HTTP request,
    /// say, or its headers.
    ///
    /// The selection leaves it alone, and it is not printed.
    ///
    /// ```
    /// use cupel_json::{Endpoint, JsonBody};
    ///
    /// let json = r#"{"model": "gpt-4o", "messages": []}"#;
    /// let body = JsonBody::parse(Endpoint::Chat, json).unwrap().with_companion("sk-1");
    /// assert_eq!(body.companion(), &"sk-1");
    /// assert!(!format!("{body:?}").contains("sk-1"));
    /// ```
    #[must_use]
    pub fn with_companion<U>(self, companion: U) -> JsonBody<U> {
        JsonBody { parsed: self.parsed, companion }
    }

    /// Companion of the body, such as its HTTP head.
    pub fn companion(&self) -> &T {
        &self.companion
    }

    /// The body with its first messages only: what an earlier call of the conversation sent.
    ///
    /// ```
    /// use cupel_json::{Endpoint, JsonBody};
    ///
    /// let json = r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
    /// let body = JsonBody::parse(Endpoint::Chat, json).unwrap();
    /// let first = r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#;
    /// assert_eq!(body.first_messages(1).unwrap().json(), first);
    /// ```
    #[must_use]
    pub fn first_messages(&self, count: usize) -> Option<Self>
    where
        T: Clone,
    {
        let messages: Vec<&str> = self.messages().take(count).collect();
        let mut first = self.clone();
        if count < self.message_count() {
            first.replace_messages(&messages).ok()?;
        }
        Some(first)
    }

    /// Puts these in the place of all messages; what rides along stays.
    pub(crate) fn replace_messages(&mut self, items: &[impl AsRef<str>]) -> Result<(), BoxError> {
        let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
        self.splice(self.parsed.input.clone(), &format!("[{}]", items.join(",")))
    }

    /// Puts other JSON in the place of a slice; what rides along stays.
    pub(crate) fn splice(&mut self, at: Range<usize>, new: &str) -> Result<(), BoxError> {
        let [before, after] = [0..at.start, at.end..self.json().len()];
        let json = format!("{}{new}{}", self.slice(&before), self.slice(&after));
        let edited = Parsed::read(self.endpoint(), json.into());
        self.parsed = edited.ok_or("the messages could not be put back")?;
        Ok(())
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.json().get(range.clone()).unwrap_or_default()
    }
}

impl<T: Send> Parts for JsonBody<T> {
    type Message = Range<usize>;

    fn endpoint(&self) -> Endpoint {
        self.endpoint()
    }

    fn model(&self) -> Option<&str> {
        self.model()
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        // Local servers take -1 for no limit.
        Ok(self.parsed.output_tokens.filter(|limit| *limit >= 0))
    }

    fn size(&self) -> usize {
        self.json().len()
    }

    fn whole(&self) -> Result<Cow<'_, str>, BoxError> {
        Ok(Cow::Borrowed(self.json()))
    }

    fn peek(&self) -> Cow<'_, [Range<usize>]> {
        Cow::Borrowed(&self.parsed.messages)
    }

    fn take(&mut self) -> Vec<Range<usize>> {
        self.parsed.messages.clone()
    }

    fn item(&self, message: &Range<usize>) -> Result<Cow<'_, str>, BoxError> {
        let slice = self.slice(message);
        // A text that stands for a message.
        let is_text = *message == self.parsed.input;
        Ok(if is_text {
            format!(r#"{{"role":"user","content":{slice}}}"#).into()
        } else {
            slice.into()
        })
    }

    fn keep_tools(&mut self, kept: &[usize]) -> Result<(), BoxError> {
        let (at, list) =
            kept_list(self.json(), kept).ok_or("a list of tools that cannot be cut")?;
        self.splice(at, &list)
    }

    fn put(&mut self, pieces: Vec<Piece<Range<usize>>>, changed: bool) -> Result<(), BoxError> {
        if !changed {
            return Ok(());
        }
        let items = pieces.iter().map(|piece| piece.json(self));
        let items = items.collect::<Result<Vec<_>, BoxError>>()?;
        let items: Vec<String> = items.into_iter().map(Cow::into_owned).collect();
        // A text that stands for a message stays a text for as long as it is alone.
        let text = match &items[..] {
            [only] if self.slice(&self.parsed.input).starts_with('"') => {
                Object::parse(only).and_then(|message| message.raw("content"))
            }
            _ => None,
        };
        match text.filter(|text| text.get().starts_with('"')) {
            Some(text) => self.splice(self.parsed.input.clone(), text.get()),
            None => self.replace_messages(&items),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of a body, and the JSON that is read of each.
    fn taken(body: &mut JsonBody) -> (Vec<Range<usize>>, Vec<String>) {
        let messages = body.take();
        let seen = messages.iter().map(|at| body.item(at).unwrap().into_owned()).collect();
        (messages, seen)
    }

    #[test]
    fn what_has_no_messages_is_no_body() {
        for json in ["", "[]", "{}", "{\"messages\":7}", "{\"messages\":null}", "{\"messages\":[}"]
        {
            assert!(JsonBody::parse(Endpoint::Chat, json).is_none(), "{json}");
        }
        assert!(JsonBody::parse(Endpoint::Chat, "{\"messages\":\"text\"}").is_none());
        assert!(JsonBody::parse(Endpoint::Responses, "{\"input\":\"text\"}").is_some());
    }

    #[test]
    fn a_companion_survives_an_edit_and_is_not_printed() {
        let body = JsonBody::parse(Endpoint::Chat, r#"{"messages":[7]}"#).unwrap();
        let mut body = body.with_companion("Bearer sk-1".to_owned());
        body.put(Vec::new(), true).unwrap();
        assert_eq!(body.json(), r#"{"messages":[]}"#);
        assert_eq!(body.companion(), "Bearer sk-1");
        let printed = format!("{body:?}");
        assert!(printed.contains("messages") && !printed.contains("sk-1"), "{printed}");
    }

    #[test]
    fn a_list_is_replaced_where_it_stands_and_nothing_else_is() {
        let json = r#"{ "x":[1 , 2], "messages" : [ {"a":1.0} , {"b" : "]"},7 ], "messages2":[] }"#;
        let mut body = JsonBody::parse(Endpoint::Chat, json).unwrap();
        let (messages, seen) = taken(&mut body);
        assert_eq!(seen, [r#"{"a":1.0}"#, r#"{"b" : "]"}"#, "7"]);
        let context = Piece::Context { role: ContextRole::User, text: "\"q\"\n".to_owned() };
        let mut pieces: Vec<_> = messages.into_iter().skip(1).map(Piece::Own).collect();
        pieces.insert(0, context);
        body.put(pieces, true).unwrap();
        let expected = r#"{ "x":[1 , 2], "messages" : [{"role":"user","content":"\"q\"\n"},{"b" : "]"},7], "messages2":[] }"#;
        assert_eq!(body.json(), expected);
    }

    #[test]
    fn of_two_lists_the_last_counts() {
        let json = r#"{"messages":[1],"messages":[2,3]}"#;
        let mut body = JsonBody::parse(Endpoint::Chat, json).unwrap();
        let messages = body.take();
        assert_eq!(messages.len(), 2);
        body.put(messages.into_iter().take(1).map(Piece::Own).collect(), true).unwrap();
        assert_eq!(body.json(), r#"{"messages":[1],"messages":[2]}"#);
    }

    #[test]
    fn a_text_becomes_a_list_only_when_something_stands_beside_it() {
        let json = r#"{"input":"q\u0041"}"#;
        let mut body = JsonBody::parse(Endpoint::Responses, json).unwrap();
        let (messages, seen) = taken(&mut body);
        assert_eq!(seen, [r#"{"role":"user","content":"q\u0041"}"#]);
        let text = messages[0].clone();
        body.put(vec![Piece::Own(text.clone())], false).unwrap();
        assert_eq!(body.json(), json);
        let edit = Edit { quotation: Some("before\n".to_owned()), ..Edit::default() };
        let mut quoted = body.clone();
        quoted.put(vec![Piece::Edited(text.clone(), edit)], true).unwrap();
        assert_eq!(quoted.json(), r#"{"input":"before\nq\u0041"}"#);
        let context = Piece::Context { role: ContextRole::Developer, text: "c".to_owned() };
        body.put(vec![context, Piece::Own(text)], true).unwrap();
        let expected =
            r#"{"input":[{"role":"developer","content":"c"},{"role":"user","content":"q\u0041"}]}"#;
        assert_eq!(body.json(), expected);
    }
}
