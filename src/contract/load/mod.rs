//! Reading contracts from a folder: `config.json`, `pipelines/*.yaml`, `prompts/*`.

mod extends;
mod files;
mod folder;
mod read;

pub use folder::{ContractCache, ContractFolder};
