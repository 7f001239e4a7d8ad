//! Appends to a conversation in PostgreSQL.

use sqlx::Transaction;
use sqlx::postgres::Postgres;

use super::{PostgresStore, alone_with_name};
use crate::append::{Appended, Indexed, Prepared};
use crate::digest::{MessageDigest, name_digest};
use crate::error::ArchiveError;
use crate::index::{conversation_word, namespace_word};
use crate::message::{Message, role_number};
use crate::overlap;
use crate::store::row::{During as _, metadata_text, micros};

const APPEND: &str = "append";

/// How many messages, and about how many bytes, go to the server in one statement.
const ROWS: usize = 1_000;
const BYTES: usize = 64 * 1024 * 1024;

impl PostgresStore {
    pub(crate) async fn append(
        &self,
        namespace: &str,
        conversation: &str,
        append: &Prepared,
    ) -> Result<Appended, ArchiveError> {
        let mut transaction = self.begin(APPEND).await?;
        let (id, next) = conversation_of(&mut transaction, namespace, conversation).await?;
        if let Some(key) = &append.key {
            let earlier: Option<(Vec<u8>, i64, i64)> = sqlx::query_as(
                "SELECT digest, first, count FROM cupel_appends
                 WHERE conversation = $1 AND key = $2",
            )
            .bind(id)
            .bind(&key.name)
            .fetch_optional(&mut *transaction)
            .await
            .during(APPEND)?;
            if let Some((digest, first, count)) = earlier {
                return key.again(&digest, first, count);
            }
        }
        let known = known(&mut transaction, id, append).await?;
        let mut rows = Rows::default();
        let mut number = next;
        let scope = format!("{} {}", namespace_word(namespace), conversation_word(id));
        for (message, digest) in append.messages.iter().zip(&append.digests).skip(known) {
            if rows.is_full(message) {
                rows.insert(&mut transaction, id).await?;
                rows = Rows::default();
            }
            rows.push(number, message, digest)?;
            rows.index(number, append.indexed(message), &scope);
            number += 1;
        }
        rows.insert(&mut transaction, id).await?;
        let appended = Appended::new(next, number - next);
        if let Some(key) = &append.key {
            sqlx::query(
                "INSERT INTO cupel_appends (conversation, key, digest, first, count)
                 VALUES ($1, $2, $3, $4, $5)",
            )
            .bind(id)
            .bind(&key.name)
            .bind(key.digest.as_slice())
            .bind(next)
            .bind(appended.count())
            .execute(&mut *transaction)
            .await
            .during(APPEND)?;
        }
        transaction.commit().await.during(APPEND)?;
        Ok(appended)
    }
}

/// Rows as columns: one statement inserts them all.
#[derive(Default)]
struct Rows<'a> {
    /// What goes to the server, about.
    bytes: usize,
    /// The messages' own.
    size: i64,
    oldest: Option<i64>,
    numbers: Vec<i64>,
    roles: Vec<i16>,
    kinds: Vec<&'a str>,
    tokens: Vec<i64>,
    times: Vec<i64>,
    digests: Vec<&'a [u8]>,
    metadata: Vec<Option<String>>,
    wires: Vec<Option<&'a [u8]>>,
    contents: Vec<&'a [u8]>,
    /// The words of each message, with spaces between.
    terms: Vec<String>,
    original_numbers: Vec<i64>,
    original_digests: Vec<Vec<u8>>,
    originals: Vec<Option<&'a [u8]>>,
}

impl<'a> Rows<'a> {
    fn is_full(&self, next: &Message) -> bool {
        let bytes = self.bytes + next.content.len();
        self.numbers.len() >= ROWS || (bytes > BYTES && !self.numbers.is_empty())
    }

    fn push(
        &mut self,
        number: i64,
        message: &'a Message,
        digest: &'a MessageDigest,
    ) -> Result<(), ArchiveError> {
        let metadata = metadata_text(message)?;
        let time = micros(message);
        self.bytes += message.content.len() + message.wire.as_ref().map_or(0, String::len);
        self.bytes += metadata.as_ref().map_or(0, String::len);
        self.size += message.size();
        self.oldest = Some(self.oldest.map_or(time, |oldest| oldest.min(time)));
        self.numbers.push(number);
        self.roles.push(role_number(message.role));
        self.kinds.push(message.kind.as_str());
        self.tokens.push(message.tokens);
        self.times.push(time);
        self.digests.push(digest);
        self.metadata.push(metadata);
        self.wires.push(message.wire.as_deref().map(str::as_bytes));
        self.contents.push(message.content.as_bytes());
        Ok(())
    }

    fn index(&mut self, number: i64, indexed: Indexed<'a>, scope: &str) {
        self.bytes += indexed.words.len();
        self.terms.push(format!("{scope} {}", indexed.words));
        for (digest, text) in indexed.originals {
            self.bytes += text.map_or(0, str::len);
            self.original_numbers.push(number);
            self.original_digests.push(digest.to_vec());
            self.originals.push(text.map(str::as_bytes));
        }
    }

    /// Inserts the rows and counts them, in one round trip.
    async fn insert(
        &self,
        transaction: &mut Transaction<'_, Postgres>,
        conversation: i64,
    ) -> Result<(), ArchiveError> {
        let Some(oldest) = self.oldest else { return Ok(()) };
        sqlx::query(
            "WITH counted AS (
                 UPDATE cupel_conversations
                 SET next = next + $2, messages = messages + $2, oldest = least(oldest, $3),
                     bytes = bytes + $14
                 WHERE id = $1)
             INSERT INTO cupel_messages
                 (conversation, number, role, kind, tokens, time, digest, metadata, wire, content,
                  terms)
             SELECT $1, number, role, kind, tokens, time, digest, metadata, wire, content,
                    array_to_tsvector(string_to_array(rtrim(terms), ' '))
             FROM unnest($4::bigint[], $5::smallint[], $6::text[], $7::bigint[], $8::bigint[],
                         $9::bytea[], $10::text[], $11::bytea[], $12::bytea[], $13::text[])
               AS row (number, role, kind, tokens, time, digest, metadata, wire, content, terms)",
        )
        .bind(conversation)
        .bind(i64::try_from(self.numbers.len()).unwrap_or(i64::MAX))
        .bind(oldest)
        .bind(&self.numbers)
        .bind(&self.roles)
        .bind(&self.kinds)
        .bind(&self.tokens)
        .bind(&self.times)
        .bind(&self.digests)
        .bind(&self.metadata)
        .bind(&self.wires)
        .bind(&self.contents)
        .bind(&self.terms)
        .bind(self.size)
        .execute(&mut **transaction)
        .await
        .during(APPEND)?;
        if self.originals.is_empty() {
            return Ok(());
        }
        sqlx::query(
            "INSERT INTO cupel_originals (conversation, number, digest, content)
             SELECT $1, row.* FROM unnest($2::bigint[], $3::bytea[], $4::bytea[]) AS row",
        )
        .bind(conversation)
        .bind(&self.original_numbers)
        .bind(&self.original_digests)
        .bind(&self.originals)
        .execute(&mut **transaction)
        .await
        .during(APPEND)?;
        Ok(())
    }
}

/// The conversation's id and its next number, locked; it is made where there is none.
async fn conversation_of(
    transaction: &mut Transaction<'_, Postgres>,
    namespace: &str,
    conversation: &str,
) -> Result<(i64, i64), ArchiveError> {
    if let Some(found) = locked(transaction, namespace, conversation, APPEND).await? {
        return Ok(found);
    }
    alone_with_name(transaction, namespace, conversation, APPEND).await?;
    // Somebody else may have made it meanwhile.
    if let Some(found) = locked(transaction, namespace, conversation, APPEND).await? {
        return Ok(found);
    }
    sqlx::query_as(
        "INSERT INTO cupel_conversations (namespace, name, next, messages, oldest)
         VALUES ($1, $2, coalesce((SELECT next FROM cupel_retired WHERE name = $3), 1), 0, $4)
         RETURNING id, next",
    )
    .bind(namespace)
    .bind(conversation)
    .bind(name_digest(namespace, conversation).as_slice())
    .bind(i64::MAX)
    .fetch_one(&mut **transaction)
    .await
    .during(APPEND)
}

/// The conversation's id and its next number; nobody else writes to it until the transaction ends.
pub(super) async fn locked(
    transaction: &mut Transaction<'_, Postgres>,
    namespace: &str,
    conversation: &str,
    operation: &'static str,
) -> Result<Option<(i64, i64)>, ArchiveError> {
    sqlx::query_as(
        "SELECT id, next FROM cupel_conversations WHERE namespace = $1 AND name = $2 FOR UPDATE",
    )
    .bind(namespace)
    .bind(conversation)
    .fetch_optional(&mut **transaction)
    .await
    .during(operation)
}

/// How many of the messages, from the first, the conversation has already.
async fn known(
    transaction: &mut Transaction<'_, Postgres>,
    conversation: i64,
    append: &Prepared,
) -> Result<usize, ArchiveError> {
    let Some((history, most)) = append.history() else { return Ok(0) };
    let latest: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT digest FROM cupel_messages WHERE conversation = $1 ORDER BY number DESC LIMIT $2",
    )
    .bind(conversation)
    .bind(most)
    .fetch_all(&mut **transaction)
    .await
    .during(APPEND)?;
    Ok(overlap::known_of(latest, history))
}
