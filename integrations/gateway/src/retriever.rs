//! Retrievers over HTTP: they get the question, under a deadline, and their answers are not trusted.

use std::time::Duration;

use bytes::BytesMut;
use cupel::gather::{BoxError, CandidateStream, Source};
use cupel::tokens::{HeuristicCounter, TokenCounter};
use cupel::{ContextItem, ContextKind, ContextSource};
use cupel_json::Request as _;
use futures::stream::{self, TryStreamExt};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::json;

use crate::config::Retriever;
use crate::credentials::CallerBody;
use crate::proxy::UpstreamClient;

const TOO_LARGE: &str = "the retriever's answer is larger than its limit";

/// Timeout of a silent retriever. Its deadline, which the layer keeps, is usually earlier.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Makes the layer's source for a retriever.
pub(crate) fn source(retriever: &Retriever, client: &UpstreamClient) -> Source<CallerBody> {
    let (asked, client) = (retriever.clone(), client.clone());
    let candidates = move |body: &CallerBody| -> CandidateStream {
        let Some(question) = body.question().filter(|question| !question.is_empty()) else {
            return Box::pin(stream::empty());
        };
        let answer = ask(asked.clone(), client.clone(), question);
        Box::pin(stream::once(answer).try_flatten())
    };
    let source = Source::new(retriever.name.as_str(), candidates)
        .deadline(retriever.deadline)
        .limit(retriever.items);
    if retriever.required { source.required() } else { source }
}

/// Sends the question, without any of the client's headers.
async fn ask(
    retriever: Retriever,
    client: UpstreamClient,
    question: String,
) -> Result<CandidateStream, BoxError> {
    let query = json!({"query": question, "limit": retriever.items});
    let mut request = Request::post(&retriever.url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/x-ndjson, application/json");
    if let Some(key) = &retriever.key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let answer = client.ask(request.body(query.to_string().into())?, TIMEOUT).await?;
    if !answer.status().is_success() {
        return Err(format!("the retriever answered {}", answer.status()).into());
    }
    Ok(read(answer, retriever.items, retriever.bytes))
}

/// Reads items as their lines arrive.
fn read(answer: Response<Incoming>, most: usize, bytes: usize) -> CandidateStream {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let lines = kind.is_some_and(|kind| kind.contains("ndjson") || kind.contains("jsonl"));
    let items = ItemReader::new(lines, most);
    let state = (answer.into_body(), items, BytesMut::new(), bytes);
    let pieces =
        stream::try_unfold(state, |(mut body, mut items, mut held, mut left)| async move {
            while !items.is_over && items.left > 0 {
                let piece = match body.frame().await.transpose()? {
                    None => items.end(&held)?,
                    Some(frame) => {
                        let data = frame.into_data().unwrap_or_default();
                        left = left.checked_sub(data.len()).ok_or(TOO_LARGE)?;
                        held.extend_from_slice(&data);
                        items.take(&mut held)?
                    }
                };
                if !piece.is_empty() {
                    let piece = stream::iter(piece.into_iter().map(Ok));
                    return Ok::<_, BoxError>(Some((piece, (body, items, held, left))));
                }
            }
            Ok(None)
        });
    Box::pin(pieces.try_flatten())
}

/// One item of an answer.
#[derive(Debug, Deserialize)]
struct RetrievedItem {
    #[serde(alias = "content")]
    text: String,
    /// Relevance from 0 to 1.
    score: Option<f64>,
}

/// A whole answer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RetrievedItems {
    List(Vec<RetrievedItem>),
    Table { items: Vec<RetrievedItem> },
}

/// Reads the answer of a retriever: a list, a table with a list, or one item a line.
#[derive(Debug)]
struct ItemReader {
    lines: bool,
    /// Number of items that may still be taken.
    left: usize,
    is_over: bool,
}

impl ItemReader {
    fn new(lines: bool, most: usize) -> Self {
        Self { lines, left: most, is_over: false }
    }

    /// Takes the items of whole lines out of the buffer.
    fn take(&mut self, held: &mut BytesMut) -> Result<Vec<ContextItem>, BoxError> {
        let mut items = Vec::new();
        while let (true, Some(end)) = (self.lines, held.iter().position(|byte| *byte == b'\n')) {
            items.extend(self.line(&held.split_to(end + 1))?);
        }
        Ok(items)
    }

    /// Reads the rest when the answer ends.
    fn end(&mut self, held: &[u8]) -> Result<Vec<ContextItem>, BoxError> {
        self.is_over = true;
        if self.lines {
            return Ok(self.line(held)?.into_iter().collect());
        }
        let whole = serde_json::from_slice(held)
            .map_err(|_| "expected a list of {text, score}, or {items: […]}")?;
        let (RetrievedItems::List(list) | RetrievedItems::Table { items: list }) = whole;
        let texts = list.into_iter().filter(|item| !item.text.is_empty());
        texts.take(self.left).map(context_item).collect()
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<ContextItem>, BoxError> {
        if line.trim_ascii().is_empty() || self.left == 0 {
            return Ok(None);
        }
        let item: RetrievedItem =
            serde_json::from_slice(line).map_err(|_| "expected {text, score} on every line")?;
        // An empty text is no item, and no error.
        if item.text.is_empty() {
            return Ok(None);
        }
        self.left -= 1;
        context_item(item).map(Some)
    }
}

/// Makes an item of the core. The adapter counts its tokens again when it writes the item.
fn context_item(read: RetrievedItem) -> Result<ContextItem, BoxError> {
    let tokens = HeuristicCounter.count(&read.text);
    let mut item = ContextItem::builder(read.text, tokens)
        .kind(ContextKind::document())
        .source(ContextSource::rag());
    if let Some(score) = read.score.filter(|score| score.is_finite()) {
        item = item.future_relevance_hint(score.clamp(0.0, 1.0));
    }
    Ok(item.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[ContextItem]) -> Vec<&str> {
        items.iter().map(ContextItem::content).collect()
    }

    #[test]
    fn lists_tables_and_lines_are_read() {
        for whole in [
            r#"[{"text":"a","score":0.5},{"content":"b"}]"#,
            r#"{"items":[{"text":"a"},{"text":"b"}]}"#,
        ] {
            let items = ItemReader::new(false, 10).end(whole.as_bytes()).unwrap();
            assert_eq!(texts(&items), ["a", "b"]);
        }
        let mut lines = ItemReader::new(true, 3);
        let mut held =
            BytesMut::from(&b"{\"text\":\"a\"}\n\n{\"text\":\"b\",\"score\":7}\n{\"te"[..]);
        let items = lines.take(&mut held).unwrap();
        assert_eq!(texts(&items), ["a", "b"]);
        assert_eq!(items[1].future_relevance_hint(), Some(1.0));
        held.extend_from_slice(b"xt\":\"c\"}\n{\"text\":\"d\"}");
        assert_eq!(texts(&lines.take(&mut held).unwrap()), ["c"]);
        assert!(lines.end(&held).unwrap().is_empty());
    }

    #[test]
    fn an_empty_text_does_not_take_the_others_with_it() {
        let whole = br#"[{"text":""},{"text":"a"},{"text":""},{"text":"b"}]"#;
        assert_eq!(texts(&ItemReader::new(false, 2).end(whole).unwrap()), ["a", "b"]);
        let mut held = BytesMut::from(&b"{\"text\":\"\"}\n{\"text\":\"a\"}\n"[..]);
        assert_eq!(texts(&ItemReader::new(true, 1).take(&mut held).unwrap()), ["a"]);
    }

    #[test]
    fn anything_else_is_an_error() {
        assert!(ItemReader::new(false, 10).end(b"{}").is_err());
        assert!(ItemReader::new(true, 10).end(b"[1]").is_err());
    }
}
