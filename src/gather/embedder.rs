//! Models that turn texts into vectors, and stores that keep the vectors.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use super::BoxError;

/// Turns texts into vectors by a model, over a network or in the process.
///
/// Whoever asks one remembers the vectors and checks them, so an
/// implementation only has to ask its model.
///
/// ```
/// use async_trait::async_trait;
/// use cupel::gather::{BoxError, EmbedAs, Embedder};
///
/// /// Stands for a model.
/// struct Letters;
///
/// #[async_trait]
/// impl Embedder for Letters {
///     fn model(&self) -> &str {
///         "letters"
///     }
///
///     async fn embed(&self, _: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
///         let vector = |text: &&str| {
///             let count = |letter| text.chars().filter(|sign| *sign == letter).count() as f32;
///             ('a'..='z').map(count).collect()
///         };
///         Ok(texts.iter().map(vector).collect())
///     }
/// }
///
/// assert_eq!(Letters.model(), "letters");
/// ```
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Name of the model: vectors of different models are never compared.
    fn model(&self) -> &str;

    /// Vectors of texts, in their order. `EmbedAs` says whether they are questions or passages.
    ///
    /// # Errors
    ///
    /// Whatever keeps the model from answering.
    async fn embed(&self, what: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError>;
}

#[async_trait]
impl<E: Embedder + ?Sized> Embedder for Arc<E> {
    fn model(&self) -> &str {
        (**self).model()
    }

    async fn embed(&self, what: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        (**self).embed(what, texts).await
    }
}

impl fmt::Debug for dyn Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder").field("model", &self.model()).finish_non_exhaustive()
    }
}

/// Use of a text that is embedded. Some models want another prefix for each use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EmbedAs {
    /// A question, which looks for passages.
    Question,
    /// A text that a question may be about.
    Passage,
}

/// Keeps vectors beyond the process, by the hash of their text.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// Vectors of these texts that are known, in their order.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from answering.
    async fn load(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<Option<Arc<[f32]>>>, BoxError>;

    /// Keeps vectors.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from writing.
    async fn save(&self, model: &str, vectors: &[(TextHash, Arc<[f32]>)]) -> Result<(), BoxError>;
}

#[async_trait]
impl<S: VectorStore + ?Sized> VectorStore for Arc<S> {
    async fn load(
        &self,
        model: &str,
        texts: &[TextHash],
    ) -> Result<Vec<Option<Arc<[f32]>>>, BoxError> {
        (**self).load(model, texts).await
    }

    async fn save(&self, model: &str, vectors: &[(TextHash, Arc<[f32]>)]) -> Result<(), BoxError> {
        (**self).save(model, vectors).await
    }
}

impl fmt::Debug for dyn VectorStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VectorStore")
    }
}

/// SHA-256 of a text, so that it is the same in every process.
///
/// ```
/// use cupel::gather::TextHash;
///
/// let hash = TextHash::of("abc");
/// assert_eq!(hash.as_bytes().len(), 32);
/// assert!(hash.to_string().starts_with("ba7816bf8f01cfea"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextHash([u8; 32]);

impl TextHash {
    /// Hash of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextHash({self})")
    }
}
