//! Claude's tokenizers, which are not public: what the tokens of another one are multiplied by.

use std::sync::Arc;

use super::TokenCounter;
use super::cached::estimate;

/// One of the two tokenizers that Claude models have, by what the tokens of OpenAI's o200k are multiplied
/// by.
///
/// Without feature `tiktoken` or `o200k` there is only an [estimate](super::HeuristicCounter) of these. With it they are
/// exact, and the estimate counts where it is higher and a text is not plain ASCII: it also goes by an older
/// encoding, which takes more for other scripts.
///
/// # Where the factors come from
///
/// Anthropic publishes no tokenizer, and no factor for its models before Claude Opus 4.7. What stands
/// here are the upper ends of public measurements beside OpenAI's o200k, not measurements of our own:
///
/// - Claude 3.5 Sonnet beside GPT-4o: 1.16 times the tokens on English articles, 1.21 on mathematics,
///   1.30 on Python
///   (<https://news.quarkybyte.com/understanding-tokenizer-differences-impacting-ai-model-costs-and-efficiency-2025-05-01>).
///   Later models before 4.7 are taken to be the same.
/// - Claude Opus 4.7 beside 4.6: Anthropic says 1.0 to 1.35 times
///   (<https://platform.claude.com/docs/en/about-claude/models/migration-guide>); measured with
///   `count_tokens` were 1.20 to 1.47 for prose, code and documents
///   (<https://www.claudecodecamp.com/p/i-measured-claude-4-7-s-new-tokenizer-here-s-what-it-costs-you>) and
///   1.45 for English, 1.13 to 1.33 for code, 1.00 for Chinese, Japanese and Russian
///   (<https://sol.ava.dev/writings/2026-04-17-opus-4-7-tokenizer.html>). English then has 1.16 times 1.45,
///   Python 1.30 times 1.20 to 1.29: about 1.7 at most.
///
/// On most texts the product is above the count; [a margin](Self::MARGIN_PERCENT) is for those of which
/// nobody has published a measurement, and for what an estimate may be below o200k.
///
/// ```
/// use cupel::tokens::{ClaudeTokenizer, TokenCounter};
///
/// let haiku = ClaudeTokenizer::of_model("anthropic/claude-haiku-4.5").unwrap();
/// assert_eq!((haiku, haiku.text_percent()), (ClaudeTokenizer::Older, 130));
/// let opus = ClaudeTokenizer::of_model("claude-opus-4-7").unwrap();
/// assert_eq!((opus, opus.text_percent()), (ClaudeTokenizer::Newer, 170));
/// assert_eq!(ClaudeTokenizer::of_model("gpt-4o"), None);
///
/// let text = "The migration window opened at two in the morning."; // o200k: 10, the estimate: 12
/// # #[cfg(feature = "o200k")]
/// assert_eq!((haiku.counter().count(text), opus.counter().count(text)), (13, 17));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClaudeTokenizer {
    /// Tokenizer of all models before Claude Opus 4.7.
    Older,
    /// Tokenizer of Claude Opus 4.7 and all models since.
    Newer,
}

impl ClaudeTokenizer {
    /// Percent of a budget that stays free for what these counts miss: 10 %, or 15 % where there are only
    /// estimates.
    pub const MARGIN_PERCENT: f64 = if cfg!(feature = "o200k") { 10.0 } else { 15.0 };

    /// The tokenizer of a Claude model, by the version in its name, wherever `claude` stands in it; none
    /// for other models. A name without a version gets the newer one: too high wastes room, too low
    /// breaks a request.
    #[must_use]
    pub fn of_model(model: &str) -> Option<Self> {
        let start = model.find("claude")?;
        let name = model.get(start..).unwrap_or_default();
        // A date is no version, and neither is what stands behind it.
        let is_version = |part: &&str| {
            !part.is_empty() && part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let parts = name.split(['-', '.', '@', ':']).skip_while(|part| !is_version(part));
        let mut numbers = parts.take_while(is_version).filter_map(|part| part.parse::<u8>().ok());
        let version = numbers.next().map(|major| (major, numbers.next().unwrap_or(0)));
        Some(match version {
            Some(version) if version < (4, 7) => Self::Older,
            _ => Self::Newer,
        })
    }

    /// Factor for the tokens of a text, in percent.
    #[must_use]
    pub const fn text_percent(self) -> i64 {
        match self {
            Self::Older => 130,
            Self::Newer => 170,
        }
    }

    /// The most that an image costs: later models look at larger ones.
    #[must_use]
    pub const fn image_tokens(self) -> i64 {
        match self {
            Self::Older => 1_600,
            Self::Newer => 5_000,
        }
    }

    /// The process's counter for it.
    #[must_use]
    pub fn counter(self) -> Arc<dyn TokenCounter> {
        claude_counter(self.text_percent())
    }
}

/// The process's counter of what [`ClaudeTokenizer`] goes by, so many percent of it: for a Claude model whose
/// answers' `usage` shows another number than that has.
#[must_use]
pub fn claude_counter(percent: i64) -> Arc<dyn TokenCounter> {
    Arc::new(ScaledCounter { counter: beside(), percent })
}

/// Counter to which the factors apply.
#[cfg(feature = "o200k")]
fn beside() -> Arc<dyn TokenCounter> {
    Arc::new(TextSurroundings {
        exact: super::shared_counter(super::Encoding::O200k),
        estimate: estimate(),
    })
}

#[cfg(not(feature = "o200k"))]
fn beside() -> Arc<dyn TokenCounter> {
    estimate()
}

/// Exact counts, and no less than an estimate for what is not plain ASCII.
#[cfg(feature = "o200k")]
struct TextSurroundings {
    exact: Arc<dyn TokenCounter>,
    estimate: Arc<dyn TokenCounter>,
}

#[cfg(feature = "o200k")]
impl TokenCounter for TextSurroundings {
    fn count(&self, text: &str) -> i64 {
        let exact = self.exact.count(text);
        if text.is_ascii() { exact } else { exact.max(self.estimate.count(text)) }
    }

    fn is_ready(&self) -> bool {
        self.exact.is_ready()
    }

    fn name(&self) -> &str {
        self.exact.name()
    }
}

/// Another counter's numbers, so many percent of them.
struct ScaledCounter {
    /// The same texts come again on every turn: it remembers them, whatever the factor.
    counter: Arc<dyn TokenCounter>,
    percent: i64,
}

impl TokenCounter for ScaledCounter {
    fn count(&self, text: &str) -> i64 {
        let tokens = self.counter.count(text).saturating_mul(self.percent);
        tokens.saturating_add(99) / 100
    }

    fn is_ready(&self) -> bool {
        self.counter.is_ready()
    }

    fn name(&self) -> &str {
        "claude estimate"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_decides_however_the_name_is_written() {
        let older = [
            "claude-2.1",
            "claude-3-haiku-20240307",
            "claude-3-5-sonnet-latest",
            "claude-3-7-sonnet@20250219",
            "claude-sonnet-4-20250514",
            "claude-opus-4-1-20250805",
            "claude-opus-4-6",
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
            "openrouter/anthropic/claude-haiku-4.5",
        ];
        let newer = [
            "claude-opus-4-7",
            "anthropic/claude-opus-4.8",
            "claude-opus-5",
            "claude-opus-5-20260901",
            "claude-haiku-5-5",
            "anthropic.claude-sonnet-5-5-v1:0",
            "claude-opus-12",
            "claude",
            "claude-latest",
        ];
        for name in older {
            assert_eq!(ClaudeTokenizer::of_model(name), Some(ClaudeTokenizer::Older), "{name}");
        }
        for name in newer {
            assert_eq!(ClaudeTokenizer::of_model(name), Some(ClaudeTokenizer::Newer), "{name}");
        }
        for name in ["", "gpt-4o", "anthropic", "opus-4-7"] {
            assert_eq!(ClaudeTokenizer::of_model(name), None, "{name}");
        }
    }

    #[test]
    fn counts_are_rounded_up_and_do_not_wrap() {
        assert_eq!(claude_counter(130).count("one"), 2);
        assert_eq!(claude_counter(i64::MAX).count("one two three"), i64::MAX / 100);
        assert_eq!(claude_counter(130).count(""), 0);
    }

    #[cfg(feature = "o200k")]
    #[test]
    fn other_scripts_count_no_less_than_their_estimate() {
        for text in ["plain words, all of them", "слова на другом языке", "漢字かな交じり文です"]
        {
            let (counted, estimated) = (claude_counter(100).count(text), estimate().count(text));
            let exact = super::super::shared_counter(crate::tokens::Encoding::O200k).count(text);
            assert_eq!(counted, if text.is_ascii() { exact } else { exact.max(estimated) });
        }
    }
}
