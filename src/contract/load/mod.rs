//! Reading contracts from a folder: `config.json`, `pipelines/*.yaml`, `prompts/*`.

mod cache;
mod extends;
mod files;
mod folder;
mod keys;
mod node;
mod read;
mod spelling;

pub use cache::ContractCache;
pub use folder::ContractFolder;
