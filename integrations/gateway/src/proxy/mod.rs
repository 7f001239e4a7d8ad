//! Requests to upstreams and their answers back, as they are.

mod client;
mod connect;
pub(crate) mod headers;
mod replay;
mod tap;

pub(crate) use client::{Client, Payload, Target};
#[cfg(feature = "archive")]
pub(crate) use tap::How;
pub(crate) use tap::{Ended, Tap, Usage};
