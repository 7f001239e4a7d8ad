//! What is asked.

use std::sync::Arc;

/// The user's last words, and what has been done about them since.
///
/// ```
/// use cupel::relevance::Question;
///
/// let question = Question::new("Why was my card charged twice?").since("looked up order 7731");
/// assert_eq!(question.text(), "Why was my card charged twice?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Question {
    text: Arc<str>,
    since: Option<Arc<str>>,
}

impl Question {
    /// A question in the user's words.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), since: None }
    }

    /// Adds what an agent has done since it was asked: its calls, and the newest results. A judge
    /// gives these words less weight.
    pub fn since(mut self, text: impl Into<Arc<str>>) -> Self {
        self.since = Some(text.into());
        self
    }

    /// The question without what was done since.
    pub fn alone(mut self) -> Self {
        self.since = None;
        self
    }

    /// The user's words.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What has been done since.
    #[must_use]
    pub fn work(&self) -> Option<&str> {
        self.since.as_deref()
    }
}

impl<T: Into<Arc<str>>> From<T> for Question {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}
