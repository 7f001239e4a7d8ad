//! Progress of an archive's embedding, and the end of a model.

use std::time::{Duration, Instant};

use super::EmbeddingStatus;
use crate::archive::Archive;
use crate::error::{ArchiveError, Result};

/// Pauses between two looks at what still waits.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

impl Archive {
    /// Progress of the embedding: messages that wait for vectors, and what this process has done. All
    /// zero without an [embedder](crate::ArchiveBuilder::embedder).
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn embedding_status(&self) -> Result<EmbeddingStatus, ArchiveError> {
        let Some(meaning) = &self.shared.meaning else { return Ok(EmbeddingStatus::default()) };
        let waiting = self.shared.store.waiting(meaning.model());
        Ok(meaning.status(self.shared.within("count what has no vectors", waiting).await?))
    }

    /// Waits for so long that all messages have vectors. Returns how many still wait; they are embedded
    /// as long as the archive is open, and by the next one that is opened with the same model.
    ///
    /// # Errors
    ///
    /// Whatever the database says.
    pub async fn embed_within(&self, limit: Duration) -> Result<u64, ArchiveError> {
        let until = Instant::now().checked_add(limit);
        let mut pause = FIRST_PAUSE;
        loop {
            let waiting = self.embedding_status().await?.waiting;
            if waiting == 0 || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(waiting);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Deletes the vectors of a model, of all tenants, and returns how many there were. If it is the
    /// model of this archive's embedder, everything is embedded anew.
    ///
    /// Vectors of a model that is no longer used are in nobody's way, but take room until their messages
    /// are erased. A name whose vectors get another length has to be forgotten first.
    ///
    /// # Errors
    ///
    /// Whatever the database says; what was deleted before stays deleted.
    pub async fn forget_model(&self, model: &str) -> Result<u64, ArchiveError> {
        let forgotten = self.shared.however_long(self.shared.store.forget_model(model)).await;
        if let Some(meaning) = &self.shared.meaning {
            meaning.forget_questions();
            meaning.look_at_all();
        }
        forgotten
    }
}
