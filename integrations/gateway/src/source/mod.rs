//! A retriever over HTTP: asked with the question, under a deadline, and not trusted.

mod items;

use std::fmt;
use std::time::Duration;

use bytes::BytesMut;
use cupel::gather::{BoxError, CandidateStream, Source};
use cupel_json::{JsonBody, Request as _};
use futures::stream::{self, TryStreamExt};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::answer::full;
use crate::config::{Retriever, Secret};
use crate::proxy::Client;
use items::Items;

/// The layer's source for a retriever.
pub(crate) fn source(retriever: &Retriever, client: &Client) -> Source<JsonBody> {
    let asking = Asking {
        client: client.clone(),
        url: retriever.url.clone(),
        key: retriever.key.clone(),
        items: retriever.items,
        bytes: retriever.bytes,
    };
    let source =
        Source::new(retriever.name.as_str(), move |body: &JsonBody| asking.candidates(body))
            .deadline(retriever.deadline)
            .limit(retriever.items);
    if retriever.required { source.required() } else { source.optional() }
}

#[derive(Clone)]
struct Asking {
    client: Client,
    url: String,
    key: Option<Secret>,
    items: usize,
    bytes: usize,
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking").field("url", &self.url).finish_non_exhaustive()
    }
}

const TOO_LARGE: &str = "the retriever's answer is larger than its limit";

/// A silent retriever; its deadline is the layer's business.
const LONGEST: Duration = Duration::from_secs(60);

impl Asking {
    fn candidates(&self, body: &JsonBody) -> CandidateStream {
        let Some(question) = body.question().filter(|question| !question.is_empty()) else {
            return Box::pin(stream::empty());
        };
        let asking = self.clone();
        Box::pin(stream::once(asking.ask(question)).try_flatten())
    }

    /// Sends the question; nothing of the client's headers goes with it.
    async fn ask(self, question: String) -> Result<CandidateStream, BoxError> {
        let query = json!({"query": question, "limit": self.items});
        let mut request = Request::post(&self.url).body(full(query.to_string()))?;
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
