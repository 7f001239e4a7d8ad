//! Keeps the vectors of messages.

use super::pgvector::literal;
use super::{Store, Transaction};
use crate::error::Result;
use crate::meaning::{VectorKey, to_bytes};
use crate::store::backend::{Arguments, List};
use crate::store::sqlite::row_number;

const SAVE: &str = "keep vectors";

/// Vectors of messages of one conversation.
#[derive(Debug)]
pub(crate) struct NewVectors<'a> {
    pub(crate) conversation: i64,
    /// Id of the model when the messages were read.
    pub(crate) model: Option<i64>,
    /// After these, all messages from `after` up to `upto` have vectors, or get none.
    pub(crate) after: i64,
    pub(crate) upto: i64,
    pub(crate) vectors: Vec<MessageVector<'a>>,
}

/// Vector of one piece of a message.
#[derive(Debug)]
pub(crate) struct MessageVector<'a> {
    pub(crate) number: i64,
    pub(crate) piece: i64,
    pub(crate) key: VectorKey,
    pub(crate) vector: &'a [f32],
}

impl Store {
    /// Keeps vectors of messages that are still there. Those that another process has kept stay.
    /// `dimensions` is the length of the model's vectors, if a vector of it is known.
    pub(crate) async fn save_vectors(
        &self,
        model: &str,
        dimensions: Option<usize>,
        new: &NewVectors<'_>,
    ) -> Result<()> {
        let mut transaction = self.begin(SAVE).await?;
        let model = match dimensions {
            Some(dimensions) => self.model_for(&mut transaction, model, dimensions).await?.id,
            None => {
                let lock = self.vector_statements().lock_model;
                match transaction.row(lock, &[&model]).await? {
                    Some(row) => row.get(0)?,
                    // Nothing to keep, and no model to keep it for.
                    None => return Ok(()),
                }
            }
        };
        if new.model.is_some_and(|before| before != model) {
            return Ok(()); // it was forgotten in the meantime, and everything begins anew
        }
        let lock = self.vector_statements().lock_conversation;
        if transaction.row(lock, &[&new.conversation]).await?.is_none() {
            return Ok(());
        }
        self.insert_vectors(&mut transaction, model, new).await?;
        let keys: Vec<VectorKey> = new.vectors.iter().map(|vector| vector.key).collect();
        self.erase_text_vectors(&mut transaction, &keys).await?;
        const UPTO: &str = "INSERT INTO cupel_embedded (conversation, model, upto)
            VALUES ($1, $2, $3)
            ON CONFLICT (conversation, model) DO UPDATE SET upto = excluded.upto
            WHERE cupel_embedded.upto >= $4 AND cupel_embedded.upto < excluded.upto";
        transaction.run(UPTO, &[&new.conversation, &model, &new.upto, &new.after]).await?;
        transaction.commit().await
    }

    async fn insert_vectors(
        &self,
        transaction: &mut Transaction,
        model: i64,
        new: &NewVectors<'_>,
    ) -> Result<()> {
        if new.vectors.is_empty() {
            return Ok(());
        }
        if transaction.is_sqlite() {
            const VECTOR: &str = "INSERT INTO cupel_vectors (message, piece, model, key, vector)
                SELECT $1, $2, $3, $4, $5 WHERE EXISTS (
                    SELECT 1 FROM cupel_messages WHERE id = $1)
                ON CONFLICT DO NOTHING";
            for vector in &new.vectors {
                let message = row_number(new.conversation, vector.number)?;
                let (key, bytes) = (vector.key.as_slice(), to_bytes(vector.vector));
                let arguments: Arguments<'_> = &[&message, &vector.piece, &model, &key, &bytes];
                transaction.run(VECTOR, arguments).await?;
            }
            return Ok(());
        }
        const BYTES: &str = "INSERT INTO cupel_vectors
                (conversation, number, piece, model, key, vector)
            SELECT $1, row.number, row.piece, $2, row.key, row.vector
            FROM unnest($3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[])
              AS row (number, piece, key, vector)
            WHERE EXISTS (SELECT 1 FROM cupel_messages m
                WHERE m.conversation = $1 AND m.number = row.number)
            ON CONFLICT DO NOTHING";
        const BOTH: &str = "INSERT INTO cupel_vectors
                (conversation, number, piece, model, key, vector, embedding)
            SELECT $1, row.number, row.piece, $2, row.key, row.vector, CAST(row.text AS vector)
            FROM unnest($3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[])
              AS row (number, piece, key, vector, text)
            WHERE EXISTS (SELECT 1 FROM cupel_messages m
                WHERE m.conversation = $1 AND m.number = row.number)
            ON CONFLICT DO NOTHING";
        let numbers = List(new.vectors.iter().map(|it| it.number).collect::<Vec<_>>());
        let pieces = List(new.vectors.iter().map(|it| it.piece).collect::<Vec<_>>());
        let keys = List(new.vectors.iter().map(|it| it.key.as_slice()).collect::<Vec<_>>());
        let bytes = List(new.vectors.iter().map(|it| to_bytes(it.vector)).collect::<Vec<_>>());
        let conversation = &new.conversation;
        if self.pgvector.is_used() {
            let texts = List(new.vectors.iter().map(|it| literal(it.vector)).collect::<Vec<_>>());
            let arguments: Arguments<'_> =
                &[conversation, &model, &numbers, &pieces, &keys, &bytes, &texts];
            transaction.run(BOTH, arguments).await?;
        } else {
            let arguments: Arguments<'_> =
                &[conversation, &model, &numbers, &pieces, &keys, &bytes];
            transaction.run(BYTES, arguments).await?;
        }
        Ok(())
    }

    /// Deletes the vectors of texts with these keys.
    pub(in crate::store) async fn erase_text_vectors(
        &self,
        transaction: &mut Transaction,
        keys: &[VectorKey],
    ) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let erase = self.vector_statements().erase_texts;
        if transaction.is_sqlite() {
            transaction.run(erase, &[&hex_list(keys)]).await?;
        } else {
            transaction.run(erase, &[&bytes_list(keys)]).await?;
        }
        Ok(())
    }
}

/// Keys as SQLite takes a list of them.
pub(super) fn hex_list(keys: &[VectorKey]) -> List<String> {
    let hex = |key: &VectorKey| key.iter().map(|byte| format!("{byte:02x}")).collect();
    List(keys.iter().map(hex).collect())
}

/// Keys as PostgreSQL takes a list of them.
pub(super) fn bytes_list(keys: &[VectorKey]) -> List<&[u8]> {
    List(keys.iter().map(VectorKey::as_slice).collect())
}
