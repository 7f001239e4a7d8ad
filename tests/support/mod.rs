//! The specification as executable text, which judges between two implementations.

// Each test crate uses its own part of this.
#![allow(dead_code)]

pub(crate) mod slicers;
pub(crate) mod stages;
