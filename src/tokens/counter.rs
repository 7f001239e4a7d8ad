//! The trait every counter implements, items that it counts, and a counter made from a function.

use std::fmt;
use std::sync::Arc;

use auto_impl::auto_impl;

use crate::error::CupelError;
use crate::model::ContextItem;

/// Says how many tokens a text is.
///
/// A counter is a pure function of the text: results may be cached for as long as it lives.
///
/// ```
/// use cupel::tokens::TokenCounter;
///
/// /// For a model that reads bytes.
/// struct Bytes;
///
/// impl TokenCounter for Bytes {
///     fn count(&self, text: &str) -> i64 {
///         i64::try_from(text.len()).unwrap_or(i64::MAX)
///     }
/// }
///
/// assert_eq!(Bytes.count("hello"), 5);
/// assert_eq!(Bytes.name(), "Bytes");
/// ```
#[auto_impl(&, Arc, Box)]
pub trait TokenCounter: Send + Sync {
    /// The number of tokens of `text` on its own, without any message format around it.
    fn count(&self, text: &str) -> i64;

    /// A conservative number, found without counting: the bytes of the text, unless a counter knows better. A
    /// layer goes by it for new texts if no thread is free to count them.
    fn upper_bound(&self, text: &str) -> i64 {
        i64::try_from(text.len()).unwrap_or(i64::MAX)
    }

    /// Returns true if a count is quick. A counter that has to load something first, such as a
    /// vocabulary, returns `false` until it has. A layer makes its first count on the blocking pool.
    fn is_ready(&self) -> bool {
        true
    }

    /// Nanoseconds that a byte of new text takes, about. Adapters count long requests on the blocking pool.
    fn nanoseconds_per_byte(&self) -> u64 {
        35
    }

    /// The name to use in reports; the type's name unless overridden.
    fn name(&self) -> &str {
        crate::names::short_type_name::<Self>()
    }
}

impl ContextItem {
    /// Creates an item whose tokens `counter` counts, with every optional field at its default.
    ///
    /// ```
    /// use cupel::tokens::HeuristicCounter;
    /// use cupel::{ContextItem, ContextKind};
    ///
    /// let item = ContextItem::counted("Deploys are frozen on Fridays.", &HeuristicCounter)?;
    /// assert_eq!(item.tokens(), 7);
    /// let memory = item.to_builder().kind(ContextKind::memory()).build()?;
    /// assert_eq!(memory.tokens(), 7);
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidItem`] when `content` is empty.
    pub fn counted<C: TokenCounter + ?Sized>(
        content: impl Into<Arc<str>>,
        counter: &C,
    ) -> Result<Self, CupelError> {
        let content = content.into();
        let tokens = counter.count(&content);
        Self::new(content, tokens)
    }
}

impl fmt::Debug for dyn TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A counter made from a function; see [`counter_fn`].
#[derive(Clone)]
pub struct CounterFn<F> {
    name: String,
    count: F,
}

/// Makes a counter from a function, for a tokenizer that is at hand anyway.
///
/// ```
/// use cupel::tokens::{TokenCounter, counter_fn};
///
/// let words = counter_fn("words", |text| text.split_whitespace().count() as i64);
/// assert_eq!(words.count("to be or not"), 4);
/// ```
pub fn counter_fn<F: Fn(&str) -> i64 + Send + Sync>(
    name: impl Into<String>,
    count: F,
) -> CounterFn<F> {
    CounterFn { name: name.into(), count }
}

impl<F: Fn(&str) -> i64 + Send + Sync> TokenCounter for CounterFn<F> {
    fn count(&self, text: &str) -> i64 {
        (self.count)(text)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl<F> fmt::Debug for CounterFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterFn").field("name", &self.name).finish_non_exhaustive()
    }
}
