//! A Tower stack as the model of an agent.

mod build;
mod handler;

pub use build::AgentBuilderExt;
pub use handler::TowerModel;
