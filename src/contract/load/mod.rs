//! Reading contracts from a folder: `config.json`, `pipelines/*.yaml`, `prompts/*`.

mod cache;
mod extends;
mod files;
mod folder;
mod noted;
mod read;

pub use cache::ContractCache;
pub use folder::ContractFolder;
