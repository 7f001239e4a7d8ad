//! The models whose vectors are kept, each with one length.

use super::{Store, Transaction};
use crate::error::{ArchiveError, Result};

/// A model as the database knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VectorModel {
    pub(crate) id: i64,
    pub(crate) dimensions: i64,
}

/// Vectors that one statement deletes when a model is forgotten, so that others can write between.
const FORGOTTEN_AT_ONCE: i64 = 1_000;

impl VectorModel {
    /// Refuses vectors of another length.
    pub(crate) fn check(&self, name: &str, dimensions: usize) -> Result<()> {
        if usize::try_from(self.dimensions).is_ok_and(|known| known == dimensions) {
            return Ok(());
        }
        let problem = format!(
            "has {dimensions} numbers, but the archive keeps {} for the model {name:?}; give another model another name, or call `Archive::forget_model`",
            self.dimensions
        );
        Err(ArchiveError::argument("vector", problem))
    }
}

impl Store {
    /// A model by its name; none while it has no vectors.
    pub(crate) async fn model(&self, name: &str) -> Result<Option<VectorModel>> {
        const MODEL: &str = "SELECT id, dimensions FROM cupel_models WHERE name = $1";
        let row = self.connection("find a model").await?.row(MODEL, &[&name]).await?;
        row.map(|row| Ok(VectorModel { id: row.get(0)?, dimensions: row.get(1)? })).transpose()
    }

    /// The model for vectors of this length; it is made where there is none. Nobody forgets it until
    /// the transaction ends.
    pub(super) async fn model_for(
        &self,
        transaction: &mut Transaction,
        name: &str,
        dimensions: usize,
    ) -> Result<VectorModel> {
        let lock = self.vector_statements().lock_model;
        let mut row = transaction.row(lock, &[&name]).await?;
        if row.is_none() {
            const MAKE: &str = "INSERT INTO cupel_models (name, dimensions) VALUES ($1, $2)
                                ON CONFLICT (name) DO NOTHING";
            let length = i64::try_from(dimensions).unwrap_or(i64::MAX);
            transaction.run(MAKE, &[&name, &length]).await?;
            row = transaction.row(lock, &[&name]).await?;
        }
        let row = row.ok_or_else(|| ArchiveError::corrupt("keep a vector", "the model is gone"))?;
        let model = VectorModel { id: row.get(0)?, dimensions: row.get(1)? };
        model.check(name, dimensions)?;
        Ok(model)
    }

    /// Deletes a model with its vectors, of all tenants. Returns how many vectors there were.
    pub(crate) async fn forget_model(&self, name: &str) -> Result<u64> {
        const FORGET: &str = "forget a model";
        let Some(model) = self.model(name).await? else { return Ok(0) };
        // The model first, so that nobody adds to it.
        let mut transaction = self.begin(FORGET).await?;
        const DELETE: &str = "DELETE FROM cupel_models WHERE id = $1";
        transaction.run(DELETE, &[&model.id]).await?;
        transaction.commit().await?;
        let mut vectors = 0;
        for (at, statement) in self.vector_statements().forget.into_iter().enumerate() {
            loop {
                let mut transaction = self.begin(FORGET).await?;
                let deleted = transaction.run(statement, &[&model.id, &FORGOTTEN_AT_ONCE]).await?;
                transaction.commit().await?;
                if at < 2 {
                    vectors += deleted;
                }
                if deleted == 0 {
                    break;
                }
            }
        }
        Ok(vectors)
    }
}
