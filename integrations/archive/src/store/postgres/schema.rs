//! The tables in PostgreSQL, version by version.

use crate::store::dialect::Migration;
use crate::store::summary_tables;

/// A released step never changes; a change is a new step.
///
/// Texts are bytes, since a text of PostgreSQL holds no NUL. Names are compared by their bytes, as in
/// every other database.
pub(super) const STEPS: &[Migration] = &[FIRST, SECOND, THIRD, summary_tables::POSTGRES];

const FIRST: Migration = &[
    r#"CREATE TABLE cupel_conversations (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        namespace TEXT COLLATE "C" NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        next BIGINT NOT NULL,
        messages BIGINT NOT NULL,
        oldest BIGINT NOT NULL,
        UNIQUE (namespace, name)
    )"#,
    "CREATE TABLE cupel_messages (
        conversation BIGINT NOT NULL,
        number BIGINT NOT NULL,
        role SMALLINT NOT NULL,
        kind TEXT NOT NULL,
        tokens BIGINT NOT NULL,
        time BIGINT NOT NULL,
        digest BYTEA NOT NULL,
        metadata TEXT,
        wire BYTEA,
        content BYTEA NOT NULL,
        terms TSVECTOR,
        PRIMARY KEY (conversation, number)
    )",
    // Without its list of what is to be indexed later, which every search would have to read.
    "CREATE INDEX cupel_messages_terms ON cupel_messages USING gin (terms) WITH (fastupdate = off)",
    r#"CREATE TABLE cupel_appends (
        conversation BIGINT NOT NULL,
        key TEXT COLLATE "C" NOT NULL,
        digest BYTEA NOT NULL,
        first BIGINT NOT NULL,
        count BIGINT NOT NULL,
        PRIMARY KEY (conversation, key)
    )"#,
    "CREATE TABLE cupel_originals (
        conversation BIGINT NOT NULL,
        number BIGINT NOT NULL,
        digest BYTEA NOT NULL,
        content BYTEA
    )",
    "CREATE INDEX cupel_originals_message ON cupel_originals (conversation, number)",
    "CREATE INDEX cupel_originals_digest ON cupel_originals (digest)",
    "CREATE TABLE cupel_settings (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    )",
    "CREATE TABLE cupel_retired (
        name BYTEA PRIMARY KEY,
        next BIGINT NOT NULL
    )",
];

/// Adds the size of a conversation: a search reads small conversations whole. Turns off the server's
/// statistics, because they keep samples of texts after the texts are erased, and no query needs them.
const SECOND: Migration = &[
    "ALTER TABLE cupel_conversations ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0",
    "UPDATE cupel_conversations c SET bytes = (
         SELECT coalesce(sum(octet_length(m.content) + coalesce(octet_length(m.wire), 0)), 0)
         FROM cupel_messages m WHERE m.conversation = c.id)",
    "ALTER TABLE cupel_conversations ALTER COLUMN namespace SET STATISTICS 0,
        ALTER COLUMN name SET STATISTICS 0",
    "ALTER TABLE cupel_messages ALTER COLUMN kind SET STATISTICS 0,
        ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN wire SET STATISTICS 0,
        ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0",
    "ALTER TABLE cupel_appends ALTER COLUMN key SET STATISTICS 0",
    "ALTER TABLE cupel_originals ALTER COLUMN content SET STATISTICS 0",
];

/// Adds vectors: of messages, in pieces; of other texts by their keys; and the number up to which the
/// messages of a conversation have them. The column of the extension `pgvector` is added where it is.
const THIRD: Migration = &[
    r#"CREATE TABLE cupel_models (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name TEXT COLLATE "C" NOT NULL UNIQUE,
        dimensions BIGINT NOT NULL
    )"#,
    "CREATE TABLE cupel_vectors (
        conversation BIGINT NOT NULL,
        number BIGINT NOT NULL,
        piece BIGINT NOT NULL,
        model BIGINT NOT NULL,
        key BYTEA NOT NULL,
        vector BYTEA NOT NULL,
        PRIMARY KEY (conversation, number, model, piece)
    )",
    "CREATE INDEX cupel_vectors_key ON cupel_vectors (key, model)",
    r#"CREATE TABLE cupel_text_vectors (
        key BYTEA NOT NULL,
        model BIGINT NOT NULL,
        namespace TEXT COLLATE "C" NOT NULL,
        time BIGINT NOT NULL,
        vector BYTEA NOT NULL,
        PRIMARY KEY (key, model)
    )"#,
    "CREATE INDEX cupel_text_vectors_namespace ON cupel_text_vectors (namespace, time)",
    "CREATE TABLE cupel_embedded (
        conversation BIGINT NOT NULL,
        model BIGINT NOT NULL,
        upto BIGINT NOT NULL,
        PRIMARY KEY (conversation, model)
    )",
    // Numbers of a model do not become smaller by compression, and trying takes time.
    "ALTER TABLE cupel_vectors ALTER COLUMN key SET STATISTICS 0,
        ALTER COLUMN vector SET STATISTICS 0, ALTER COLUMN vector SET STORAGE EXTERNAL",
    "ALTER TABLE cupel_text_vectors ALTER COLUMN key SET STATISTICS 0,
        ALTER COLUMN namespace SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0,
        ALTER COLUMN vector SET STORAGE EXTERNAL",
];
