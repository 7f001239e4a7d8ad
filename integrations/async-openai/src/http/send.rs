//! Sends a selected body with the request it came in.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_openai::middleware::HttpRequestFactory;
use cupel_json::JsonBody;
use reqwest::header::{CONTENT_LENGTH, HeaderValue};
use reqwest::{Body, Request};
use tower::Service;

use super::replay;

/// Turns a body back into an HTTP request for the wrapped service.
#[derive(Clone)]
pub(super) struct SendBody<S> {
    inner: S,
}

impl<S> SendBody<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S> fmt::Debug for SendBody<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendBody").finish_non_exhaustive()
    }
}

impl<S: Service<HttpRequestFactory>> Service<JsonBody> for SendBody<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, body: JsonBody) -> S::Future {
        let request = into_request(&body);
        self.inner.call(replay::always(request))
    }
}

/// Remembers the request whose body it is.
pub(super) fn carried_by(body: JsonBody, mut request: Request) -> JsonBody {
    *request.body_mut() = None;
    body.carried_by(request)
}

/// The request whose body it is.
fn into_request(body: &JsonBody) -> Option<Arc<Request>> {
    let json = body.json();
    let mut request = body.carrier::<Request>()?.try_clone()?;
    // Set by the transport, unless the caller has set it.
    if let Some(header) = request.headers_mut().get_mut(CONTENT_LENGTH) {
        *header = HeaderValue::from(json.len());
    }
    *request.body_mut() = Some(Body::from(json.as_bytes().to_vec()));
    Some(Arc::new(request))
}

#[cfg(test)]
mod tests {
    use cupel_json::Endpoint;

    use super::*;

    #[test]
    fn what_is_printed_has_no_key_in_it() {
        let mut request = Request::new(reqwest::Method::POST, "http://127.0.0.1/".parse().unwrap());
        request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer sk-1"));
        let body = JsonBody::parse(Endpoint::Chat, r#"{"messages":[]}"#).unwrap();
        let body = carried_by(body, request);
        let printed = format!("{body:?}");
        assert!(printed.contains("messages") && !printed.contains("sk-1"), "{printed}");
        assert!(into_request(&body).unwrap().headers().contains_key("authorization"));
    }
}
