//! The layer for `Client::with_http_service`: existing code keeps calling the client as it does.

mod replay;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use cupel::layer::{ContextAdapter, CupelLayer, Selector};
use cupel_json::{Endpoint, JsonBody};
use futures::future::BoxFuture;
use reqwest::header::{CONTENT_LENGTH, HeaderValue};
use reqwest::{Body, Method, Request, Response};
use tower::{Layer, Service, ServiceExt};

/// Selects in the bodies of HTTP requests to Chat Completions and the Responses API.
///
/// All other requests pass through byte for byte, and so does a body in which nothing is dropped
/// or added. The request is built once: a retry layer below sends the same selection again.
///
/// The wrapped service is asked for readiness when a request is about to be sent, since only then
/// is it known which way the request goes; so this layer is always ready.
///
/// ```
/// use async_openai::Client;
/// use async_openai::config::OpenAIConfig;
/// use async_openai::middleware::{ReqwestService, retry::OpenAIRetryLayer};
/// use cupel::Policy;
/// use cupel::layer::CupelLayer;
/// use cupel_async_openai::{HttpLayer, OpenAiAdapter};
/// use tower::ServiceBuilder;
///
/// let adapter = OpenAiAdapter::new();
/// let cupel = CupelLayer::builder()
///     .budget(adapter.window())
///     .adapter(adapter)
///     .policy(Policy::chat())
///     .build()?;
/// let http = ServiceBuilder::new()
///     .layer(HttpLayer::new(cupel))
///     .layer(OpenAIRetryLayer::default())
///     .service(ReqwestService::new(reqwest::Client::new()));
/// let client = Client::with_config(OpenAIConfig::default()).with_http_service(http);
/// # let _ = client;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HttpLayer<A> {
    cupel: CupelLayer<JsonBody, A>,
}

impl<A> HttpLayer<A> {
    /// Selects as this layer does.
    #[must_use]
    pub fn new(cupel: CupelLayer<JsonBody, A>) -> Self {
        Self { cupel }
    }
}

impl<A> Clone for HttpLayer<A> {
    fn clone(&self) -> Self {
        Self { cupel: self.cupel.clone() }
    }
}

impl<A> fmt::Debug for HttpLayer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLayer").field("cupel", &self.cupel).finish()
    }
}

impl<S: Clone, A> Layer<S> for HttpLayer<A> {
    type Service = HttpService<S, A>;

    fn layer(&self, inner: S) -> Self::Service {
        HttpService { selector: self.cupel.selector(), inner }
    }
}

/// Selects in the right requests, then calls the wrapped HTTP service. See [`HttpLayer`].
pub struct HttpService<S, A> {
    selector: Selector<JsonBody, A>,
    inner: S,
}

impl<S: Clone, A> Clone for HttpService<S, A> {
    fn clone(&self) -> Self {
        Self { selector: self.selector.clone(), inner: self.inner.clone() }
    }
}

impl<S, A> fmt::Debug for HttpService<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("selector", &self.selector).finish_non_exhaustive()
    }
}

/// The future of a call through [`HttpService`].
pub struct HttpFuture(BoxFuture<'static, Result<Response, OpenAIError>>);

impl Future for HttpFuture {
    type Output = Result<Response, OpenAIError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for HttpFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFuture").finish_non_exhaustive()
    }
}

impl<S, A> Service<HttpRequestFactory> for HttpService<S, A>
where
    S: Service<HttpRequestFactory, Response = Response> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<OpenAIError> + Send + 'static,
    A: ContextAdapter<JsonBody> + 'static,
{
    type Response = Response;
    type Error = OpenAIError;
    type Future = HttpFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> HttpFuture {
        let Self { selector, inner } = self.clone();
        HttpFuture(Box::pin(async move {
            let mut request = factory.build().await?;
            let factory = match body_of(&request) {
                None => replay::first_then(request, factory),
                Some(body) => {
                    let selected = selector.select(body).await;
                    let selected = selected.map_err(|error| OpenAIError::Boxed(Box::new(error)))?;
                    set_body(&mut request, selected.request.json());
                    replay::always(request)
                }
            };
            inner.oneshot(factory).await.map_err(Into::into)
        }))
    }
}

/// The body of a request that has messages to select from.
fn body_of(request: &Request) -> Option<JsonBody> {
    let endpoint = (request.method() == Method::POST).then(|| endpoint(request.url().path()))??;
    let json = std::str::from_utf8(request.body()?.as_bytes()?).ok()?;
    JsonBody::parse(endpoint, json)
}

fn set_body(request: &mut Request, json: &str) {
    // Set by the transport, unless the caller has set it.
    if let Some(header) = request.headers_mut().get_mut(CONTENT_LENGTH) {
        *header = HeaderValue::from(json.len());
    }
    *request.body_mut() = Some(Body::from(json.as_bytes().to_vec()));
}

fn endpoint(path: &str) -> Option<Endpoint> {
    let path = path.trim_end_matches('/');
    [("/chat/completions", Endpoint::Chat), ("/responses", Endpoint::Responses)]
        .into_iter()
        .find_map(|(ending, endpoint)| path.ends_with(ending).then_some(endpoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_endpoints_are_edited() {
        assert_eq!(endpoint("/v1/chat/completions"), Some(Endpoint::Chat));
        assert_eq!(endpoint("/openai/deployments/d/chat/completions/"), Some(Endpoint::Chat));
        assert_eq!(endpoint("/v1/responses"), Some(Endpoint::Responses));
        for path in
            ["/v1/responses/compact", "/v1/responses/input_tokens", "/v1/embeddings", "/", ""]
        {
            assert_eq!(endpoint(path), None, "{path}");
        }
    }
}
