//! Inserts messages in PostgreSQL, all at once.

use crate::error::Result;
use crate::index::{conversation_word, namespace_word};
use crate::message::role_number;
use crate::store::append::{NewRow, NewRows};
use crate::store::backend::{Arguments, List, Transaction};

/// Inserts messages with their words, and counts them, in one round trip; their originals in another.
pub(crate) async fn insert(transaction: &mut Transaction, new: &NewRows<'_>) -> Result<()> {
    const MESSAGES: &str = "WITH counted AS (
            UPDATE cupel_conversations
            SET next = next + $2, messages = messages + $2, oldest = least(oldest, $3),
                bytes = bytes + $14
            WHERE id = $1)
        INSERT INTO cupel_messages
            (conversation, number, role, kind, tokens, time, digest, metadata, wire, content, terms)
        SELECT $1, number, role, kind, tokens, time, digest, metadata, wire, content,
               array_to_tsvector(string_to_array(rtrim(terms), ' '))
        FROM unnest($4::bigint[], $5::smallint[], $6::text[], $7::bigint[], $8::bigint[],
                    $9::bytea[], $10::text[], $11::bytea[], $12::bytea[], $13::text[])
          AS row (number, role, kind, tokens, time, digest, metadata, wire, content, terms)";
    let (count, oldest, size) = new.totals();
    let scope =
        format!("{} {}", namespace_word(new.namespace), conversation_word(new.conversation));
    let arguments: Arguments<'_> = &[
        &new.conversation,
        &count,
        &oldest,
        &column(new, |row| row.number),
        &column(new, |row| role_number(row.message.role)),
        &column(new, |row| row.message.kind.as_str()),
        &column(new, |row| row.message.tokens),
        &column(new, |row| row.time),
        &column(new, |row| row.digest),
        &column(new, |row| row.metadata.as_deref()),
        &column(new, |row| row.message.wire.as_deref().map(str::as_bytes)),
        &column(new, |row| row.message.content.as_bytes()),
        &column(new, |row| format!("{scope} {}", row.indexed.words)),
        &size,
    ];
    transaction.run(MESSAGES, arguments).await?;
    let originals = new.rows.iter().flat_map(|row| {
        let originals = row.indexed.originals(row.message);
        originals.map(|(digest, text)| (row.number, digest, text))
    });
    let originals: Vec<(i64, &[u8], Option<&str>)> = originals.collect();
    if originals.is_empty() {
        return Ok(());
    }
    const ORIGINALS: &str = "INSERT INTO cupel_originals (conversation, number, digest, content)
        SELECT $1, row.* FROM unnest($2::bigint[], $3::bytea[], $4::bytea[]) AS row";
    let arguments: Arguments<'_> = &[
        &new.conversation,
        &List(originals.iter().map(|it| it.0).collect::<Vec<_>>()),
        &List(originals.iter().map(|it| it.1).collect::<Vec<_>>()),
        &List(originals.iter().map(|it| it.2.map(str::as_bytes)).collect::<Vec<_>>()),
    ];
    transaction.run(ORIGINALS, arguments).await?;
    Ok(())
}

fn column<'a, T>(new: &'a NewRows<'a>, of: impl Fn(&'a NewRow<'a>) -> T) -> List<T> {
    List(new.rows.iter().map(of).collect())
}
