//! Requests to upstreams, and their answers on the way back.

mod client;
mod connect;
mod tap;

pub(crate) use client::UpstreamClient;
pub(crate) use tap::{AnswerEnd, EndReason, Stall, Tap, Usage};
