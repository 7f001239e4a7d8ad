//! Tower services over an [`async_openai::Client`].

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionResponseStream, CreateChatCompletionRequest, CreateChatCompletionResponse,
};
use async_openai::types::responses::{CreateResponse, Response, ResponseStream};
use cupel_json::Streaming;
use futures::future::BoxFuture;
use tower::Service;

/// Calls Chat Completions: unary for `CreateChatCompletionRequest`, streaming for the same in
/// [`Streaming`].
pub struct ChatService<C: Config> {
    client: Arc<Client<C>>,
}

/// Calls the Responses API: unary for `CreateResponse`, streaming for the same in [`Streaming`].
pub struct ResponsesService<C: Config> {
    client: Arc<Client<C>>,
}

macro_rules! service {
    ($service:ident, $request:ty, $answer:ty, $stream:ty, $group:ident) => {
        impl<C: Config> $service<C> {
            /// A service over this client.
            #[must_use]
            pub fn new(client: Client<C>) -> Self {
                Self { client: Arc::new(client) }
            }
        }

        impl<C: Config + 'static> Service<$request> for $service<C> {
            type Response = $answer;
            type Error = OpenAIError;
            type Future = BoxFuture<'static, Result<$answer, OpenAIError>>;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: $request) -> Self::Future {
                let client = Arc::clone(&self.client);
                Box::pin(async move { client.$group().create(request).await })
            }
        }

        impl<C: Config + 'static> Service<Streaming<$request>> for $service<C> {
            type Response = $stream;
            type Error = OpenAIError;
            type Future = BoxFuture<'static, Result<$stream, OpenAIError>>;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, Streaming(mut request): Streaming<$request>) -> Self::Future {
                // The client leaves it to us when any crate turns its feature `byot` on.
                request.stream = Some(true);
                let client = Arc::clone(&self.client);
                Box::pin(async move { client.$group().create_stream(request).await })
            }
        }

        impl<C: Config> Clone for $service<C> {
            fn clone(&self) -> Self {
                Self { client: Arc::clone(&self.client) }
            }
        }

        impl<C: Config> fmt::Debug for $service<C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($service)).finish_non_exhaustive()
            }
        }
    };
}

service!(
    ChatService,
    CreateChatCompletionRequest,
    CreateChatCompletionResponse,
    ChatCompletionResponseStream,
    chat
);
service!(ResponsesService, CreateResponse, Response, ResponseStream, responses);
