//! x
mod count;
mod models;
mod read;
pub use count::{Detail, ImageRule, ToolRule};
pub use models::{Model, Models, UnknownModel};
