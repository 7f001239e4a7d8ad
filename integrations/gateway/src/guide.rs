//! Chapters of the guide about the gateway.

// `guide_links.md` comes first: if a link is defined twice, Markdown takes the first definition.

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/run-the-gateway.md")]
pub mod run_the_gateway {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/local-models.md")]
pub mod local_models {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/operate-the-gateway.md")]
pub mod operate_the_gateway {}
