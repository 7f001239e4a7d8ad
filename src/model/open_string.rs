//! Open string vocabularies that compare without regard to ASCII case.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::CupelError;
use crate::names;

/// The text of an open string: a constant, or shared text from the caller.
#[derive(Clone)]
enum Text {
    Known(&'static str),
    Shared(Arc<str>),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Self::Known(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        *self == *other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        let own = self.as_str();
        // Most comparisons meet the same constant or the same shared text.
        std::ptr::eq(own, other) || own.eq_ignore_ascii_case(other)
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        names::cmp_ignoring_case(self.as_str(), other.as_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.as_str().bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(0xff);
    }
}

macro_rules! open_string {
    (
        $(#[$meta:meta])*
        $name:ident, $field:literal, default = $default:ident,
        { $( $(#[$known_meta:meta])* $constructor:ident = $text:literal ),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(try_from = "String"))]
        pub struct $name(Text);

        impl $name {
            /// Creates a value from any text with at least one character that is not white space.
            ///
            /// # Errors
            ///
            /// [`CupelError::InvalidItem`] when `text` is empty or white space only.
            pub fn new(text: impl AsRef<str>) -> Result<Self, CupelError> {
                let text = text.as_ref();
                if text.trim().is_empty() {
                    return Err(CupelError::InvalidItem {
                        field: $field,
                        problem: format!(
                            "got {text:?}, expected at least one character that is not white space"
                        ),
                    });
                }
                $( if text == $text { return Ok(Self(Text::Known($text))); } )+
                Ok(Self(Text::Shared(Arc::from(text))))
            }

            $(
                $(#[$known_meta])*
                #[must_use]
                pub const fn $constructor() -> Self {
                    Self(Text::Known($text))
                }
            )+

            /// The text as it was given; comparisons ignore ASCII case.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$default()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == **other
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), self.as_str())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl FromStr for $name {
            type Err = CupelError;

            fn from_str(text: &str) -> Result<Self, CupelError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = CupelError;

            fn try_from(text: &str) -> Result<Self, CupelError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = CupelError;

            fn try_from(text: String) -> Result<Self, CupelError> {
                Self::new(text)
            }
        }

        impl From<$name> for Cow<'static, str> {
            fn from(value: $name) -> Self {
                match value.0 {
                    Text::Known(text) => Cow::Borrowed(text),
                    Text::Shared(text) => Cow::Owned(text.to_string()),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

open_string! {
    /// What a context item is: a message, a document, a tool's output, or any other word.
    ///
    /// Comparison, ordering and hashing ignore ASCII case; the spelling is kept for display.
    ///
    /// ```
    /// use cupel::ContextKind;
    ///
    /// let kind: ContextKind = "toolOUTPUT".parse()?;
    /// assert_eq!(kind, ContextKind::tool_output());
    /// assert_eq!(kind.to_string(), "toolOUTPUT");
    /// assert!(ContextKind::new("  ").is_err());
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ContextKind, "kind", default = message,
    {
        /// A conversational message; the default kind.
        message = "Message",
        /// A document or the content of a file.
        document = "Document",
        /// What a tool returned.
        tool_output = "ToolOutput",
        /// A stored memory or fact.
        memory = "Memory",
        /// A system-level instruction.
        system_prompt = "SystemPrompt",
    }
}

open_string! {
    /// Where a context item came from.
    ///
    /// Comparison, ordering and hashing ignore ASCII case; the spelling is kept for display.
    ///
    /// ```
    /// use cupel::ContextSource;
    ///
    /// assert_eq!(ContextSource::new("RAG")?, ContextSource::rag());
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ContextSource, "source", default = chat,
    {
        /// A chat with the user; the default source.
        chat = "Chat",
        /// A tool or function call.
        tool = "Tool",
        /// Retrieval.
        rag = "Rag",
    }
}
