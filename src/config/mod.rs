//! The one reader of configuration: trees of values, paths into them, and everything that is wrong.
//!
//! Policies and contracts are read through it. Paths and problems are also what the constructors
//! of scorers and slicers answer with, so that a file and code are held to the same rules.
//!
//! It is public for the crates beside this one, which read files of their own; it may change.

// Some of it is for files only.
#![cfg_attr(not(feature = "config"), allow(dead_code))]

#[cfg(feature = "serde")]
mod fields;
#[cfg(feature = "config")]
mod format;
#[cfg(feature = "serde")]
pub(crate) mod limits;
mod problems;
#[cfg(feature = "serde")]
mod tree;
#[cfg(feature = "serde")]
mod values;

#[cfg(feature = "serde")]
pub(crate) use fields::wrong;
#[cfg(feature = "serde")]
pub use fields::{Fields, Finding, FromTree, Report, meant};
#[cfg(feature = "config")]
pub use format::{Format, read_file};
pub use problems::Path;
pub(crate) use problems::Problems;
#[cfg(feature = "serde")]
pub use tree::{Tree, Value};
#[cfg(feature = "serde")]
pub use values::ConfigKey;
#[cfg(feature = "serde")]
pub(crate) use values::plain;
