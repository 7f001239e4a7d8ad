//! Inserts messages in SQLite, one by one.

use super::row_number;
use crate::error::Result;
use crate::index::namespace_word;
use crate::message::role_number;
use crate::store::append::NewRows;
use crate::store::backend::{Arguments, Transaction};

/// Inserts messages, their words and their originals, and counts them.
pub(crate) async fn insert(transaction: &mut Transaction, new: &NewRows<'_>) -> Result<()> {
    for row in &new.rows {
        let (id, message) = (row_number(new.conversation, row.number)?, row.message);
        const MESSAGE: &str = "INSERT INTO cupel_messages
                (id, role, kind, tokens, time, digest, metadata, wire, content)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let (role, kind) = (role_number(message.role), message.kind.as_str());
        let wire = message.wire.as_deref().map(str::as_bytes);
        let (tokens, content) = (message.tokens, message.content.as_bytes());
        let row_arguments: Arguments<'_> =
            &[&id, &role, &kind, &tokens, &row.time, &row.digest, &row.metadata, &wire, &content];
        transaction.run(MESSAGE, row_arguments).await?;
        if !row.indexed.words.is_empty() {
            const WORDS: &str = "INSERT INTO cupel_terms (rowid, terms) VALUES ($1, $2)";
            let words = format!("{} {}", namespace_word(new.namespace), row.indexed.words);
            transaction.run(WORDS, &[&id, &words]).await?;
        }
        for (digest, text) in row.indexed.originals(message) {
            const ORIGINAL: &str =
                "INSERT INTO cupel_originals (message, digest, content) VALUES ($1, $2, $3)";
            let text = text.map(str::as_bytes);
            transaction.run(ORIGINAL, &[&id, &digest, &text]).await?;
        }
    }
    let (count, oldest, size) = new.totals();
    const COUNT: &str = "UPDATE cupel_conversations SET next = next + $2, messages = messages + $2,
                             oldest = min(oldest, $3), bytes = bytes + $4
                         WHERE id = $1";
    transaction.run(COUNT, &[&new.conversation, &count, &oldest, &size]).await?;
    Ok(())
}
