//! Context selection in the JSON bodies of model APIs: [`cupel`]'s Tower layer for Chat Completions,
//! the Responses API and Anthropic's Messages, whatever sends the bytes.
//!
//! ```
//! use cupel::Policy;
//! use cupel::layer::CupelLayer;
//! use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let adapter = OpenAiAdapter::new();
//! let cupel = CupelLayer::builder()
//!     .budget(adapter.window().at_most(32_000))
//!     .adapter(adapter)
//!     .policy(Policy::chat())
//!     .build()?;
//! let send = service_fn(|body: JsonBody| async move {
//!     Ok::<_, std::io::Error>(body.json().len()) // here the bytes go out
//! });
//! let mut service = ServiceBuilder::new().layer(cupel).service(send);
//!
//! let json = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Where is the key?"}]}"#;
//! let body = JsonBody::parse(Endpoint::Chat, json).ok_or("no messages")?;
//! assert_eq!(service.ready().await?.call(body).await?, json.len());
//! # Ok(())
//! # }
//! ```
//!
//! For Anthropic's Messages the adapter is [`MessagesAdapter`], for bodies of
//! [`Endpoint::Messages`].
//!
//! The [`guide`] says what is kept together, what is edited and how everything is counted.
//!
//! With the feature `async-openai` that crate's typed requests are read as well;
//! `tower-cupel-async-openai` turns it on.

mod adapter;
mod breakpoints;
mod draft;
mod embeddings;
pub mod guide;
mod media;
mod messages;
mod models;
mod object;
mod openai;
mod read;
mod request;
mod template;
mod tools;
#[cfg(feature = "async-openai")]
mod typed;

pub use adapter::{JsonAdapter, JsonWindow};
pub use cupel::tokens::ToolPrices;
pub use embeddings::EmbeddingsApi;
pub use media::{Detail, ImageRule};
pub use messages::{BINDING_BETA, MessagesAdapter, MessagesApi};
pub use models::{
    CacheRule, ClaudeModel, ClaudeModels, ClaudeWindow, LocalRules, Model, ModelFacts, ModelTable,
    Models, ToolRule, UnknownModel,
};
pub use object::whole_characters;
pub use openai::{OpenAiAdapter, OpenAiApi};
pub use read::{Endpoint, MessageView};
pub use request::{JsonBody, Request};
pub use template::{ContextPosition, ContextRole, ContextTemplate};
#[cfg(feature = "async-openai")]
pub use typed::Streaming;

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
