//! Facts of each of OpenAI's models: its window, its encoding, and how it counts images and tools.

use std::sync::Arc;

use cupel::layer::WindowLimits;
use cupel::tokens::{Encoding, FormatOverhead, ModelName, TokenCounter, shared_counter};

use super::table::MODELS;
use super::{ModelFacts, ModelTable};
use crate::count::{ImageRule, ToolRule};

/// The facts of one model that a budget needs.
///
/// ```
/// use cupel::tokens::Encoding;
/// use cupel_json::{ImageRule, Model};
///
/// let model = Model::new(32_768, Encoding::O200k)
///     .max_input(28_672)
///     .images(ImageRule::Tiles { base: 85, tile: 170 });
/// assert_eq!(model.window(), 32_768);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    limits: WindowLimits,
    encoding: Encoding,
    pub(crate) images: ImageRule,
    pub(crate) tools: ToolRule,
    pub(crate) cache: CacheRule,
}

/// How a model's prompt cache finds what it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CacheRule {
    /// By any prefix, or nothing is known of it: requests get no breakpoints.
    #[default]
    Prefix,
    /// Only at breakpoints, as OpenAI's models do from GPT-5.6 on: requests that a
    /// [plan](cupel::conversation::plan) cuts get `prompt_cache_breakpoint` where the next one will
    /// look.
    Breakpoints,
}

impl Model {
    /// A model with this window for prompt and answer together. Images and tools are counted as
    /// the encoding's best-known models count them.
    #[must_use]
    pub const fn new(window: i64, encoding: Encoding) -> Self {
        let tools = match encoding {
            Encoding::Cl100k => ToolRule::OLDER,
            _ => ToolRule::CURRENT,
        };
        let images = ImageRule::Tiles { base: 85, tile: 170 };
        let cache = CacheRule::Prefix;
        Self { limits: WindowLimits::new(window), encoding, images, tools, cache }
    }

    /// Limits the prompt alone, where the window may not be used up by it.
    #[must_use]
    pub const fn max_input(mut self, tokens: i64) -> Self {
        self.limits = self.limits.max_input(tokens);
        self
    }

    /// Sets how images are counted.
    #[must_use]
    pub const fn images(mut self, rule: ImageRule) -> Self {
        self.images = rule;
        self
    }

    /// Sets how tools are counted.
    #[must_use]
    pub const fn tools(mut self, rule: ToolRule) -> Self {
        self.tools = rule;
        self
    }

    /// Sets how its prompt cache finds what it has seen; by any prefix unless set.
    #[must_use]
    pub const fn cache(mut self, rule: CacheRule) -> Self {
        self.cache = rule;
        self
    }

    /// Tokens for prompt and answer together.
    #[must_use]
    pub fn window(&self) -> i64 {
        self.limits.window
    }

    /// The encoding of its text.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }
}

/// The models that are known, by name. Models can be added and changed.
///
/// A name also stands for its variants: `gpt-4o` for `gpt-4o-2024-08-06`. The longest name that
/// fits decides. A leading `openai/` and the `ft:` form of fine-tuned models are understood.
///
/// ```
/// use cupel::tokens::Encoding;
/// use cupel_json::{Model, Models};
///
/// let models = Models::new().with("llama-local", Model::new(8_192, Encoding::Cl100k));
/// assert_eq!(models.get("gpt-4o-2024-08-06")?.window(), 128_000);
/// assert_eq!(models.get("llama-local")?.window(), 8_192);
///
/// let error = models.get("gpt-99").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "nothing is known about model \"gpt-99\"; add it with \
///      OpenAiAdapter::models(Models::new().with(\"gpt-99\", Model::new(window, encoding)))",
/// );
/// # Ok::<(), cupel_json::UnknownModel>(())
/// ```
pub type Models = ModelTable<Model>;

impl ModelFacts for Model {
    const TABLE: &'static [(&'static str, Self)] = MODELS;
    const ADVICE: [&'static str; 2] =
        ["OpenAiAdapter::models(Models::new()", "Model::new(window, encoding)"];
    const FORMAT: FormatOverhead = FormatOverhead::CHAT;
    const EMPTY_RESULT: &'static str = "";

    fn limits(&self) -> WindowLimits {
        self.limits
    }

    fn counter(&self) -> Arc<dyn TokenCounter> {
        shared_counter(self.encoding)
    }

    fn fit(model: &str, family: &str) -> Option<usize> {
        let fits = ModelName::parse(model).is_a(family);
        fits.then(|| family.strip_prefix("openai/").unwrap_or(family).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides() {
        let models = Models::new();
        let window = |name: &str| models.get(name).map(|model| model.window());
        assert_eq!(window("gpt-4"), Ok(8_192));
        assert_eq!(window("gpt-4-0613"), Ok(8_192));
        assert_eq!(window("gpt-4-turbo-2024-04-09"), Ok(128_000));
        assert_eq!(window("gpt-4-32k-0613"), Ok(32_768));
        assert_eq!(window("gpt-4.1-mini-2025-04-14"), Ok(1_047_576));
        assert_eq!(window("o3-mini"), Ok(200_000));
        assert_eq!(window("openai/gpt-4o"), Ok(128_000));
        assert_eq!(window("ft:gpt-3.5-turbo-0125:acme::8xYz"), Ok(16_385));
        assert!(window("gpt-4x").is_err());
        assert!(window("").is_err());
    }

    #[test]
    fn the_table_knows_the_encoding_of_each_model_the_core_knows() {
        for (name, model) in MODELS {
            if let Ok(encoding) = Encoding::for_model(name) {
                assert_eq!(model.encoding(), encoding, "{name}");
            }
        }
    }

    #[test]
    fn an_added_model_replaces_its_like_in_the_table_and_a_fallback_comes_last() {
        let small = Model::new(1_000, Encoding::O200k);
        let models = Models::new().with("gpt-4o", small).otherwise(Model::new(7, Encoding::Cl100k));
        for name in ["gpt-4o", "gpt-4o-2024-08-06", "openai/gpt-4o", "ft:gpt-4o:acme::1"] {
            assert_eq!(models.get(name).unwrap().window(), 1_000, "{name}");
        }
        assert_eq!(models.get("gpt-4o-mini").unwrap().window(), 128_000);
        let routed = Models::new().with("openai/gpt-4o", small);
        assert_eq!(routed.get("openai/gpt-4o").unwrap().window(), 1_000);
        assert_eq!(routed.get("openai/gpt-4o-mini").unwrap().window(), 128_000);
        assert_eq!(routed.get("gpt-4o").unwrap().window(), 128_000);
        assert_eq!(models.get("gpt-4.1").unwrap().window(), 1_047_576);
        assert_eq!(models.get("something").unwrap().window(), 7);
        assert_eq!(models.of_request(None).unwrap().window(), 7);
        let tuned = Models::new().with("ft:gpt-4o:acme::1", small);
        assert_eq!(tuned.get("ft:gpt-4o:acme::1").unwrap().window(), 1_000);
    }
}
