//! Requests to upstreams, and their answers on the way back.

mod client;
mod connect;
mod environment;
mod failure;
mod read_ahead;
mod tap;
mod tls;
mod transport;

pub(crate) use client::UpstreamClient;
pub(crate) use read_ahead::ReadAhead;
#[cfg(feature = "archive")]
pub(crate) use tap::EndReason;
pub(crate) use tap::{AnswerEnd, Stall, Tap, Usage};
