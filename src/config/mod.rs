//! The one reader of configuration: trees of values, paths into them, and everything that is wrong.
//!
//! Policies and contracts are read through it. Paths and problems are also what the constructors
//! of scorers and slicers answer with, so that a file and code are held to the same rules.

// Some of it is for files only.
#![cfg_attr(not(feature = "config"), allow(dead_code))]

#[cfg(feature = "serde")]
mod fields;
#[cfg(feature = "config")]
mod file;
#[cfg(feature = "config")]
mod format;
#[cfg(feature = "serde")]
pub(crate) mod limits;
mod path;
mod problems;
#[cfg(feature = "serde")]
mod spelling;
#[cfg(feature = "serde")]
mod tree;
#[cfg(feature = "serde")]
mod values;

#[cfg(feature = "serde")]
pub(crate) use fields::{Fields, Found, FromTree, Report};
#[cfg(feature = "config")]
pub(crate) use file::read_file;
#[cfg(feature = "config")]
pub(crate) use format::Format;
pub(crate) use path::Path;
pub(crate) use problems::Problems;
#[cfg(feature = "serde")]
pub(crate) use spelling::meant;
#[cfg(feature = "serde")]
pub(crate) use tree::{Tree, Value};
#[cfg(feature = "serde")]
pub(crate) use values::{Key, plain};
