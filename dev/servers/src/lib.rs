//! Strict local servers, recorded runs and questions that tests and examples of several integrations share.

#[cfg(feature = "collector")]
pub mod collector;
#[cfg(feature = "fuzz")]
pub mod fuzz;
#[cfg(all(feature = "postgres", unix))]
pub mod hanging;
#[cfg(feature = "models")]
pub mod local_server;
#[cfg(all(feature = "postgres", unix))]
pub mod postgres;
#[cfg(feature = "models")]
pub mod questions;
#[cfg(feature = "models")]
pub mod replay;
