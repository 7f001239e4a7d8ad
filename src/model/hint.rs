//! What a judge says about one text.

use std::sync::Arc;

/// How close a text is to the question, from 0 to 1, and the words that say so.
///
/// ```
/// use cupel::relevance::Hint;
///
/// let hint = Hint::new(0.8).with_words(["refund", "INV-2041"]);
/// assert_eq!(hint.words().collect::<Vec<_>>(), ["refund", "INV-2041"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hint {
    value: f64,
    /// Shared, since many texts match the same words.
    words: Option<Arc<[Box<str>]>>,
}

impl Hint {
    /// A hint without words. What is not a number from 0 to 1 is not believed.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Self { value, words: None }
    }

    /// Adds the words that matched, the most telling first.
    #[must_use]
    pub fn with_words<W: Into<Box<str>>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words = Some(words.into_iter().map(Into::into).collect());
        self
    }

    /// As [`with_words`](Self::with_words), for words that other texts share.
    pub(crate) fn with_shared_words(mut self, words: Option<Arc<[Box<str>]>>) -> Self {
        self.words = words;
        self
    }

    /// The same words with another value.
    pub(crate) fn with_value(mut self, value: f64) -> Self {
        self.value = value;
        self
    }

    /// From 0, not at all, to 1.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The words of the question that the text has, the most telling first.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(|words| words.iter()).map(|word| &**word)
    }
}
