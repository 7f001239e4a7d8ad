//! Requests to upstreams, and their answers on the way back.

mod client;
mod connect;
mod tap;

pub(crate) use client::UpstreamClient;
#[cfg(feature = "archive")]
pub(crate) use tap::EndReason;
pub(crate) use tap::{AnswerEnd, Stall, Tap, Usage};
