//! A retriever over HTTP: asked with the question, under a deadline, and not trusted.

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
use crate::proxy::Client;
use crate::secret::Secret;
use crate::tenant::CallerBody;

/// The layer's source for a retriever.
pub(crate) fn source(retriever: &Retriever, client: &Client) -> Source<CallerBody> {
    let asking = Asking {
        client: client.clone(),
        url: retriever.url.clone(),
        key: retriever.key.clone(),
        items: retriever.items,
        bytes: retriever.bytes,
    };
    let source =
        Source::new(retriever.name.as_str(), move |body: &CallerBody| asking.candidates(body))
            .deadline(retriever.deadline)
            .limit(retriever.items);
    if retriever.required { source.required() } else { source }
}

#[derive(Clone)]
struct Asking {
    client: Client,
    url: String,
    key: Option<Secret>,
    items: usize,
    bytes: usize,
}

const TOO_LARGE: &str = "the retriever's answer is larger than its limit";

/// A silent retriever; its deadline is the layer's business.
const LONGEST: Duration = Duration::from_secs(60);

impl Asking {
    fn candidates(&self, body: &CallerBody) -> CandidateStream {
        let Some(question) = body.question().filter(|question| !question.is_empty()) else {
            return Box::pin(stream::empty());
        };
        let asking = self.clone();
        Box::pin(stream::once(asking.ask(question)).try_flatten())
    }

    /// Sends the question; nothing of the client's headers goes with it.
    async fn ask(self, question: String) -> Result<CandidateStream, BoxError> {
        let query = json!({"query": question, "limit": self.items});
        let mut request = Request::post(&self.url).body(query.to_string().into())?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = HeaderValue::from_static("application/x-ndjson, application/json");
        headers.insert(ACCEPT, accept);
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let answer = self.client.ask(request, LONGEST).await?;
        if !answer.status().is_success() {
            return Err(format!("the retriever answered {}", answer.status()).into());
        }
        Ok(read(answer, self.items, self.bytes))
    }
}

/// Items as their lines arrive.
fn read(answer: Response<Incoming>, most: usize, bytes: usize) -> CandidateStream {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let lines = kind.is_some_and(|kind| kind.contains("ndjson") || kind.contains("jsonl"));
    let items = Items::new(lines, most);
    let state = (answer.into_body(), items, BytesMut::new(), bytes);
    let pieces =
        stream::try_unfold(state, |(mut body, mut items, mut held, mut left)| async move {
            while !items.is_over() {
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

/// One item as it is sent.
#[derive(Debug, Deserialize)]
struct Item {
    #[serde(alias = "content")]
    text: String,
    /// How close it is to the question, from 0 to 1.
    score: Option<f64>,
}

/// All items at once.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Whole {
    List(Vec<Item>),
    Table { items: Vec<Item> },
}

/// Reads what a retriever answers with: a list, a table with one, or a line for each item.
#[derive(Debug)]
struct Items {
    lines: bool,
    left: usize,
    over: bool,
}

impl Items {
    fn new(lines: bool, most: usize) -> Self {
        Self { lines, left: most, over: false }
    }

    /// Whether nothing more comes.
    fn is_over(&self) -> bool {
        self.over || self.left == 0
    }

    /// The items of whole lines, which leave the buffer.
    fn take(&mut self, held: &mut BytesMut) -> Result<Vec<ContextItem>, BoxError> {
        let mut items = Vec::new();
        while let (true, Some(end)) = (self.lines, held.iter().position(|byte| *byte == b'\n')) {
            let line = held.split_to(end + 1);
            self.add(&line, &mut items)?;
        }
        Ok(items)
    }

    /// The items of what is left when the answer ends.
    fn end(&mut self, held: &[u8]) -> Result<Vec<ContextItem>, BoxError> {
        self.over = true;
        let mut items = Vec::new();
        if self.lines {
            self.add(held, &mut items)?;
            return Ok(items);
        }
        let whole: Whole = serde_json::from_slice(held)
            .map_err(|_| "expected a list of {text, score}, or {items: […]}")?;
        let (Whole::List(list) | Whole::Table { items: list }) = whole;
        let texts = list.into_iter().filter(|item| !item.text.is_empty());
        texts.take(self.left).map(item).collect()
    }

    fn add(&mut self, line: &[u8], items: &mut Vec<ContextItem>) -> Result<(), BoxError> {
        if line.trim_ascii().is_empty() || self.left == 0 {
            return Ok(());
        }
        let read: Item =
            serde_json::from_slice(line).map_err(|_| "expected {text, score} on every line")?;
        // Nothing is no item, and no reason to do without the others.
        if !read.text.is_empty() {
            self.left -= 1;
            items.push(item(read)?);
        }
        Ok(())
    }
}

/// An item of the core's. Its tokens are counted again once it is known how it will be written.
fn item(read: Item) -> Result<ContextItem, BoxError> {
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
            let items = Items::new(false, 10).end(whole.as_bytes()).unwrap();
            assert_eq!(texts(&items), ["a", "b"]);
        }
        let mut lines = Items::new(true, 3);
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
        assert_eq!(texts(&Items::new(false, 2).end(whole).unwrap()), ["a", "b"]);
        let mut held = BytesMut::from(&b"{\"text\":\"\"}\n{\"text\":\"a\"}\n"[..]);
        assert_eq!(texts(&Items::new(true, 1).take(&mut held).unwrap()), ["a"]);
    }

    #[test]
    fn anything_else_is_an_error() {
        assert!(Items::new(false, 10).end(b"{}").is_err());
        assert!(Items::new(true, 10).end(b"[1]").is_err());
    }
}
