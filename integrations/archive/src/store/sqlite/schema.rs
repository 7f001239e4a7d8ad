//! The tables in SQLite, version by version.

use crate::store::dialect::Migration;
use crate::store::summary_tables;

/// A released step never changes; a change is a new step.
///
/// A message's `id` is its conversation's times 2^32 plus its number.
pub(super) const STEPS: &[Migration] = &[FIRST, SECOND, THIRD, summary_tables::SQLITE];

const FIRST: Migration = &[
    "CREATE TABLE cupel_conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        next INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        oldest INTEGER NOT NULL,
        UNIQUE (namespace, name)
    ) STRICT",
    "CREATE TABLE cupel_messages (
        id INTEGER PRIMARY KEY,
        role INTEGER NOT NULL,
        kind TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        time INTEGER NOT NULL,
        digest BLOB NOT NULL,
        metadata TEXT,
        wire BLOB,
        content BLOB NOT NULL
    ) STRICT",
    "CREATE TABLE cupel_appends (
        conversation INTEGER NOT NULL,
        key TEXT NOT NULL,
        digest BLOB NOT NULL,
        first INTEGER NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (conversation, key)
    ) STRICT, WITHOUT ROWID",
    "CREATE TABLE cupel_originals (
        message INTEGER NOT NULL,
        digest BLOB NOT NULL,
        content BLOB
    ) STRICT",
    "CREATE INDEX cupel_originals_message ON cupel_originals (message)",
    "CREATE INDEX cupel_originals_digest ON cupel_originals (digest)",
    // Words without their places, which nobody asks for; each is letters, digits and underscores.
    r#"CREATE VIRTUAL TABLE cupel_terms USING fts5 (
        terms, detail = none, columnsize = 0, tokenize = "ascii tokenchars '_'"
    )"#,
    // What is deleted leaves the index's own tables at once, and not with some later merge.
    "INSERT INTO cupel_terms (cupel_terms, rank) VALUES ('secure-delete', 1)",
    "CREATE TABLE cupel_settings (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID",
    "CREATE TABLE cupel_retired (
        name BLOB PRIMARY KEY,
        next INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID",
];

/// Adds the size of a conversation: a search reads small conversations whole.
const SECOND: Migration = &[
    "ALTER TABLE cupel_conversations ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0",
    "UPDATE cupel_conversations SET bytes = (
         SELECT coalesce(sum(length(m.content) + coalesce(length(m.wire), 0)), 0)
         FROM cupel_messages m
         WHERE m.id >= cupel_conversations.id << 32 AND m.id < (cupel_conversations.id + 1) << 32)",
];

/// Adds vectors: of messages, in pieces; of other texts by their keys; and the number up to which the
/// messages of a conversation have them.
const THIRD: Migration = &[
    "CREATE TABLE cupel_models (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        dimensions INTEGER NOT NULL
    ) STRICT",
    "CREATE TABLE cupel_vectors (
        message INTEGER NOT NULL,
        piece INTEGER NOT NULL,
        model INTEGER NOT NULL,
        key BLOB NOT NULL,
        vector BLOB NOT NULL
    ) STRICT",
    "CREATE UNIQUE INDEX cupel_vectors_message ON cupel_vectors (message, model, piece)",
    "CREATE INDEX cupel_vectors_key ON cupel_vectors (key, model)",
    "CREATE TABLE cupel_text_vectors (
        key BLOB NOT NULL,
        model INTEGER NOT NULL,
        namespace TEXT NOT NULL,
        time INTEGER NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (key, model)
    ) STRICT",
    "CREATE INDEX cupel_text_vectors_namespace ON cupel_text_vectors (namespace, time)",
    "CREATE TABLE cupel_embedded (
        conversation INTEGER NOT NULL,
        model INTEGER NOT NULL,
        upto INTEGER NOT NULL,
        PRIMARY KEY (conversation, model)
    ) STRICT, WITHOUT ROWID",
];
