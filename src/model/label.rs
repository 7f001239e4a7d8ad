//! What telemetry may call a kind or a reason: a name from a fixed set, or one that looks like one.

use super::{ContextKind, ContextSource, ExclusionReason};

/// The longest text that is still a name.
const LONGEST_NAME: usize = 64;

/// The text if it looks like a name, and `Other` if it may be anything.
fn name_or_other(text: &str) -> &str {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    let is_name = text.len() <= LONGEST_NAME && text.bytes().all(allowed);
    if is_name { text } else { "Other" }
}

impl ContextSource {
    /// The source as it may be shown where content may not: as it is when it looks like the name of
    /// a source, by the rule of [`ContextKind::label`], and as `Other` when it may be text.
    #[must_use]
    pub fn label(&self) -> &str {
        name_or_other(self.as_str())
    }
}

impl ContextKind {
    /// The kind as telemetry may show it.
    ///
    /// A kind is an open string: a program may have made it from anything. It is shown as it is
    /// when it looks like the name of a kind (ASCII letters, digits and `_-.:/`, at most 64 of
    /// them), and as `Other` when it may be text.
    ///
    /// ```
    /// use cupel::ContextKind;
    ///
    /// assert_eq!(ContextKind::document().label(), "Document");
    /// assert_eq!(ContextKind::new("crm:note")?.label(), "crm:note");
    /// assert_eq!(ContextKind::new("what the customer said")?.label(), "Other");
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    #[must_use]
    pub fn label(&self) -> &str {
        name_or_other(self.as_str())
    }
}

impl ExclusionReason {
    /// The reason as telemetry may show it: its name, or `Unknown` when this version does not know
    /// it, for then the name is somebody's text.
    ///
    /// ```
    /// use cupel::ExclusionReason;
    ///
    /// let unknown = ExclusionReason::unknown("somebody's text");
    /// assert_eq!(unknown.label(), "Unknown");
    /// assert_eq!(ExclusionReason::NegativeTokens { tokens: -1 }.label(), "NegativeTokens");
    /// ```
    #[must_use]
    pub fn label(&self) -> &'static str {
        let name = self.name();
        Self::NAMES.into_iter().find(|known| *known == name).unwrap_or("Unknown")
    }
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

    #[test]
    fn a_reason_with_the_name_of_another_is_that_one() {
        let read = ExclusionReason::unknown("Filtered");
        assert_eq!(read.label(), "Filtered");
    }
}
