//! Typed requests of OpenAI's two APIs, read through the JSON that is sent.

use std::borrow::Cow;

use async_openai::types::chat::{ChatCompletionRequestMessage, CreateChatCompletionRequest};
use async_openai::types::responses::{
    CreateResponse, EasyInputContent, EasyInputMessage, InputItem, InputParam,
};
use cupel::gather::BoxError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::read::Endpoint;
use crate::request::{Parts, Piece};

/// Requests are measured up to this many bytes: more take long to read in any case.
const MOST_MEASURED: usize = 1 << 20;

/// Bytes of a typed request as JSON, as far as they are measured.
fn size(request: &impl Serialize) -> usize {
    struct Measure(usize);

    impl std::io::Write for Measure {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            let goes_on = self.0 <= MOST_MEASURED;
            goes_on.then_some(bytes.len()).ok_or_else(|| std::io::ErrorKind::WriteZero.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut measure = Measure(0);
    // It fails only to stop.
    let _ = serde_json::to_writer(&mut measure, request);
    measure.0
}

/// Serializes a typed value to look at it.
fn to_json<'a>(value: &impl Serialize) -> Result<Cow<'a, str>, BoxError> {
    let json = serde_json::to_string(value);
    json.map(Cow::Owned).map_err(|error| format!("not serializable: {error}").into())
}

/// Typed messages of what is to be sent. The caller's own move.
fn messages<R: Parts<Message = M>, M: DeserializeOwned>(
    request: &R,
    pieces: Vec<Piece<M>>,
) -> Result<Vec<M>, BoxError> {
    let message = |piece| match piece {
        Piece::Own(message) => Ok(message),
        piece => serde_json::from_str(&piece.json(request)?)
            .map_err(|error| format!("a changed message: {error}").into()),
    };
    pieces.into_iter().map(message).collect()
}

impl Parts for CreateChatCompletionRequest {
    type Message = ChatCompletionRequestMessage;

    fn endpoint(&self) -> Endpoint {
        Endpoint::Chat
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        // The older name still works.
        #[expect(deprecated)]
        let limit = self.max_completion_tokens.or(self.max_tokens);
        Ok(limit.map(i64::from))
    }

    fn size(&self) -> usize {
        size(self)
    }

    fn whole(&self) -> Result<Cow<'_, str>, BoxError> {
        to_json(self)
    }

    fn peek(&self) -> Cow<'_, [Self::Message]> {
        Cow::Borrowed(&self.messages)
    }

    fn take(&mut self) -> Vec<Self::Message> {
        std::mem::take(&mut self.messages)
    }

    fn item<'a>(&'a self, message: &'a Self::Message) -> Result<Cow<'a, str>, BoxError> {
        to_json(message)
    }

    fn keep_tools(&mut self, kept: &[usize]) -> Result<(), BoxError> {
        keep_only(&mut self.tools, kept);
        Ok(())
    }

    fn put(&mut self, pieces: Vec<Piece<Self::Message>>, _changed: bool) -> Result<(), BoxError> {
        self.messages = messages(self, pieces)?;
        Ok(())
    }
}

impl Parts for CreateResponse {
    type Message = InputItem;

    fn endpoint(&self) -> Endpoint {
        Endpoint::Responses
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        Ok(self.max_output_tokens.map(i64::from))
    }

    fn size(&self) -> usize {
        size(self)
    }

    fn whole(&self) -> Result<Cow<'_, str>, BoxError> {
        to_json(self)
    }

    fn peek(&self) -> Cow<'_, [InputItem]> {
        match &self.input {
            InputParam::Text(text) => Cow::Owned(vec![user(text.clone())]),
            InputParam::Items(items) => Cow::Borrowed(items),
        }
    }

    /// A text stays behind: it is sent as it is unless something changes.
    fn take(&mut self) -> Vec<InputItem> {
        match &mut self.input {
            InputParam::Text(text) => vec![user(text.clone())],
            InputParam::Items(items) => std::mem::take(items),
        }
    }

    fn item<'a>(&'a self, message: &'a InputItem) -> Result<Cow<'a, str>, BoxError> {
        to_json(message)
    }

    fn keep_tools(&mut self, kept: &[usize]) -> Result<(), BoxError> {
        keep_only(&mut self.tools, kept);
        Ok(())
    }

    fn put(&mut self, pieces: Vec<Piece<InputItem>>, changed: bool) -> Result<(), BoxError> {
        let was_text = matches!(self.input, InputParam::Text(_));
        if was_text && !changed {
            return Ok(());
        }
        let mut items = messages(self, pieces)?;
        self.input = match &mut items[..] {
            [
                InputItem::EasyMessage(EasyInputMessage {
                    content: EasyInputContent::Text(text),
                    ..
                }),
            ] if was_text => InputParam::Text(std::mem::take(text)),
            _ => InputParam::Items(items),
        };
        Ok(())
    }
}

/// Keeps the elements with these ascending indexes.
fn keep_only<T>(list: &mut Option<Vec<T>>, kept: &[usize]) {
    let mut index = 0..;
    let mut is_kept = |_: &T| index.next().is_some_and(|at| kept.binary_search(&at).is_ok());
    list.iter_mut().for_each(|list| list.retain(&mut is_kept));
}

/// A user's message with this text.
fn user(text: String) -> InputItem {
    let content = EasyInputContent::Text(text);
    InputItem::EasyMessage(EasyInputMessage { content, ..EasyInputMessage::default() })
}

/// Asks for the answer as a stream.
///
/// A Tower service has one response type for each request type, so a streamed call is another
/// request than a whole one.
///
/// ```
/// use async_openai::types::responses::CreateResponse;
/// use cupel_json::Streaming;
///
/// let request = Streaming(CreateResponse::default());
/// # let _ = request;
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Streaming<R>(pub R);

impl<R: Parts> Parts for Streaming<R> {
    type Message = R::Message;

    fn endpoint(&self) -> Endpoint {
        self.0.endpoint()
    }

    fn model(&self) -> Option<&str> {
        self.0.model()
    }

    fn output_tokens(&self) -> Result<Option<i64>, BoxError> {
        self.0.output_tokens()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn whole(&self) -> Result<Cow<'_, str>, BoxError> {
        self.0.whole()
    }

    fn peek(&self) -> Cow<'_, [R::Message]> {
        self.0.peek()
    }

    fn take(&mut self) -> Vec<R::Message> {
        self.0.take()
    }

    fn item<'a>(&'a self, message: &'a R::Message) -> Result<Cow<'a, str>, BoxError> {
        self.0.item(message)
    }

    fn keep_tools(&mut self, kept: &[usize]) -> Result<(), BoxError> {
        self.0.keep_tools(kept)
    }

    fn put(&mut self, pieces: Vec<Piece<R::Message>>, changed: bool) -> Result<(), BoxError> {
        self.0.put(pieces, changed)
    }
}

#[cfg(test)]
mod tests {
    use crate::{JsonWindow, Models, Streaming};
    use async_openai::types::chat::CreateChatCompletionRequest;
    use cupel::layer::BudgetProvider;

    fn chat(output: Option<u32>) -> CreateChatCompletionRequest {
        CreateChatCompletionRequest {
            model: "gpt-4".into(),
            max_completion_tokens: output,
            ..Default::default()
        }
    }

    #[test]
    fn the_older_limit_counts_unless_the_newer_is_set() {
        #[expect(deprecated)]
        let older = |request| CreateChatCompletionRequest { max_tokens: Some(92), ..request };
        let window = JsonWindow::new(Models::new());
        let target = |request| window.budget(&request).unwrap().target_tokens();
        assert_eq!(target(older(chat(None))), 8_100);
        assert_eq!(target(older(chat(Some(192)))), 8_000);
        let streaming = window.budget(&Streaming(chat(Some(192)))).unwrap();
        assert_eq!(streaming.target_tokens(), 8_000);
    }
}
