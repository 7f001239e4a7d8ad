#![doc = include_str!("guide_links.md")]
#![doc = include_str!("../docs/README.md")]

// `guide_links.md` comes first: if a link is defined twice, Markdown takes the first definition. So the chapters
// link to files in a repository, and to pages in these docs.

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/documents.md")]
pub mod documents {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/prompt-cache.md")]
pub mod prompt_cache {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/tools.md")]
pub mod tools {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/meaning.md")]
pub mod meaning {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/standing-orders.md")]
pub mod standing_orders {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/summaries.md")]
pub mod summaries {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/why-left-out.md")]
pub mod why_left_out {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/presets.md")]
pub mod presets {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/policy-file.md")]
pub mod policy_file {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/budgets.md")]
pub mod budgets {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/extending.md")]
pub mod extending {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/numbers.md")]
pub mod numbers {}

#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/architecture.md")]
pub mod architecture {}
