//! The search by hand: a short conversation is read whole, of a long one what its index finds.

use std::collections::HashMap;

use cupel::relevance::{Candidate, Hint, Judge as _, Lexical, Question};

use crate::raw::{ArchiveMessage, PgMessage, Raw};

/// Number of messages that are read from an index, and number that is wanted.
const READ: usize = 300;
const WANTED: usize = 10;

impl Raw {
    /// Reads the whole conversation and judges it.
    pub(crate) async fn search_short(&self, name: &str, question: &str) -> usize {
        let texts = match self {
            Self::Sqlite { read, .. } => sqlx::query_as::<_, ArchiveMessage>(
                "SELECT m.id, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content
                 FROM cupel_conversations c JOIN cupel_messages m
                   ON m.id >= (c.id << 32) AND m.id < ((c.id + 1) << 32)
                 WHERE c.namespace = 'bench' AND c.name = ?1 ORDER BY m.id",
            )
            .bind(name)
            .fetch_all(read)
            .await
            .unwrap()
            .into_iter()
            .map(|row| (row.3, row.7))
            .collect(),
            Self::Postgres(pool) => sqlx::query_as::<_, PgMessage>(
                "SELECT number, role, kind, tokens, time, metadata, wire, content
                 FROM cupel_messages WHERE conversation = (SELECT id FROM cupel_conversations
                     WHERE namespace = 'bench' AND name = $1)
                 ORDER BY number",
            )
            .bind(name)
            .fetch_all(pool)
            .await
            .unwrap()
            .into_iter()
            .map(|row| (row.3, row.7))
            .collect(),
        };
        judged(&Question::new(question), texts)
    }

    /// Asks the index for each word, takes the messages with the rarest, and judges these and their
    /// neighbours.
    pub(crate) async fn search_long(&self, name: &str, question: &str) -> usize {
        let question = Question::new(question);
        let words = Lexical::new().asked_terms(&question);
        let texts: Vec<(i64, Vec<u8>)> = match self {
            Self::Sqlite { read, .. } => {
                let mut connection = read.acquire().await.unwrap();
                let (id, messages): (i64, i64) = sqlx::query_as(
                    "SELECT id, messages FROM cupel_conversations
                     WHERE namespace = 'bench' AND name = ?1",
                )
                .bind(name)
                .fetch_one(&mut *connection)
                .await
                .unwrap();
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                let hits: Vec<(i64, i64)> = sqlx::query_as(
                    "SELECT word.key, cupel_terms.rowid
                     FROM json_each(?1) AS word CROSS JOIN cupel_terms
                     WHERE cupel_terms MATCH word.value
                       AND cupel_terms.rowid >= ?2 AND cupel_terms.rowid < ?3",
                )
                .bind(serde_json::to_string(&quoted).unwrap())
                .bind(id << 32)
                .bind((id + 1) << 32)
                .fetch_all(&mut *connection)
                .await
                .unwrap();
                let rows = near(best(hits, words.len(), messages));
                sqlx::query_as::<_, ArchiveMessage>(
                    "SELECT m.id, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content
                     FROM json_each(?1) AS place CROSS JOIN cupel_messages m ON m.id = place.value",
                )
                .bind(serde_json::to_string(&rows).unwrap())
                .fetch_all(&mut *connection)
                .await
                .unwrap()
                .into_iter()
                .map(|row| (row.3, row.7))
                .collect()
            }
            Self::Postgres(pool) => {
                let (id, messages): (i64, i64) = sqlx::query_as(
                    "SELECT id, messages FROM cupel_conversations
                     WHERE namespace = 'bench' AND name = $1",
                )
                .bind(name)
                .fetch_one(pool)
                .await
                .unwrap();
                let queries = words.iter().map(|word| format!("'_c{id}' & '{word}'"));
                let hits: Vec<(i64, i64)> = sqlx::query_as(
                    "SELECT word.key - 1, found.number
                     FROM unnest($1::text[]) WITH ORDINALITY AS word (query, key)
                     CROSS JOIN LATERAL (SELECT number FROM cupel_messages
                         WHERE terms @@ word.query::tsquery OFFSET 0) AS found",
                )
                .bind(queries.collect::<Vec<String>>())
                .fetch_all(pool)
                .await
                .unwrap();
                sqlx::query_as::<_, PgMessage>(
                    "SELECT number, role, kind, tokens, time, metadata, wire, content
                     FROM cupel_messages WHERE conversation = $1 AND number = ANY ($2)",
                )
                .bind(id)
                .bind(near(best(hits, words.len(), messages)))
                .fetch_all(pool)
                .await
                .unwrap()
                .into_iter()
                .map(|row| (row.3, row.7))
                .collect()
            }
        };
        judged(&question, texts)
    }
}

/// The rows that have the rarest words.
fn best(hits: Vec<(i64, i64)>, words: usize, messages: i64) -> Vec<i64> {
    let mut with = vec![0.0; words];
    hits.iter().for_each(|(word, _)| with[*word as usize] += 1.0);
    let mut weights: HashMap<i64, f64> = HashMap::new();
    for (word, row) in hits {
        *weights.entry(row).or_default() += (messages as f64 / with[word as usize]).ln();
    }
    let mut rows: Vec<(i64, f64)> = weights.into_iter().collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows.into_iter().take(READ).map(|(row, _)| row).collect()
}

/// The rows and two on either side of each.
fn near(rows: Vec<i64>) -> Vec<i64> {
    let mut near: Vec<i64> = rows.into_iter().flat_map(|row| row - 2..=row + 2).collect();
    near.sort_unstable();
    near.dedup();
    near
}

/// Judges texts and takes the best.
fn judged(question: &Question, texts: Vec<(i64, Vec<u8>)>) -> usize {
    let texts: Vec<(i64, String)> = texts
        .into_iter()
        .map(|(tokens, text)| (tokens, String::from_utf8(text).unwrap()))
        .collect();
    let candidates: Vec<Candidate<'_>> = texts
        .iter()
        .enumerate()
        .map(|(at, (tokens, text))| Candidate::new(text, *tokens).at(at))
        .collect();
    let verdict = Lexical::new().judge(question, &candidates);
    let mut best: Vec<f64> =
        verdict.iter().flat_map(|verdict| verdict.hints.iter().map(Hint::value)).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    best.truncate(WANTED);
    best.len()
}
