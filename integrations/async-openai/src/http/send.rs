//! Sends a selected body with the request it came in.

use std::fmt;
use std::task::{Context, Poll};

use async_openai::middleware::HttpRequestFactory;
use tower::Service;

use super::replay;
use crate::request::JsonBody;

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
        let request = body.into_request();
        self.inner.call(replay::always(request))
    }
}
