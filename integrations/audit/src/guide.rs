// `guide_links.md` comes first: if a link is defined twice, Markdown takes the first definition.
#![doc = include_str!("guide_links.md")]
#![doc = include_str!("../docs/prove-it.md")]
