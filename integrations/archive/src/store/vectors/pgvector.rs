//! PostgreSQL's extension `pgvector`: a column of its type beside the bytes, compared by the server.

use sqlx::postgres::PgPool;

use super::Store;
use crate::error::Result;
use crate::meaning::{Closeness, from_bytes};
use crate::search::{MessagePlace, Search};
use crate::store::backend::{Arguments, Backend, DatabaseContext as _, List};

const PREPARE: &str = "use pgvector";

/// Vectors whose columns are filled by one statement.
const CONVERTED_AT_ONCE: i64 = 256;

/// Closest vectors that are asked for, at least and for each message that is read: a message may have
/// several.
const LEAST_ASKED: usize = 2_000;
const ASKED_EACH: usize = 4;

impl Store {
    /// Looks for the extension in the database, and adds its column where there is none. Without it, or
    /// where that is not allowed, vectors are read and compared here.
    pub(crate) async fn look_for_pgvector(&self) -> Result<()> {
        let Backend::Postgres(pool) = &self.pools else { return Ok(()) };
        let used = match self.prepare_pgvector(pool).await {
            Ok(used) => used,
            Err(error) => {
                tracing::debug!(target: "cupel", %error, "pgvector is not used");
                false
            }
        };
        self.pgvector.set_used(used);
        if used { self.fill_column().await } else { Ok(()) }
    }

    async fn prepare_pgvector(&self, pool: &PgPool) -> Result<bool> {
        const LOOK: &str = "SELECT to_regtype('vector') IS NOT NULL
              AND EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector'),
            EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('cupel_vectors')
                AND attname = 'embedding' AND NOT attisdropped)";
        let (is_there, has_column): (bool, bool) =
            sqlx::query_as(LOOK).fetch_one(pool).await.during(PREPARE)?;
        if !is_there || has_column {
            return Ok(is_there);
        }
        for statement in [
            "ALTER TABLE cupel_vectors ADD COLUMN IF NOT EXISTS embedding vector",
            "ALTER TABLE cupel_vectors ALTER COLUMN embedding SET STATISTICS 0",
            // Finds what was written without the extension; empty most of the time.
            "CREATE INDEX IF NOT EXISTS cupel_vectors_unconverted
                 ON cupel_vectors (conversation) WHERE embedding IS NULL",
        ] {
            sqlx::query(statement).execute(pool).await.during(PREPARE)?;
        }
        Ok(true)
    }

    /// Fills the column of vectors that were written without it.
    async fn fill_column(&self) -> Result<()> {
        loop {
            const UNCONVERTED: &str = "SELECT conversation, number, piece, model, vector
                FROM cupel_vectors WHERE embedding IS NULL LIMIT $1";
            let mut connection = self.connection(PREPARE).await?;
            let rows = connection.rows(UNCONVERTED, &[&CONVERTED_AT_ONCE]).await?;
            if rows.is_empty() {
                return Ok(());
            }
            let (mut numbers, mut texts) = (Vec::new(), Vec::new());
            let mut vector = Vec::new();
            for row in &rows {
                from_bytes(row.get(4)?, &mut vector);
                texts.push(literal(&vector));
                let number: (i64, i64, i64, i64) =
                    (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                numbers.push(number);
            }
            const CONVERT: &str = "UPDATE cupel_vectors v SET embedding = CAST(row.text AS vector)
                FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
                  AS row (conversation, number, piece, model, text)
                WHERE v.conversation = row.conversation AND v.number = row.number
                  AND v.piece = row.piece AND v.model = row.model";
            let arguments: Arguments<'_> = &[
                &List(numbers.iter().map(|it| it.0).collect::<Vec<_>>()),
                &List(numbers.iter().map(|it| it.1).collect::<Vec<_>>()),
                &List(numbers.iter().map(|it| it.2).collect::<Vec<_>>()),
                &List(numbers.iter().map(|it| it.3).collect::<Vec<_>>()),
                &List(texts),
            ];
            connection.run(CONVERT, arguments).await?;
        }
    }

    /// Cosines of the closest messages with a question's vector, as the server computes them.
    pub(super) async fn closeness_on_server(
        &self,
        (namespace, conversation): (&str, Option<&str>),
        model: i64,
        question: &[f32],
        search: &Search,
    ) -> Result<Closeness> {
        const OF_CONVERSATION: &str = "SELECT conversation, number,
                   1 - (embedding <=> CAST($5 AS vector))
            FROM cupel_vectors WHERE conversation = (
                SELECT id FROM cupel_conversations WHERE namespace = $1 AND name = $3)
              AND number < $4 AND model = $2 AND embedding IS NOT NULL
            ORDER BY embedding <=> CAST($5 AS vector) LIMIT $6";
        const OF_NAMESPACE: &str = "SELECT v.conversation, v.number,
                   1 - (v.embedding <=> CAST($4 AS vector))
            FROM cupel_conversations c CROSS JOIN LATERAL (SELECT * FROM cupel_vectors
                WHERE conversation = c.id AND model = $2 AND embedding IS NOT NULL OFFSET 0) AS v
            WHERE c.namespace = $1 AND c.name IS DISTINCT FROM $3
            ORDER BY v.embedding <=> CAST($4 AS vector) LIMIT $5";
        let (question, except) = (literal(question), search.except.as_deref());
        let before = search.before.unwrap_or(i64::MAX);
        let most = search.read.saturating_mul(ASKED_EACH).max(LEAST_ASKED);
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let (sql, arguments): (_, Arguments<'_>) = match &conversation {
            Some(name) => {
                (OF_CONVERSATION, &[&namespace, &model, name, &before, &question, &limit])
            }
            None => (OF_NAMESPACE, &[&namespace, &model, &except, &question, &limit]),
        };
        let mut connection = self.connection("compare vectors").await?;
        let rows = connection.rows(sql, arguments).await?;
        let mut closeness = Closeness::default();
        let mut last = None;
        for row in &rows {
            let cosine: f64 = row.get(2)?;
            // That of a vector of zeros is not a number.
            let cosine = if cosine.is_nan() { 0.0 } else { cosine.clamp(-1.0, 1.0) };
            let place = MessagePlace { conversation: row.get(0)?, number: row.get(1)? };
            closeness.add(place, cosine);
            last = Some(cosine);
        }
        if rows.len() >= most {
            closeness.set_rest(last);
        }
        Ok(closeness)
    }
}

/// A vector as a text of the extension.
pub(super) fn literal(vector: &[f32]) -> String {
    let mut text = String::with_capacity(2 + 12 * vector.len());
    for number in vector {
        text.push(if text.is_empty() { '[' } else { ',' });
        text.push_str(&number.to_string());
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_reads_back_as_the_same_numbers() {
        let vector = [0.1_f32, -3.0, f32::MIN_POSITIVE, 1.0e30];
        let text = literal(&vector);
        let inner = text.trim_start_matches('[').trim_end_matches(']');
        let back: Vec<f32> = inner.split(',').map(|it| it.parse().unwrap_or(f32::NAN)).collect();
        assert_eq!(back, vector);
    }
}
