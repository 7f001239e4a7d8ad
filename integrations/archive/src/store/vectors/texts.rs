//! Vectors of texts by their keys, whether or not a message has the text.

use std::sync::Arc;

use super::save::{bytes_list, hex_list};
use super::{Store, VectorModel};
use crate::error::Result;
use crate::meaning::{VectorKey, from_bytes, to_bytes};

const LOAD: &str = "load vectors";
const KEEP: &str = "keep vectors of texts";

/// The most vectors of texts without a message that are kept of a tenant; of more, those that were kept
/// first go.
const MOST_TEXTS: i64 = 10_000;

impl Store {
    /// The vectors of texts that are known, in the order of their keys.
    pub(crate) async fn vectors_of(
        &self,
        model: VectorModel,
        keys: &[VectorKey],
    ) -> Result<Vec<Option<Arc<[f32]>>>> {
        let mut found: Vec<Option<Arc<[f32]>>> = vec![None; keys.len()];
        if keys.is_empty() {
            return Ok(found);
        }
        let mut connection = self.connection(LOAD).await?;
        let of_keys = self.vector_statements().of_keys;
        let rows = if connection.is_sqlite() {
            connection.rows(of_keys, &[&hex_list(keys), &model.id]).await?
        } else {
            connection.rows(of_keys, &[&bytes_list(keys), &model.id]).await?
        };
        let mut vector = Vec::new();
        for row in &rows {
            let Some(bytes) = row.get::<Option<&[u8]>>(1)? else { continue };
            from_bytes(bytes, &mut vector);
            // What somebody else has written there is not believed.
            let is_one = i64::try_from(vector.len()).is_ok_and(|it| it == model.dimensions);
            let at = usize::try_from(row.get::<i64>(0)?).unwrap_or(usize::MAX);
            if let Some(found) = found.get_mut(at).filter(|_| is_one) {
                *found = Some(vector.as_slice().into());
            }
        }
        Ok(found)
    }

    /// Keeps vectors of texts by their keys, where no message has them.
    pub(crate) async fn save_texts(
        &self,
        model: &str,
        namespace: &str,
        dimensions: usize,
        now: i64,
        vectors: &[(VectorKey, Arc<[f32]>)],
    ) -> Result<()> {
        let mut transaction = self.begin(KEEP).await?;
        let model = self.model_for(&mut transaction, model, dimensions).await?;
        const VECTOR: &str = "INSERT INTO cupel_text_vectors (key, model, namespace, time, vector)
            SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (
                SELECT 1 FROM cupel_vectors WHERE key = $1 AND model = $2)
            ON CONFLICT DO NOTHING";
        for (key, vector) in vectors {
            let (key, bytes) = (key.as_slice(), to_bytes(vector));
            transaction.run(VECTOR, &[&key, &model.id, &namespace, &now, &bytes]).await?;
        }
        const COUNT: &str = "SELECT count(*) FROM cupel_text_vectors WHERE namespace = $1";
        let count: i64 = transaction.one(COUNT, &[&namespace]).await?.get(0)?;
        if count > MOST_TEXTS + MOST_TEXTS / 10 {
            const OLDEST: &str = "DELETE FROM cupel_text_vectors
                WHERE namespace = $1 AND time < $3 AND time <= (
                    SELECT time FROM cupel_text_vectors WHERE namespace = $1
                    ORDER BY time DESC LIMIT 1 OFFSET $2)";
            transaction.run(OLDEST, &[&namespace, &MOST_TEXTS, &now]).await?;
        }
        transaction.commit().await
    }
}
