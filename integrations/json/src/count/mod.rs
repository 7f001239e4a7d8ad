//! Counting what a request sends: text by the model's encoding, everything else by published rules.

mod audio;
mod file;
mod image;
mod meter;
mod tools;

pub use cupel::tokens::ToolPrices;
pub use image::{Detail, ImageRule};
pub use tools::ToolRule;

pub(crate) use audio::tokens as audio_tokens;
pub(crate) use file::{pages, tokens as file_tokens};
pub(crate) use image::image_size;
pub(crate) use meter::Meter;
