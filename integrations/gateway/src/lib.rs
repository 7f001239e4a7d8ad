//! Context selection in front of any client, in any language: [`cupel`]'s layer as an HTTP gateway.
//!
//! Only the base address changes in a client. Requests of Chat Completions, the Responses API and
//! Anthropic's Messages are fitted to the model's window; everything else passes byte for byte. The binary is
//! `cupel-gateway`; as a library it is a [`Gateway`] over a [`Config`]:
//!
//! ```no_run
//! use cupel_gateway::{Config, Gateway, Upstream};
//! use tokio::net::TcpListener;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::new(Upstream::new("https://api.openai.com/v1")?);
//! let listener = TcpListener::bind(config.listen).await?;
//! Gateway::new(config)?.serve(listener, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```

mod answer;
mod api;
mod calls;
mod config;
mod gateway;
mod guard;
#[cfg(feature = "archive")]
mod memory;
mod page;
mod proxy;
mod secret;
mod select;
mod server;
mod source;
mod stall;
mod tenant;

pub use config::{
    Config, Count, Limits, Memory, ModelRule, PORT, Page, Protocol, Retriever, Upstream,
    UpstreamKey,
};
pub use gateway::{Gateway, Unusable};
pub use secret::{Secret, random_token};
pub use tenant::{Caller, CallerBody};
