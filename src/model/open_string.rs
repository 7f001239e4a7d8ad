//! Open string vocabularies that compare without regard to ASCII case.

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
        pub struct $name:ident, $field:literal, default = $default:ident,
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
                pub const fn $constructor() -> Self {
                    Self(Text::Known($text))
                }
            )+

            /// The text as it was given; comparisons ignore ASCII case.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The text as it may be shown where content may not, such as in telemetry.
            ///
            /// It is an open string: a program may have made it from anything. It is shown as it is
            /// when it looks like a name (ASCII letters, digits and `_-.:/`, at most 64 of them), and
            /// as `Other` when it may be text.
            ///
            /// ```
            /// use cupel::ContextKind;
            ///
            /// assert_eq!(ContextKind::document().label(), "Document");
            /// assert_eq!(ContextKind::new("crm:note")?.label(), "crm:note");
            /// assert_eq!(ContextKind::new("what the customer said")?.label(), "Other");
            /// # Ok::<(), cupel::CupelError>(())
            /// ```
            pub fn label(&self) -> &str {
                name_or_other(self.as_str())
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

        impl FromStr for $name {
            type Err = CupelError;

            fn from_str(text: &str) -> Result<Self, CupelError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = CupelError;

            fn try_from(text: String) -> Result<Self, CupelError> {
                Self::new(text)
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
    /// Kind of a context item: a message, a document, a tool's output, or any other word.
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
    pub struct ContextKind, "kind", default = message,
    {
        /// A conversational message; the default kind.
        message = "Message",
        /// A document or the content of a file.
        document = "Document",
        /// Output of a tool.
        tool_output = "ToolOutput",
        /// A stored memory or fact.
        memory = "Memory",
        /// A system-level instruction.
        system_prompt = "SystemPrompt",
    }
}

open_string! {
    /// Source of a context item.
    ///
    /// Comparison, ordering and hashing ignore ASCII case; the spelling is kept for display.
    ///
    /// ```
    /// use cupel::ContextSource;
    ///
    /// assert_eq!(ContextSource::new("RAG")?, ContextSource::rag());
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    pub struct ContextSource, "source", default = chat,
    {
        /// A chat with the user; the default source.
        chat = "Chat",
        /// A tool or function call.
        tool = "Tool",
        /// Retrieval.
        rag = "Rag",
    }
}

/// The longest text that is still a name.
const LONGEST_NAME: usize = 64;

/// The text if it looks like a name, and `Other` if it may be anything.
fn name_or_other(text: &str) -> &str {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    let is_name = text.len() <= LONGEST_NAME && text.bytes().all(allowed);
    if is_name { text } else { "Other" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_look_like_names_are_shown_as_they_are() {
        for name in ["Message", "SystemPrompt", "Ticket", "tool-output.v2", "crm:note"] {
            assert_eq!(ContextKind::new(name).unwrap().label(), name);
        }
    }

    #[test]
    fn kinds_that_look_like_text_are_not_shown() {
        for text in ["the customer said", "a\nb", "größe", "a@b.example", &"x".repeat(65)] {
            assert_eq!(ContextKind::new(text).unwrap().label(), "Other");
        }
    }
}
