//! Facts of each of OpenAI's models: its window, its encoding, and how it counts images and tools.
//!
//! The table is as OpenAI's model pages have it. Windows and limits:
//! <https://platform.openai.com/docs/models>. Images:
//! <https://platform.openai.com/docs/guides/images-vision#calculating-costs>. Where documents disagree, the
//! entry that counts more is used. Prompt caches:
//! <https://platform.openai.com/docs/guides/prompt-caching>.

use std::sync::Arc;

use cupel::layer::WindowLimits;
use cupel::tokens::Encoding::{Cl100k, O200k};
use cupel::tokens::{
    Encoding, FormatOverhead, ModelName, TokenCounter, ToolPrices, shared_counter,
};

use super::{ModelFacts, ModelTable};
use crate::media::ImageRule;

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

/// Rule by which a model's prompt cache finds a prefix again.
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

    /// Rule by which its prompt cache finds what it has seen.
    #[must_use]
    pub const fn cache_rule(&self) -> CacheRule {
        self.cache
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

    fn margin_percent(&self) -> f64 {
        self.encoding.margin_percent()
    }

    fn fit(model: &str, family: &str) -> Option<usize> {
        let fits = ModelName::parse(model).is_a(family);
        fits.then(|| family.strip_prefix("openai/").unwrap_or(family).len())
    }
}

/// Rule by which a server counts the tools of a request.
///
/// For one large set of tools the cookbook's rule gives 1,438 tokens, OpenAI's own rendering is about
/// 1,146, and the JSON has 1,979. The default is the cookbook's rule: it is published, and on the
/// safe side for OpenAI's models. Servers that put the definitions into the prompt as they are, as most chat templates of open models do,
/// count [`Json`](Self::Json).
///
/// ```
/// use cupel::tokens::Encoding;
/// use cupel_json::{Model, Models, ToolRule};
///
/// let local = Model::new(32_768, Encoding::O200k).tools(ToolRule::Json);
/// let models = Models::new().with("my-model", local);
/// # let _ = models;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolRule {
    /// By the steps of the cookbook's rule, at these prices.
    Cookbook(ToolPrices),
    /// As the JSON that is sent.
    Json,
}

impl ToolRule {
    /// GPT-4o and later.
    pub const CURRENT: Self = Self::Cookbook(ToolPrices::CURRENT);

    /// GPT-3.5 and GPT-4.
    pub const OLDER: Self = Self::Cookbook(ToolPrices::OLDER);
}

const fn tiles(base: i64, tile: i64) -> ImageRule {
    ImageRule::Tiles { base, tile }
}

/// So many hundredths of a token for each patch, at most 1,536 patches.
const fn patches(hundredths: i64) -> ImageRule {
    ImageRule::Patches { hundredths, most: 1_536, most_original: 1_536 }
}

/// Newer models take large images in full when asked to.
const LARGE_PATCHES: ImageRule =
    ImageRule::Patches { hundredths: 120, most: 2_500, most_original: 10_000 };

/// 400,000 tokens, of which at most 272,000 are prompt.
const GPT_5: Model = Model::new(400_000, O200k).max_input(272_000).images(tiles(70, 140));

/// 1,050,000 tokens, of which at most 922,000 are prompt.
const GPT_5_4: Model = Model::new(1_050_000, O200k).max_input(922_000).images(LARGE_PATCHES);

const GPT_4_1: Model = Model::new(1_047_576, O200k);

const REASONING: Model = Model::new(200_000, O200k).images(tiles(75, 150));

const MODELS: &[(&str, Model)] = &[
    ("gpt-3.5-turbo", Model::new(16_385, Cl100k)),
    ("gpt-3.5-turbo-0613", Model::new(4_096, Cl100k)),
    ("gpt-3.5-turbo-instruct", Model::new(4_096, Cl100k)),
    ("gpt-35-turbo", Model::new(16_385, Cl100k)),
    ("gpt-4", Model::new(8_192, Cl100k)),
    ("gpt-4-32k", Model::new(32_768, Cl100k)),
    ("gpt-4-0125-preview", Model::new(128_000, Cl100k)),
    ("gpt-4-1106-preview", Model::new(128_000, Cl100k)),
    ("gpt-4-turbo", Model::new(128_000, Cl100k)),
    ("gpt-4-vision-preview", Model::new(128_000, Cl100k)),
    ("gpt-4o", Model::new(128_000, O200k)),
    ("gpt-4o-mini", Model::new(128_000, O200k).images(tiles(2_833, 5_667))),
    ("chatgpt-4o", Model::new(128_000, O200k)),
    ("gpt-audio", Model::new(128_000, O200k)),
    ("gpt-4.1", GPT_4_1),
    ("gpt-4.1-mini", GPT_4_1.images(patches(162))),
    ("gpt-4.1-nano", GPT_4_1.images(patches(246))),
    ("gpt-4.5", Model::new(128_000, O200k)),
    ("gpt-5", GPT_5),
    ("gpt-5-chat", Model::new(128_000, O200k).images(tiles(70, 140))),
    ("gpt-5-mini", GPT_5.images(patches(162))),
    ("gpt-5-nano", GPT_5.images(patches(246))),
    ("gpt-5.1", GPT_5),
    ("gpt-5.1-chat", Model::new(128_000, O200k).images(tiles(70, 140))),
    ("gpt-5.2", GPT_5.images(patches(120))),
    ("gpt-5.2-chat", Model::new(128_000, O200k).images(patches(120))),
    ("gpt-5.3-codex", GPT_5.images(patches(120))),
    ("gpt-5.4", GPT_5_4),
    ("gpt-5.4-mini", GPT_5.images(LARGE_PATCHES)),
    ("gpt-5.4-nano", GPT_5.images(LARGE_PATCHES)),
    ("gpt-5.5", GPT_5_4),
    ("gpt-5.6", GPT_5_4.cache(CacheRule::Breakpoints)),
    ("gpt-oss", Model::new(131_072, O200k)),
    ("o1", REASONING),
    ("o1-mini", Model::new(128_000, O200k)),
    ("o1-preview", Model::new(128_000, O200k)),
    ("o3", REASONING),
    ("o4-mini", Model::new(200_000, O200k).images(patches(172))),
    ("codex-mini", Model::new(200_000, O200k)),
    ("computer-use-preview", Model::new(8_192, O200k).images(tiles(65, 129))),
];

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
