//! The languages whose words are reduced to their stems.

use std::fmt;
use std::str::FromStr;

use frostem::{Algorithm, Stemmer};

use crate::error::ConfigError;

/// The language of a conversation: which endings of its words do not matter.
///
/// A wrong one does little harm, since the question's words lose the same endings as the texts'.
///
/// ```
/// use cupel::relevance::Language;
///
/// assert_eq!("german".parse(), Ok(Language::German));
/// let error = "klingon".parse::<Language>().unwrap_err();
/// assert!(error.to_string().starts_with(r#"Lexical: language: is "klingon", expected one of none, "#));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
#[allow(missing_docs)] // each is its own name
pub enum Language {
    /// Words as they are.
    None,
    Danish,
    Dutch,
    #[default]
    English,
    Finnish,
    French,
    German,
    Italian,
    Norwegian,
    Portuguese,
    Russian,
    Spanish,
    Swedish,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::None,
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
    ];

    /// The name, as files spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Danish => "danish",
            Self::Dutch => "dutch",
            Self::English => "english",
            Self::Finnish => "finnish",
            Self::French => "french",
            Self::German => "german",
            Self::Italian => "italian",
            Self::Norwegian => "norwegian",
            Self::Portuguese => "portuguese",
            Self::Russian => "russian",
            Self::Spanish => "spanish",
            Self::Swedish => "swedish",
        }
    }

    pub(super) fn stemmer(self) -> Option<Stemmer> {
        let algorithm = match self {
            Self::None => return None,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::English => Algorithm::English,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
        };
        Some(Stemmer::new(algorithm))
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, ConfigError> {
        let found = Self::ALL.into_iter().find(|language| language.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            let message = format!("is {name:?}, expected one of {}", names.join(", "));
            ConfigError::new("Lexical", "language", message)
        })
    }
}
