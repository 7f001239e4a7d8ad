//! Context selection for [`async_openai`]: [`cupel`]'s Tower layer over Chat Completions and the
//! Responses API.
//!
//! There are two ways to stack it. Over the typed services [`ChatService`] and
//! [`ResponsesService`], unary and streaming:
//!
//! ```
//! use async_openai::Client;
//! use async_openai::config::OpenAIConfig;
//! use async_openai::types::chat::CreateChatCompletionRequest;
//! use cupel::Policy;
//! use cupel::layer::CupelLayer;
//! use cupel_async_openai::{ChatService, OpenAiAdapter};
//! use tower::ServiceBuilder;
//!
//! let adapter = OpenAiAdapter::new();
//! let cupel = CupelLayer::<CreateChatCompletionRequest, _>::builder()
//!     .budget(adapter.window())
//!     .adapter(adapter)
//!     .policy(Policy::chat())
//!     .build()?;
//! let client = Client::with_config(OpenAIConfig::default());
//! let chat = ServiceBuilder::new().layer(cupel).service(ChatService::new(client));
//! # let _ = chat;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Or below the client, with [`HttpLayer`], so that existing code goes on calling
//! `client.chat().create(..)`.
//!
//! [`EmbeddingsClient`] asks a server for vectors, so that recall goes by meaning as well.

mod compactor;
mod embeddings;
mod http;
mod service;

pub use compactor::ChatCompactor;
pub use cupel_json::{
    CacheRule, ContextPosition, ContextRole, ContextTemplate, Detail, EmbeddingsApi, Endpoint,
    ImageRule, JsonBody, JsonWindow, MessageView, Model, Models, OpenAiAdapter, Request, Streaming,
    ToolPrices, ToolRule, UnknownModel,
};
pub use embeddings::EmbeddingsClient;
#[cfg(feature = "config")]
pub use embeddings::register;
pub use http::{HttpFuture, HttpLayer, HttpService};
pub use service::{ChatService, ResponsesService};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
