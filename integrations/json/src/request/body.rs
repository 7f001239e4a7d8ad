//! A request as the bytes that are sent: only the messages in it are ever edited.

use std::ops::Range;
use std::sync::Arc;

use cupel::gather::BoxError;
use serde_json::value::RawValue;

use super::{Parts, Piece};
use crate::read::{Endpoint, Object, elements};
use crate::template::ContextRole;

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
    endpoint: Endpoint,
    json: Arc<str>,
    /// Where the list of messages stands, or the text that stands for one.
    input: Range<usize>,
    messages: Vec<Message>,
    model: Option<String>,
    /// The limit of the answer, and the field that sets it.
    output_tokens: Option<(&'static str, i64)>,
    /// What rides along with the body.
    companion: T,
}

impl<T> std::fmt::Debug for JsonBody<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The companion may hold an API key.
        f.debug_struct("JsonBody")
            .field("endpoint", &self.endpoint)
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}

/// Where a message stands in the body.
#[derive(Debug, Clone)]
pub enum Message {
    /// In a list.
    Item(Range<usize>),
    /// A text instead of a list.
    Text(Range<usize>),
}

impl JsonBody {
    /// Reads a body; none when it has no messages to select from, or is no JSON.
    #[must_use]
    pub fn parse(endpoint: Endpoint, json: impl Into<Arc<str>>) -> Option<Self> {
        let json: Arc<str> = json.into();
        let body = Object::parse(&json)?;
        let (field, limits) = match endpoint {
            Endpoint::Chat => ("messages", ["max_completion_tokens", "max_tokens"]),
            Endpoint::Responses => ("input", ["max_output_tokens", "max_output_tokens"]),
            Endpoint::Messages => ("messages", ["max_tokens", "max_tokens"]),
        };
        let input = body.raw(field)?;
        let messages = if endpoint == Endpoint::Responses && input.get().starts_with('"') {
            vec![Message::Text(place(&json, input)?)]
        } else {
            let place = |item| place(&json, item).map(Message::Item);
            elements(input)?.into_iter().map(place).collect::<Option<_>>()?
        };
        let input = place(&json, input)?;
        let model = body.text("model").map(Into::into);
        let output_tokens =
            limits.into_iter().find_map(|limit| body.integer(limit).map(|set| (limit, set)));
        Some(Self { endpoint, input, messages, model, output_tokens, companion: (), json })
    }
}

impl<T> JsonBody<T> {
    /// The API it is for.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// The model it names.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The body as it is, or will be, sent.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// How many messages it has.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// The JSON of each message; of a text that stands for one, the text.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| match message {
            Message::Item(range) | Message::Text(range) => self.slice(range),
        })
    }

    /// The body as it will be sent, to be kept without a copy.
    #[must_use]
    pub fn into_json(self) -> Arc<str> {
        self.json
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
        let Self { endpoint, json, input, messages, model, output_tokens, .. } = self;
        JsonBody { endpoint, json, input, messages, model, output_tokens, companion }
    }

    /// What rides along with the body.
    pub fn companion(&self) -> &T {
        &self.companion
    }

    /// Takes out what rides along with the body.
    pub fn into_companion(self) -> T {
        self.companion
    }

    /// Tokens the caller has set aside for the answer.
    pub(crate) fn output_limit(&self) -> Result<Option<i64>, BoxError> {
        match self.output_tokens {
            Some((field, limit)) if limit < 0 => {
                Err(format!("{field} is {limit}; it must not be negative").into())
            }
            limit => Ok(limit.map(|(_, limit)| limit)),
        }
    }

    /// The JSON of each message.
    pub(crate) fn message_texts(&self) -> Vec<&str> {
        let range = |message: &Message| match message {
            Message::Item(range) | Message::Text(range) => range.clone(),
        };
        self.messages.iter().map(|message| self.slice(&range(message))).collect()
    }

    /// Puts these in the place of all messages; what rides along stays.
    pub(crate) fn replace_messages(&mut self, items: &str) -> Result<(), BoxError> {
        let before = self.json.get(..self.input.start).unwrap_or_default();
        let after = self.json.get(self.input.end..).unwrap_or_default();
        self.replace_json(format!("{before}[{items}]{after}"))
    }

    /// Puts another text in the place of all of it; what rides along stays.
    pub(crate) fn replace_json(&mut self, json: String) -> Result<(), BoxError> {
        let edited = JsonBody::parse(self.endpoint, json);
        let JsonBody { json, input, messages, model, output_tokens, .. } =
            edited.ok_or("the messages could not be put back")?;
        self.json = json;
        self.input = input;
        self.messages = messages;
        self.model = model;
        self.output_tokens = output_tokens;
        Ok(())
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.json.get(range.clone()).unwrap_or_default()
    }

    /// A message as an item of a list.
    fn item(&self, message: &Message) -> String {
        match message {
            Message::Item(range) => self.slice(range).to_owned(),
            Message::Text(range) => {
                format!(r#"{{"role":"user","content":{}}}"#, self.slice(range))
            }
        }
    }

    /// Calls `read` with a message's JSON, copied only where there is none yet.
    fn read<U>(&self, message: &Message, read: impl FnOnce(&str) -> U) -> U {
        match message {
            Message::Item(range) => read(self.slice(range)),
            Message::Text(_) => read(&self.item(message)),
        }
    }
}

/// Where a value that was borrowed from `json` stands in it.
pub(crate) fn place(json: &str, value: &RawValue) -> Option<Range<usize>> {
    let start = (value.get().as_ptr() as usize).checked_sub(json.as_ptr() as usize)?;
    let end = start.checked_add(value.get().len())?;
    (json.get(start..end)? == value.get()).then_some(start..end)
}

impl<T: Send> Parts for JsonBody<T> {
    type Message = Message;

    fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        self.output_limit()
    }

    fn size(&self) -> usize {
        self.json.len()
    }

    fn take<U>(&mut self, read: impl FnOnce(&[&str]) -> U) -> Result<(Vec<Message>, U), BoxError> {
        let messages = std::mem::take(&mut self.messages);
        let read = match messages.as_slice() {
            [text @ Message::Text(_)] => self.read(text, |json| read(&[json])),
            messages => {
                let slice = |message: &Message| match message {
                    Message::Item(range) | Message::Text(range) => range.clone(),
                };
                let json: Vec<Range<usize>> = messages.iter().map(slice).collect();
                let json: Vec<&str> = json.iter().map(|range| self.slice(range)).collect();
                read(&json)
            }
        };
        Ok((messages, read))
    }

    fn head<U>(&self, read: impl FnOnce(&Object<'_>) -> U) -> Result<U, BoxError> {
        Ok(read(&Object::parse(&self.json).unwrap_or_default()))
    }

    fn put(&mut self, pieces: Vec<Piece<Message>>, changed: bool) -> Result<(), BoxError> {
        if !changed {
            let own = |piece| match piece {
                Piece::Own(message) => Some(message),
                Piece::Edited(..) | Piece::Context { .. } => None,
            };
            self.messages = pieces.into_iter().filter_map(own).collect();
            return Ok(());
        }
        let items = pieces.iter().map(|piece| match piece {
            Piece::Own(message) => Ok(self.item(message)),
            Piece::Edited(message, edit) => edit.apply(self.endpoint, &self.item(message)),
            Piece::Context { role, text } => context(*role, text),
        });
        let items = items.collect::<Result<Vec<String>, BoxError>>()?.join(",");
        self.replace_messages(&items)
    }

    fn look_back<U>(&self, read: impl Fn(&str) -> Option<U>) -> Option<U> {
        self.messages.iter().rev().find_map(|message| self.read(message, &read))
    }
}

/// A message of either API.
fn context(role: ContextRole, text: &str) -> Result<String, BoxError> {
    let text = serde_json::to_string(text)?;
    Ok(format!(r#"{{"role":"{role}","content":{text}}}"#))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (messages, seen) =
            body.take(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
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
        let (messages, count) = body.take(|all| all.len()).unwrap();
        assert_eq!(count, 2);
        body.put(messages.into_iter().take(1).map(Piece::Own).collect(), true).unwrap();
        assert_eq!(body.json(), r#"{"messages":[1],"messages":[2]}"#);
    }

    #[test]
    fn a_text_becomes_a_list_only_when_something_stands_beside_it() {
        let json = r#"{"input":"q\u0041"}"#;
        let mut body = JsonBody::parse(Endpoint::Responses, json).unwrap();
        let (messages, seen) = body.take(|all| all.join("")).unwrap();
        assert_eq!(seen, r#"{"role":"user","content":"q\u0041"}"#);
        let text = messages[0].clone();
        body.put(vec![Piece::Own(text.clone())], false).unwrap();
        assert_eq!(body.json(), json);
        let context = Piece::Context { role: ContextRole::Developer, text: "c".to_owned() };
        body.put(vec![context, Piece::Own(text)], true).unwrap();
        let expected =
            r#"{"input":[{"role":"developer","content":"c"},{"role":"user","content":"q\u0041"}]}"#;
        assert_eq!(body.json(), expected);
    }
}
