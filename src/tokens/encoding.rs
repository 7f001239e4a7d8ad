//! A model's name taken apart, OpenAI's two current encodings, and which model uses which.

use std::fmt;

use crate::error::CupelError;

/// Rule by which a model cuts text into tokens.
///
/// ```
/// use cupel::tokens::Encoding;
///
/// assert_eq!(Encoding::for_model("gpt-4o-mini")?, Encoding::O200k);
/// assert_eq!(Encoding::for_model("ft:gpt-3.5-turbo-0125:acme::8xYz")?, Encoding::Cl100k);
/// let error = Encoding::for_model("some-other-model").unwrap_err();
/// assert!(error.to_string().starts_with("no encoding is known for model \"some-other-model\""));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// `o200k_base`: GPT-4o, GPT-4.1, GPT-4.5, GPT-5, the o-series and gpt-oss.
    O200k,
    /// `cl100k_base`: GPT-4, GPT-3.5 and the third-generation embeddings.
    Cl100k,
}

/// Model families: a name belongs to one when it equals it or goes on with `-` (a variant or a
/// date). `gpt-4` is therefore no prefix of `gpt-4o`, and a new `gpt-6` is unknown.
const FAMILIES: &[(&str, Encoding)] = &[
    ("chatgpt-4o", Encoding::O200k),
    ("gpt-4.1", Encoding::O200k),
    ("gpt-4.5", Encoding::O200k),
    ("gpt-4o", Encoding::O200k),
    ("gpt-5", Encoding::O200k),
    ("gpt-oss", Encoding::O200k),
    ("o1", Encoding::O200k),
    ("o3", Encoding::O200k),
    ("o4-mini", Encoding::O200k),
    ("gpt-3.5", Encoding::Cl100k),
    ("gpt-35-turbo", Encoding::Cl100k),
    ("gpt-4", Encoding::Cl100k),
    ("text-embedding-3", Encoding::Cl100k),
    ("text-embedding-ada-002", Encoding::Cl100k),
];

impl Encoding {
    /// The encoding of a model, by the model's name.
    ///
    /// A date or variant after the family's name, a leading `openai/` and the `ft:` form of
    /// fine-tuned models are understood.
    ///
    /// # Errors
    ///
    /// [`CupelError::UnknownModel`] for any other name: a wrong count is worse than none.
    pub fn for_model(model: &str) -> Result<Self, CupelError> {
        let name = ModelName::parse(model);
        FAMILIES
            .iter()
            .find(|(family, _)| name.is_a(family))
            .map(|(_, encoding)| *encoding)
            .ok_or_else(|| CupelError::UnknownModel {
                model: model.to_owned(),
                known: FAMILIES.iter().map(|(family, _)| *family).collect(),
            })
    }

    /// The encoding's published name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// Returns true if its vocabulary is part of this program: feature `o200k` or `cl100k` is on, or
    /// `tiktoken`, which is both. Without it there are only estimates.
    #[must_use]
    pub const fn is_built_in(self) -> bool {
        match self {
            Self::O200k => cfg!(feature = "o200k"),
            Self::Cl100k => cfg!(feature = "cl100k"),
        }
    }

    /// Percent of a budget that stays free for what its counts may miss: none, or 15 % where there are only
    /// estimates.
    #[must_use]
    pub const fn margin_percent(self) -> f64 {
        if self.is_built_in() { 0.0 } else { 15.0 }
    }

    /// The feature that brings its vocabulary.
    #[cfg(any(feature = "cl100k", feature = "o200k"))]
    pub(super) const fn feature(self) -> &'static str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A model's name as people write it: with a vendor before it, or as OpenAI names what was tuned.
///
/// ```
/// use cupel::tokens::ModelName;
///
/// let name = ModelName::parse("openai/ft:gpt-4o-2024-08-06:acme::8xYz");
/// assert_eq!((name.vendor(), name.model()), (Some("openai"), "gpt-4o-2024-08-06"));
/// // A variant goes on with `-`: a date, a size.
/// assert!(name.is_a("gpt-4o") && !name.is_a("gpt-4"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    written: &'a str,
    vendor: Option<&'a str>,
    model: &'a str,
}

impl<'a> ModelName<'a> {
    /// Takes a name apart; any text is one.
    #[must_use]
    pub fn parse(written: &'a str) -> Self {
        let (vendor, name) = match written.split_once('/') {
            Some((vendor, name)) => (Some(vendor), name),
            None => (None, written),
        };
        let model = match name.strip_prefix("ft:") {
            Some(tuned) => tuned.split(':').next().unwrap_or(tuned),
            None => name,
        };
        Self { written, vendor, model }
    }

    /// Part before the first `/`.
    #[must_use]
    pub fn vendor(&self) -> Option<&'a str> {
        self.vendor
    }

    /// The name without its vendor; of a tuned model, the name of what was tuned.
    #[must_use]
    pub fn model(&self) -> &'a str {
        self.model
    }

    /// Returns true if it is the model `family` or a variant of it. Only `openai` may stand before it
    /// if `family` does not say so.
    #[must_use]
    pub fn is_a(&self, family: &str) -> bool {
        let is_variant = |name: &str| {
            let rest = name.strip_prefix(family);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let is_openai = matches!(self.vendor, None | Some("openai"));
        is_variant(self.written) || is_openai && is_variant(self.model)
    }
}
