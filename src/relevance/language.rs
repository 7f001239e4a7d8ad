//! The languages whose words are reduced to their stems.

use std::fmt;
use std::str::FromStr;

use frostem::{Algorithm, Stemmer};

use crate::error::ConfigError;

/// Declares the languages, each by the name that its stemmer has.
macro_rules! languages {
    ($(#[$about:meta])* $count:literal $($(#[$default:meta])? $Language:ident $name:literal,)+) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
        #[non_exhaustive]
        #[allow(missing_docs)] // each is its own name
        pub enum Language {
            /// Words as they are.
            None,
            $($(#[$default])? $Language,)+
        }

        impl Language {
            /// All of them.
            pub const ALL: [Self; $count] = [Self::None, $(Self::$Language),+];

            /// The name, as files spell it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$Language => $name,)+
                }
            }

            pub(super) fn stemmer(self) -> Option<Stemmer> {
                match self {
                    Self::None => None,
                    $(Self::$Language => Some(Stemmer::new(Algorithm::$Language)),)+
                }
            }
        }
    };
}

languages! {
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
    13
    Danish "danish",
    Dutch "dutch",
    #[default] English "english",
    Finnish "finnish",
    French "french",
    German "german",
    Italian "italian",
    Norwegian "norwegian",
    Portuguese "portuguese",
    Russian "russian",
    Spanish "spanish",
    Swedish "swedish",
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
