//! Messages become units, and selections become conversations that an API accepts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "conversation/common.rs"]
mod common;
#[path = "conversation/exchanges.rs"]
mod exchanges;
#[path = "conversation/pairing.rs"]
mod pairing;
#[path = "conversation/pins.rs"]
mod pins;
#[path = "conversation/properties.rs"]
mod properties;
#[path = "conversation/questions.rs"]
mod questions;
#[path = "conversation/units.rs"]
mod units;
