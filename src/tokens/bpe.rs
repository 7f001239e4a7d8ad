//! Exact counts by byte-pair encoding.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Encoding, TokenCounter};
use crate::error::CupelError;

/// Counts exactly what OpenAI's `tiktoken` counts, with vocabularies that are built in.
///
/// Names of special tokens (`<|endoftext|>`) are counted as the plain text they are in a message.
///
/// The first count of an encoding in a process unpacks its vocabulary (about 0.1 s and 65 MB for
/// o200k); every counter shares it. Counting takes time linear in the text, so a hostile message
/// cannot hold up a call. Wrap it in a [`CachedCounter`](super::CachedCounter), so that an agent
/// counts each message once.
///
/// ```
/// use cupel::tokens::{BpeCounter, TokenCounter};
///
/// let counter = BpeCounter::for_model("gpt-4o")?;
/// assert_eq!(counter.count("hello world"), 2);
/// assert_eq!(counter.name(), "o200k_base");
/// assert!(BpeCounter::for_model("gpt-nonsense").is_err());
/// # Ok::<(), cupel::CupelError>(())
/// ```
// The crate behind it, `bpe-openai`, was chosen over two others. `tiktoken-rs` panics on a
// megabyte of spaces. `tiktoken` is three to seven times faster on prose and takes a third of the
// memory, but does not build on the declared `rust-version` and took ten seconds for a megabyte of
// mixed scripts. All three count alike; what speed is lost, the cache wins back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BpeCounter {
    encoding: Encoding,
}

impl BpeCounter {
    /// Counts by an encoding.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding }
    }

    /// Counts as a model does.
    ///
    /// # Errors
    ///
    /// [`CupelError::UnknownModel`] when the model's encoding is not known.
    pub fn for_model(model: &str) -> Result<Self, CupelError> {
        Encoding::for_model(model).map(Self::new)
    }

    /// The encoding.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Flag that is set once the encoding has been loaded in this process.
    fn loaded(self) -> &'static AtomicBool {
        static O200K: AtomicBool = AtomicBool::new(false);
        static CL100K: AtomicBool = AtomicBool::new(false);
        match self.encoding {
            Encoding::O200k => &O200K,
            Encoding::Cl100k => &CL100K,
        }
    }
}

impl TokenCounter for BpeCounter {
    fn count(&self, text: &str) -> i64 {
        let tokenizer = match self.encoding {
            Encoding::O200k => bpe_openai::o200k_base(),
            Encoding::Cl100k => bpe_openai::cl100k_base(),
        };
        if !self.is_ready() {
            self.loaded().store(true, Ordering::Release);
        }
        i64::try_from(tokenizer.count(text)).unwrap_or(i64::MAX)
    }

    fn is_ready(&self) -> bool {
        self.loaded().load(Ordering::Acquire)
    }

    fn name(&self) -> &str {
        self.encoding.name()
    }
}
