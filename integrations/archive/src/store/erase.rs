//! Erases messages, with all that was kept about them.

use super::Store;
use super::backend::{Backend, DatabaseContext as _};
use crate::digest::name_digest;
use crate::erase::EraseOutcome;
use crate::error::Result;
use crate::meaning::keys_of;
use crate::message::StoredMessage;

const ERASE: &str = "erase";
const POP: &str = "pop";

impl Store {
    pub(crate) async fn pop(
        &self,
        namespace: &str,
        conversation: &str,
    ) -> Result<Option<StoredMessage>> {
        let mut transaction = self.begin(POP).await?;
        let found = self.locked(&mut transaction, namespace, conversation).await?;
        let Some((id, _)) = found else { return Ok(None) };
        let row = transaction.row(self.dialect.pop, &[&id]).await?;
        let Some(popped) = row.map(|row| row.stored()).transpose()? else { return Ok(None) };
        for statement in self.dialect.erase_about_message {
            transaction.run(statement, &[&id, &popped.number]).await?;
        }
        let keys = keys_of(namespace, &popped.message.content);
        self.erase_text_vectors(&mut transaction, &keys).await?;
        const COUNT: &str = "UPDATE cupel_conversations
                             SET messages = messages - 1, bytes = bytes - $2 WHERE id = $1";
        transaction.run(COUNT, &[&id, &popped.message.size()]).await?;
        // They may hold what the message said.
        transaction.erase_summaries(namespace, conversation).await?;
        transaction.commit().await?;
        Ok(Some(popped))
    }

    pub(crate) async fn forget(&self, namespace: &str, conversation: &str) -> Result<EraseOutcome> {
        let messages = self.erase(namespace, conversation, i64::MAX).await?;
        // There may be summaries of messages that are not in the archive.
        self.forget_summaries(namespace, conversation).await?;
        Ok(EraseOutcome { messages, log_emptied: self.clear().await? })
    }

    pub(crate) async fn expire(&self, namespace: &str, before: i64) -> Result<EraseOutcome> {
        const EXPIRED: &str = "SELECT name FROM cupel_conversations
                               WHERE namespace = $1 AND (oldest < $2 OR messages = 0)";
        let mut connection = self.connection(ERASE).await?;
        let conversations = connection.rows(EXPIRED, &[&namespace, &before]).await?;
        drop(connection);
        let mut messages = 0;
        // Each in a transaction of its own, so that appends need not wait for all of it.
        for conversation in conversations {
            messages += self.erase(namespace, conversation.get(0)?, before).await?;
        }
        // Those of texts that no message has are as old as their time says.
        const OLD: &str = "DELETE FROM cupel_text_vectors WHERE namespace = $1 AND time < $2";
        let mut transaction = self.begin(ERASE).await?;
        transaction.run(OLD, &[&namespace, &before]).await?;
        transaction.commit().await?;
        self.expire_summaries(namespace, before).await?;
        Ok(EraseOutcome { messages, log_emptied: self.clear().await? })
    }

    /// Erases a conversation's messages that were written before a time, and the conversation with
    /// its last one.
    async fn erase(&self, namespace: &str, conversation: &str, before: i64) -> Result<u64> {
        let mut transaction = self.begin(ERASE).await?;
        transaction.alone_with_name(namespace, conversation).await?;
        let found = self.locked(&mut transaction, namespace, conversation).await?;
        let Some((id, next)) = found else { return Ok(0) };
        for statement in self.dialect.erase_about {
            transaction.run(statement, &[&id, &before]).await?;
        }
        let erased = transaction.run(self.dialect.erase, &[&id, &before]).await?;
        transaction.run(self.dialect.erase_keys, &[&id]).await?;
        if erased > 0 {
            // Some of them may be of texts that are erased, or of parts of them: nobody can tell.
            const TEXTS: &str = "DELETE FROM cupel_text_vectors WHERE namespace = $1";
            transaction.run(TEXTS, &[&namespace]).await?;
            transaction.erase_summaries(namespace, conversation).await?;
        }
        let left = transaction.one(self.dialect.left, &[&id]).await?;
        let (messages, oldest, bytes): (i64, Option<i64>, i64) =
            (left.get(0)?, left.get(1)?, left.get(2)?);
        if messages == 0 {
            const RETIRE: &str = "INSERT INTO cupel_retired (name, next) VALUES ($1, $2)
                                  ON CONFLICT (name) DO UPDATE SET next = excluded.next";
            let digest = name_digest(namespace, conversation);
            transaction.run(RETIRE, &[&digest.as_slice(), &next]).await?;
            const DELETE: &str = "DELETE FROM cupel_conversations WHERE id = $1";
            transaction.run(DELETE, &[&id]).await?;
            const EMBEDDED: &str = "DELETE FROM cupel_embedded WHERE conversation = $1";
            transaction.run(EMBEDDED, &[&id]).await?;
        } else {
            const COUNT: &str = "UPDATE cupel_conversations
                                 SET messages = $2, oldest = $3, bytes = $4 WHERE id = $1";
            transaction.run(COUNT, &[&id, &messages, &oldest, &bytes]).await?;
        }
        transaction.commit().await?;
        Ok(erased)
    }

    /// Clears what erased rows left behind; whether the log is free of them, too.
    async fn clear(&self) -> Result<bool> {
        match &self.pools {
            Backend::Sqlite(pools) => pools.empty_log().await,
            // The server would do it by itself, later. It warns, and does not fail, where the role does
            // not own the tables.
            Backend::Postgres(pool) => {
                let vacuum = "VACUUM (SKIP_LOCKED) cupel_messages, cupel_originals, \
                              cupel_vectors, cupel_text_vectors, cupel_appends, cupel_conversations, cupel_summaries";
                sqlx::query(vacuum).execute(pool).await.during(ERASE)?;
                Ok(false)
            }
        }
    }

    /// Writes the tables anew: the room that erased rows left is gone then.
    pub(crate) async fn scrub(&self) -> Result<()> {
        const SCRUB: &str = "scrub";
        match &self.pools {
            Backend::Sqlite(pools) => {
                sqlx::query("VACUUM").execute(&pools.write).await.during(SCRUB)?;
                pools.empty_log().await?;
            }
            Backend::Postgres(pool) => {
                for rewrite in [
                    "VACUUM (FULL) cupel_messages",
                    "VACUUM (FULL) cupel_originals",
                    "VACUUM (FULL) cupel_vectors",
                    "VACUUM (FULL) cupel_text_vectors",
                    "VACUUM (FULL) cupel_appends",
                    "VACUUM (FULL) cupel_conversations",
                    "VACUUM (FULL) cupel_summaries",
                ] {
                    sqlx::query(rewrite).execute(pool).await.during(SCRUB)?;
                }
            }
        }
        Ok(())
    }
}
