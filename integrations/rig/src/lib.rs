//! Context selection inside rig agents.
//!
//! A rig agent sends its whole history on every turn of a tool loop. This crate puts
//! [`CupelLayer`](cupel::layer::CupelLayer) in front of the model: each call is fitted to the
//! model's window, and a report says what was left out and why. The agent's own history stays
//! whole, so every turn selects anew.
//!
//! Three ways in, with the same layer:
//!
//! - [`AgentBuilderExt::build_through`] builds an agent whose model is a Tower stack.
//! - [`CupelHook`] is a hook for an agent that is built already.
//! - [`RigModel`] is any rig model as a Tower service, without an agent.
//!
//! [`RigAdapter`] says what in a request is up for selection and how much room its model has, and
//! [`source`] brings in vector indexes and memories. [`judge`] lets embeddings and re-rankers say what
//! of all that is relevant.

mod adapter;
mod agent;
mod call;
pub mod compactor;
mod document;
mod error;
mod hook;
pub mod judge;
mod model;
mod models;
pub mod source;

pub use adapter::{MediaTokens, RigAdapter, RigRest};
pub use agent::{AgentBuilderExt, TowerModel};
pub use call::{AgentCall, CompletionCall, StreamingRequest};
pub use hook::CupelHook;
pub use model::{ModelReply, RigModel};
pub use models::{CatalogModels, CatalogWindow, ModelId};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
