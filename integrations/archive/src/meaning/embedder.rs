//! The embedder of an archive, and its settings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cupel::gather::Embedder;

use crate::error::Result;
use crate::{ArchiveError, names};

/// An embedding model for an archive: its messages get vectors, and searches go by words and by vectors.
///
/// **What leaves the process**: the texts of all messages that are archived, and the questions of
/// searches, go wherever the embedder sends them.
///
/// ```
/// use std::time::Duration;
/// use async_trait::async_trait;
/// use cupel::gather::{BoxError, EmbedAs, Embedder};
/// use cupel_archive::{Archive, ArchiveEmbedder};
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
///         let count = |text: &str, letter| text.chars().filter(|it| *it == letter).count() as f32;
///         let vector = |text: &&str| ('a'..='z').map(|letter| count(text, letter)).collect();
///         Ok(texts.iter().map(vector).collect())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), cupel_archive::ArchiveError> {
/// let embedder = ArchiveEmbedder::new(Letters).deadline(Duration::from_millis(200));
/// let archive = Archive::builder("sqlite::memory:").embedder(embedder).open().await?;
/// # archive.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct ArchiveEmbedder {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) deadline: Duration,
    pub(crate) timeout: Duration,
    pub(crate) weight: f64,
    pub(crate) batch: usize,
    pub(crate) range: (f64, f64),
    pub(crate) most_compared: u64,
}

impl ArchiveEmbedder {
    /// Time that the question's part by meaning may take by default: half a second.
    pub const DEFAULT_DEADLINE: Duration = Duration::from_millis(500);

    /// Texts of one request by default.
    pub const DEFAULT_BATCH: usize = 32;

    /// Vectors of a tenant that are compared by default.
    pub const DEFAULT_MOST_COMPARED: u64 = 100_000;

    /// Embeds by this model. Values and `Arc`s go in.
    pub fn new(embedder: impl Embedder + 'static) -> Self {
        Self {
            embedder: Arc::new(embedder),
            deadline: Self::DEFAULT_DEADLINE,
            timeout: Duration::from_secs(30),
            weight: 0.5,
            batch: Self::DEFAULT_BATCH,
            range: (0.15, 0.6),
            most_compared: Self::DEFAULT_MOST_COMPARED,
        }
    }

    /// Sets the time that a search gives its part by meaning: embedding the question, and comparing
    /// vectors. A search that is late goes by words alone. A [recall](crate::source::Recall) gives at
    /// most half of its own deadline.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the time of one request for the vectors of messages, in the background; 30 seconds unless
    /// set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the share of the vectors in a message's relevance; 0.5 unless set. The rest goes by words.
    pub fn weight(mut self, share: f64) -> Self {
        self.weight = share;
        self
    }

    /// Sets the texts of one request; [32](Self::DEFAULT_BATCH) unless set.
    pub fn batch(mut self, texts: usize) -> Self {
        self.batch = texts.clamp(1, 2_048);
        self
    }

    /// Sets which cosines become a relevance from 0 to 1; from 0.15 to 0.6 unless set, as MiniLM wants
    /// it. Models differ: with E5 all cosines are above 0.7, and 0.75 to 0.95 tells texts apart. What is
    /// no closer than the floor is not found by its vector.
    pub fn range(mut self, floor: f64, ceiling: f64) -> Self {
        self.range = (floor, ceiling);
        self
    }

    /// Sets how many vectors of a tenant a search in all its conversations compares, those of the latest
    /// conversations first; [100,000](Self::DEFAULT_MOST_COMPARED) unless set. PostgreSQL with `pgvector`
    /// compares all of them.
    pub fn most_compared(mut self, vectors: u64) -> Self {
        self.most_compared = vectors.max(1);
        self
    }

    /// Checks the settings.
    pub(crate) fn check(&self) -> Result<()> {
        names::checked("model", self.embedder.model())?;
        if !(0.0..=1.0).contains(&self.weight) {
            let problem = format!("got {}, expected a number from 0 to 1", self.weight);
            return Err(ArchiveError::argument("embedder weight", problem));
        }
        let (floor, ceiling) = self.range;
        if !((-1.0..1.0).contains(&floor) && ceiling > floor && ceiling <= 1.0) {
            let problem = format!(
                "got {floor} to {ceiling}, expected two cosines from -1 to 1, the smaller one first"
            );
            return Err(ArchiveError::argument("embedder range", problem));
        }
        for (field, time) in
            [("embedder deadline", self.deadline), ("embedder timeout", self.timeout)]
        {
            if time.is_zero() {
                let problem = "got zero, expected some time; or leave the embedder out";
                return Err(ArchiveError::argument(field, problem));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ArchiveEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveEmbedder")
            .field("model", &self.embedder.model())
            .field("deadline", &self.deadline)
            .field("timeout", &self.timeout)
            .field("weight", &self.weight)
            .field("batch", &self.batch)
            .field("range", &self.range)
            .field("most_compared", &self.most_compared)
            .finish()
    }
}
