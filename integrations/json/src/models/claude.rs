//! Facts of each Claude model: its window, its tokenizer, its cache, its thinking.
//!
//! The table is as Anthropic's model pages have it. Windows:
//! <https://platform.claude.com/docs/en/about-claude/models/overview>. The shortest prompt
//! that is cached: <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>; where a
//! model is not listed there, that of the model before it. Bound thinking:
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>.

use std::sync::Arc;

use cupel::layer::WindowLimits;
use cupel::tokens::{ClaudeTokenizer, FormatOverhead, TokenCounter, claude_counter};

use super::{ModelFacts, ModelTable};

/// The facts of one Claude model that a budget and a prompt cache need.
///
/// Claude's tokenizers are not public; [`ClaudeTokenizer`] says where the factors come from.
/// A text that is counted too high wastes room, one that is counted too low breaks a request; where the
/// answers' `usage` shows other numbers, [`with_text_percent`](Self::with_text_percent) sets them.
///
/// ```
/// use cupel_json::ClaudeModel;
///
/// let model = ClaudeModel::new(200_000).cached_from(4_096);
/// assert_eq!((model.window(), model.text_percent()), (200_000, 130));
/// assert_eq!(ClaudeModel::new(1_000_000).newer_tokenizer().text_percent(), 170);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct ClaudeModel {
    window: i64,
    /// The shortest prompt that is cached, in tokens.
    pub(crate) cached_from: i64,
    text_percent: i64,
    /// The most that an image costs.
    pub(crate) image_tokens: i64,
    /// Tokens of a page of a PDF, its image and its text.
    pub(crate) page_tokens: i64,
    pub(crate) binds_thinking: bool,
}

impl ClaudeModel {
    /// A model with this window for prompt and answer, the older tokenizer, and a cache from 1,024
    /// tokens on.
    pub const fn new(window: i64) -> Self {
        Self {
            window,
            cached_from: 1_024,
            text_percent: ClaudeTokenizer::Older.text_percent(),
            image_tokens: ClaudeTokenizer::Older.image_tokens(),
            page_tokens: 3_000,
            binds_thinking: false,
        }
    }

    /// Counts text as the tokenizer of Claude Opus 4.7 and later does, about a third higher, and
    /// images as large as those models take them.
    pub const fn newer_tokenizer(mut self) -> Self {
        self.text_percent = ClaudeTokenizer::Newer.text_percent();
        self.image_tokens = ClaudeTokenizer::Newer.image_tokens();
        self.page_tokens = 3_600;
        self
    }

    /// Sets the shortest prompt that is cached.
    pub const fn cached_from(mut self, tokens: i64) -> Self {
        self.cached_from = tokens;
        self
    }

    /// Sets what the tokens of a text are multiplied by, in percent.
    pub const fn with_text_percent(mut self, percent: i64) -> Self {
        self.text_percent = percent;
        self
    }

    /// Says that thinking is refused once something before it has changed, as Claude 5.1 and later
    /// do.
    pub const fn binds_thinking(mut self) -> Self {
        self.binds_thinking = true;
        self
    }

    /// Tokens for prompt and answer together.
    #[must_use]
    pub fn window(&self) -> i64 {
        self.window
    }

    /// Factor of a text's estimate, in percent.
    #[must_use]
    pub fn text_percent(&self) -> i64 {
        self.text_percent
    }
}

/// The Claude models that are known, by name. Models can be added and changed.
///
/// A name also stands for its variants: `claude-haiku-4-5` for `claude-haiku-4-5-20251001`,
/// `anthropic.claude-haiku-4-5-20251001-v1:0`, `claude-haiku-4-5@20251001` and
/// `anthropic/claude-haiku-4.5`. The longest name that fits decides.
///
/// ```
/// use cupel_json::{ClaudeModel, ClaudeModels};
///
/// let models = ClaudeModels::new().with("my-proxy", ClaudeModel::new(100_000));
/// assert_eq!(models.get("anthropic/claude-haiku-4.5")?.window(), 200_000);
/// assert_eq!(models.get("my-proxy")?.window(), 100_000);
/// let error = models.get("claude-99").unwrap_err().to_string();
/// assert!(error.contains("MessagesAdapter::models(ClaudeModels::new().with(\"claude-99\""));
/// # Ok::<(), cupel_json::UnknownModel>(())
/// ```
pub type ClaudeModels = ModelTable<ClaudeModel>;

impl ModelFacts for ClaudeModel {
    const TABLE: &'static [(&'static str, Self)] = MODELS;
    const ADVICE: [&'static str; 2] =
        ["MessagesAdapter::models(ClaudeModels::new()", "ClaudeModel::new(window)"];
    const FORMAT: FormatOverhead = FormatOverhead::CLAUDE;
    // No text may be empty.
    const EMPTY_RESULT: &'static str = "[…]";

    fn limits(&self) -> WindowLimits {
        WindowLimits::new(self.window)
    }

    fn counter(&self) -> Arc<dyn TokenCounter> {
        claude_counter(self.text_percent)
    }

    fn fit(model: &str, family: &str) -> Option<usize> {
        let fits = is_a(&plain(model), family) || is_a(model, family);
        fits.then_some(family.len())
    }
}

/// A name as Anthropic writes it: without a vendor before it, and with hyphens for dots.
fn plain(model: &str) -> String {
    let start = model.find("claude").unwrap_or(0);
    model.get(start..).unwrap_or_default().replace('.', "-")
}

fn is_a(model: &str, family: &str) -> bool {
    let rest = model.strip_prefix(family);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':']))
}

/// A budget by the request's model and its `max_tokens`; [`MessagesAdapter::window`] makes one, with
/// a safety margin, since counts are estimates.
///
/// [`MessagesAdapter::window`]: crate::MessagesAdapter::window
pub type ClaudeWindow = cupel::layer::ModelWindow<ClaudeModels>;

/// 200,000 tokens.
const SHORT: ClaudeModel = ClaudeModel::new(200_000);
/// A million tokens, of the older tokenizer.
const LONG: ClaudeModel = ClaudeModel::new(1_000_000);
/// A million tokens of the newer one.
const NEWER: ClaudeModel = LONG.newer_tokenizer();

const MODELS: &[(&str, ClaudeModel)] = &[
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides_however_it_is_written() {
        let models = ClaudeModels::new();
        let known =
            |name: &str| models.get(name).map(|model| (model.window(), model.binds_thinking));
        assert_eq!(known("claude-opus-5"), Ok((1_000_000, false)));
        assert_eq!(known("claude-opus-5-5"), Ok((1_000_000, true)));
        assert_eq!(known("claude-opus-5-20260901"), Ok((1_000_000, false)));
        assert_eq!(known("us.anthropic.claude-opus-4-5-20251101-v1:0"), Ok((200_000, false)));
        assert_eq!(known("anthropic/claude-opus-4.1"), Ok((200_000, false)));
        assert_eq!(known("claude-3-7-sonnet@20250219"), Ok((200_000, false)));
        for unknown in ["claude", "claude-opus-5x", "gpt-4o", "", "claude-2.1"] {
            assert!(known(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn the_table_says_of_tokenizers_what_the_versions_say() {
        for (name, model) in MODELS {
            let tokenizer = ClaudeTokenizer::of_model(name).unwrap();
            assert_eq!(model.text_percent(), tokenizer.text_percent(), "{name}");
            assert_eq!(model.image_tokens, tokenizer.image_tokens(), "{name}");
        }
    }

    #[test]
    fn an_added_model_replaces_its_like_and_a_fallback_comes_last() {
        let small = ClaudeModel::new(1_000);
        let models = ClaudeModels::new().with("claude-opus-5", small);
        let window = |models: &ClaudeModels, name: &str| models.get(name).unwrap().window();
        assert_eq!(window(&models, "claude-opus-5-20260901"), 1_000);
        assert_eq!(window(&models, "claude-opus-5-5"), 1_000_000);
        let models = models.otherwise(ClaudeModel::new(7));
        assert_eq!(window(&models, "gpt-4o"), 7);
        assert_eq!(models.of_request(None).unwrap().window(), 7);
    }
}
