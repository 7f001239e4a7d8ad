//! HTTP gateway that fits LLM requests to the model's window, for clients in any language.
//!
//! A client changes only its base address. The gateway fits requests of Chat Completions, the Responses API and
//! Anthropic's Messages, and passes everything else byte for byte. The binary is `cupel-gateway`; the library
//! is a [`Gateway`] made from a [`Config`]:
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
//!
//! The [`guide`] has the configuration, the security rules and a chapter on local models.

mod answer;
mod api;
mod api_path;
mod calls;
mod client_stream;
mod config;
mod count_ratios;
mod credentials;
mod gateway;
mod gateway_state;
mod guard;
pub mod guide;
mod key_limits;
mod meaning;
#[cfg(feature = "archive")]
mod memory;
mod metrics;
mod overflow;
mod page;
mod proxy;
mod receipts;
mod repeat_watch;
mod request_record;
mod retriever;
mod select;
mod shadow;
mod sides;
mod summaries;
mod upstream_count;

pub use config::{
    AccessLog, ClientKey, Config, CountMethod, GatewayConfigError, GatewayLimits, GatewayMode,
    Meaning, Memory, ModelRule, PORT, PageConfig, Protocol, ReceiptConfig, Retriever, Rollout,
    SummaryModel, TlsRoots, ToolCount, Upstream, UpstreamConnection, UpstreamKey,
};
pub use credentials::{Caller, CallerBody, Secret, random_token};
pub use gateway::{Gateway, GatewayHandle};
