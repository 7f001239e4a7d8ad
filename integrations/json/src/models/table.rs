//! The built-in models, as OpenAI's model pages have them.
//!
//! Windows and limits: <https://platform.openai.com/docs/models>. Images:
//! <https://platform.openai.com/docs/guides/images-vision#calculating-costs>. Where documents
//! disagree, the entry that counts more stands here. Prompt caches:
//! <https://platform.openai.com/docs/guides/prompt-caching>.

use cupel::tokens::Encoding::{Cl100k, O200k};

use super::openai::{CacheRule, Model};
use crate::count::ImageRule;

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

pub(super) const MODELS: &[(&str, Model)] = &[
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
