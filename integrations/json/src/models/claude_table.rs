//! The built-in Claude models, as Anthropic's model pages have them.
//!
//! Windows: <https://platform.claude.com/docs/en/about-claude/models/overview>. The shortest prompt
//! that is cached: <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>; where a
//! model is not listed there, that of the model before it. Bound thinking:
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>.

use super::claude::ClaudeModel;

/// 200,000 tokens.
const SHORT: ClaudeModel = ClaudeModel::new(200_000);
/// A million tokens, of the older tokenizer.
const LONG: ClaudeModel = ClaudeModel::new(1_000_000);
/// A million tokens of the newer one.
const NEWER: ClaudeModel = LONG.newer_tokenizer();

pub(super) const MODELS: &[(&str, ClaudeModel)] = &[
    ("claude-3-haiku", SHORT.cached_from(2_048)),
    ("claude-3-sonnet", SHORT),
    ("claude-3-opus", SHORT),
    ("claude-3-5-haiku", SHORT.cached_from(2_048)),
    ("claude-3-5-sonnet", SHORT),
    ("claude-3-7-sonnet", SHORT),
    ("claude-sonnet-4", SHORT),
    ("claude-opus-4", SHORT),
    ("claude-opus-4-1", SHORT),
    ("claude-sonnet-4-5", SHORT),
    ("claude-haiku-4-5", SHORT.cached_from(4_096)),
    ("claude-opus-4-5", SHORT.cached_from(4_096)),
    ("claude-opus-4-6", LONG.cached_from(4_096)),
    ("claude-sonnet-4-6", LONG),
    ("claude-opus-4-7", NEWER.cached_from(2_048)),
    ("claude-opus-4-8", NEWER),
    ("claude-sonnet-5", NEWER),
    ("claude-opus-5", NEWER.cached_from(512)),
    ("claude-fable-5", NEWER.cached_from(512)),
    ("claude-mythos-5", NEWER.cached_from(512)),
    ("claude-fable-5-1", NEWER.cached_from(512).binds_thinking()),
    ("claude-mythos-5-1", NEWER.cached_from(512).binds_thinking()),
    ("claude-opus-5-5", NEWER.cached_from(512).binds_thinking()),
    ("claude-sonnet-5-5", NEWER.binds_thinking()),
    ("claude-haiku-5-5", NEWER.cached_from(4_096).binds_thinking()),
];
