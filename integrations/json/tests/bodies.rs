//! Bodies of all three protocols through the adapters, checked as bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "bodies/fuzz.rs"]
mod fuzz;
#[path = "bodies/half_characters.rs"]
mod half_characters;
#[path = "bodies/quoting.rs"]
mod quoting;
#[path = "bodies/strings.rs"]
mod strings;
#[path = "bodies/support.rs"]
mod support;
