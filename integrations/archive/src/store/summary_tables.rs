//! The tables of summaries, in either database.

use super::dialect::Migration;

/// Summaries by tenant and key, and the costs of conversations. A summary without content is being made.
pub(super) const SQLITE: Migration = &[
    "CREATE TABLE cupel_summaries (
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        conversation TEXT NOT NULL,
        content BLOB,
        asked_at INTEGER NOT NULL,
        holder INTEGER NOT NULL,
        leased_until INTEGER NOT NULL,
        begun INTEGER NOT NULL,
        PRIMARY KEY (namespace, key)
    ) STRICT, WITHOUT ROWID",
    "CREATE INDEX cupel_summaries_conversation ON cupel_summaries (namespace, conversation)",
    "CREATE TABLE cupel_summary_costs (
        namespace TEXT NOT NULL,
        conversation TEXT NOT NULL,
        input_cost REAL NOT NULL,
        spent REAL NOT NULL,
        changed INTEGER NOT NULL,
        PRIMARY KEY (namespace, conversation)
    ) STRICT, WITHOUT ROWID",
];

/// As in SQLite. The server keeps no samples of texts.
pub(super) const POSTGRES: Migration = &[
    r#"CREATE TABLE cupel_summaries (
        namespace TEXT COLLATE "C" NOT NULL,
        key TEXT COLLATE "C" NOT NULL,
        conversation TEXT COLLATE "C" NOT NULL,
        content BYTEA,
        asked_at BIGINT NOT NULL,
        holder BIGINT NOT NULL,
        leased_until BIGINT NOT NULL,
        begun BIGINT NOT NULL,
        PRIMARY KEY (namespace, key)
    )"#,
    "CREATE INDEX cupel_summaries_conversation ON cupel_summaries (namespace, conversation)",
    r#"CREATE TABLE cupel_summary_costs (
        namespace TEXT COLLATE "C" NOT NULL,
        conversation TEXT COLLATE "C" NOT NULL,
        input_cost DOUBLE PRECISION NOT NULL,
        spent DOUBLE PRECISION NOT NULL,
        changed BIGINT NOT NULL,
        PRIMARY KEY (namespace, conversation)
    )"#,
    "ALTER TABLE cupel_summaries ALTER COLUMN content SET STATISTICS 0,
        ALTER COLUMN conversation SET STATISTICS 0, ALTER COLUMN namespace SET STATISTICS 0",
    "ALTER TABLE cupel_summary_costs ALTER COLUMN conversation SET STATISTICS 0,
        ALTER COLUMN namespace SET STATISTICS 0",
];
