//! Appends to a conversation.

use super::backend::{Arguments, Backend, Transaction};
use super::{Row, Store, postgres, sqlite};
use crate::append::{AppendOutcome, CheckedAppend, IndexEntry};
use crate::digest::{MessageDigest, name_digest};
use crate::error::{ArchiveError, Result};
use crate::message::ArchiveMessage;
use crate::overlap;

const APPEND: &str = "append";

/// Limits of one insert, in messages and (roughly) in bytes.
const ROWS: usize = 1_000;
const BYTES: usize = 64 * 1024 * 1024;

impl Store {
    pub(crate) async fn append(
        &self,
        namespace: &str,
        conversation: &str,
        append: &CheckedAppend,
    ) -> Result<AppendOutcome> {
        if append.messages.is_empty() && append.key.is_none() {
            return Ok(AppendOutcome::new(1, 0, false));
        }
        let mut transaction = self.begin(APPEND).await?;
        let (id, next) = self.conversation_of(&mut transaction, namespace, conversation).await?;
        if let Some(key) = &append.key {
            const EARLIER: &str = "SELECT digest, first, count FROM cupel_appends
                                   WHERE conversation = $1 AND key = $2";
            if let Some(row) = transaction.row(EARLIER, &[&id, &key.name]).await? {
                let (digest, first, count): (&[u8], _, _) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let mut same = digest == key.digest;
                if !same {
                    let name = (namespace, conversation);
                    let tokens = self.tokens_of(&mut transaction, name, first, count).await?;
                    same = append.has_earlier_digest(digest, &tokens);
                }
                let reused = || ArchiveError::KeyReused { key: key.name.clone() };
                return same.then(|| AppendOutcome::new(first, count, true)).ok_or_else(reused);
            }
        }
        let known = self.known(&mut transaction, id, append).await?;
        let mut rows =
            NewRows { namespace, conversation: id, now: append.now, bytes: 0, rows: Vec::new() };
        let mut number = next;
        let indexed = append.indexed(known).await?;
        let new = append.messages.iter().zip(&append.digests).skip(known);
        for ((message, digest), indexed) in new.zip(indexed) {
            if rows.is_full(message) {
                rows.insert(&mut transaction).await?;
            }
            rows.push(number, message, digest, indexed)?;
            number += 1;
        }
        rows.insert(&mut transaction).await?;
        let appended = AppendOutcome::new(next, number - next, false);
        if let Some(key) = &append.key {
            const KEEP: &str = "INSERT INTO cupel_appends (conversation, key, digest, first, count)
                                VALUES ($1, $2, $3, $4, $5)";
            let digest = key.digest.as_slice();
            let arguments: Arguments<'_> = &[&id, &key.name, &digest, &next, &appended.count()];
            transaction.run(KEEP, arguments).await?;
        }
        transaction.commit().await?;
        Ok(appended)
    }

    /// The conversation's id and its next number, locked; it is made where there is none.
    async fn conversation_of(
        &self,
        transaction: &mut Transaction,
        namespace: &str,
        conversation: &str,
    ) -> Result<(i64, i64)> {
        if let Some(found) = self.locked(transaction, namespace, conversation).await? {
            return Ok(found);
        }
        transaction.alone_with_name(namespace, conversation).await?;
        const MAKE: &str =
            "INSERT INTO cupel_conversations (namespace, name, next, messages, oldest)
            VALUES ($1, $2, coalesce((SELECT next FROM cupel_retired WHERE name = $3), 1), 0, $4)
            ON CONFLICT (namespace, name) DO NOTHING";
        let digest = name_digest(namespace, conversation);
        let arguments: Arguments<'_> = &[&namespace, &conversation, &digest.as_slice(), &i64::MAX];
        transaction.run(MAKE, arguments).await?;
        let made = self.locked(transaction, namespace, conversation).await?;
        made.ok_or_else(|| ArchiveError::corrupt(APPEND, "the conversation is not there"))
    }

    /// Tokens of an earlier append's messages, as far as they are still there.
    async fn tokens_of(
        &self,
        transaction: &mut Transaction,
        (namespace, conversation): (&str, &str),
        first: i64,
        count: i64,
    ) -> Result<Vec<i64>> {
        let arguments: Arguments<'_> = &[&namespace, &conversation, &(first - 1), &count];
        let rows = transaction.rows(self.dialect.page_after, arguments).await?;
        let rows = rows.iter().filter(|row| row.number().is_ok_and(|it| it < first + count));
        rows.map(Row::tokens).collect()
    }

    /// Counts the leading messages that the conversation already has.
    async fn known(
        &self,
        transaction: &mut Transaction,
        conversation: i64,
        append: &CheckedAppend,
    ) -> Result<usize> {
        let Some((history, most)) = append.history() else { return Ok(0) };
        let latest = self.dialect.latest_digests;
        let latest = transaction.rows(latest, &[&conversation, &most]).await?;
        let stored =
            latest.iter().rev().map(|row| Ok(row.get::<&[u8]>(0)?.try_into().unwrap_or_default()));
        Ok(overlap::known(&stored.collect::<Result<Vec<MessageDigest>>>()?, history))
    }
}

/// Messages of one conversation that are inserted at once.
pub(super) struct NewRows<'a> {
    pub(super) namespace: &'a str,
    pub(super) conversation: i64,
    /// The time of messages that have none.
    now: i64,
    /// Approximate size in bytes.
    bytes: usize,
    pub(super) rows: Vec<NewRow<'a>>,
}

pub(super) struct NewRow<'a> {
    pub(super) number: i64,
    pub(super) message: &'a ArchiveMessage,
    pub(super) digest: &'a [u8],
    /// JSON; none where there is no metadata.
    pub(super) metadata: Option<String>,
    /// Microseconds.
    pub(super) time: i64,
    pub(super) indexed: IndexEntry,
}

impl<'a> NewRows<'a> {
    /// Count, oldest time and size of the messages.
    pub(super) fn totals(&self) -> (i64, i64, i64) {
        let oldest = self.rows.iter().map(|row| row.time).min().unwrap_or(i64::MAX);
        let size = self.rows.iter().map(|row| row.message.size()).sum();
        (i64::try_from(self.rows.len()).unwrap_or(i64::MAX), oldest, size)
    }

    fn is_full(&self, next: &ArchiveMessage) -> bool {
        let bytes = self.bytes + next.content.len();
        self.rows.len() >= ROWS || (bytes > BYTES && !self.rows.is_empty())
    }

    fn push(
        &mut self,
        number: i64,
        message: &'a ArchiveMessage,
        digest: &'a [u8],
        indexed: IndexEntry,
    ) -> Result<()> {
        let metadata = (!message.metadata.is_empty())
            .then(|| serde_json::to_string(&message.metadata))
            .transpose()
            .map_err(|error| ArchiveError::argument("metadata", error.to_string()))?;
        let originals = indexed.originals(message).filter_map(|(_, text)| text.map(str::len));
        self.bytes += message.content.len() + message.wire.as_ref().map_or(0, String::len);
        self.bytes += metadata.as_ref().map_or(0, String::len);
        self.bytes += indexed.words.len() + originals.sum::<usize>();
        let time = message.time.map_or(self.now, |time| time.timestamp_micros());
        self.rows.push(NewRow { number, message, digest, metadata, time, indexed });
        Ok(())
    }

    /// Inserts the rows and counts them.
    async fn insert(&mut self, transaction: &mut Transaction) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        match transaction.backend {
            Backend::Sqlite(_) => sqlite::insert(transaction, self).await?,
            Backend::Postgres(_) => postgres::insert(transaction, self).await?,
        }
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }
}
