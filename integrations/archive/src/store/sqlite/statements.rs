//! SQLite's own statements. A message's `id` is its conversation's times 2^32 plus its number.

use super::schema::STEPS;
use crate::store::dialect::Dialect;

pub(crate) const DIALECT: Dialect = Dialect {
    steps: STEPS,
    has_versions: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'cupel_schema'",
    create_versions: "CREATE TABLE cupel_schema (version INTEGER NOT NULL) STRICT",
    lock: "SELECT id, next FROM cupel_conversations WHERE namespace = $1 AND name = $2",
    latest_digests: "SELECT digest FROM cupel_messages
        WHERE id >= $1 << 32 AND id < ($1 + 1) << 32 ORDER BY id DESC LIMIT $2",
    page_after:
        "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content
        FROM cupel_conversations c JOIN cupel_messages m
          ON m.id > (c.id << 32) + min(max($3, 0), 4294967295) AND m.id < ((c.id + 1) << 32)
        WHERE c.namespace = $1 AND c.name = $2 ORDER BY m.id LIMIT $4",
    page_before:
        "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content
        FROM cupel_conversations c JOIN cupel_messages m
          ON m.id >= (c.id << 32) AND m.id < (c.id << 32) + min(max($3, 0), 4294967295)
        WHERE c.namespace = $1 AND c.name = $2 ORDER BY m.id DESC LIMIT $4",
    pop: "DELETE FROM cupel_messages WHERE id = (
            SELECT max(id) FROM cupel_messages WHERE id >= $1 << 32 AND id < ($1 + 1) << 32)
        RETURNING id & 4294967295, role, kind, tokens, time, metadata, wire, content",
    erase_about_message: &[
        "DELETE FROM cupel_terms WHERE rowid = ($1 << 32) + $2",
        "DELETE FROM cupel_originals WHERE message = ($1 << 32) + $2",
        "DELETE FROM cupel_vectors WHERE message = ($1 << 32) + $2",
    ],
    erase_about: &[
        "DELETE FROM cupel_terms WHERE rowid IN (SELECT id FROM cupel_messages
             WHERE id >= $1 << 32 AND id < ($1 + 1) << 32 AND time < $2)",
        "DELETE FROM cupel_originals WHERE message IN (SELECT id FROM cupel_messages
             WHERE id >= $1 << 32 AND id < ($1 + 1) << 32 AND time < $2)",
        "DELETE FROM cupel_vectors WHERE message IN (SELECT id FROM cupel_messages
             WHERE id >= $1 << 32 AND id < ($1 + 1) << 32 AND time < $2)",
    ],
    erase: "DELETE FROM cupel_messages WHERE id >= $1 << 32 AND id < ($1 + 1) << 32 AND time < $2",
    erase_keys: "DELETE FROM cupel_appends WHERE conversation = $1 AND NOT EXISTS (
            SELECT 1 FROM cupel_messages
            WHERE id >= ($1 << 32) + first AND id < ($1 << 32) + first + count)",
    left:
        "SELECT count(*), min(time), coalesce(sum(length(content) + coalesce(length(wire), 0)), 0)
        FROM cupel_messages WHERE id >= $1 << 32 AND id < ($1 + 1) << 32",
    look:
        "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content,
               c.id, CASE WHEN c.messages > $3 OR c.bytes > $4 THEN c.messages END
        FROM cupel_conversations c LEFT JOIN cupel_messages m ON m.id >= (c.id << 32)
          AND m.id < CASE WHEN c.messages <= $3 AND c.bytes <= $4
                     THEN (c.id << 32) + min(max($5, 0), 4294967296) END
        WHERE c.namespace = $1 AND c.name = $2 ORDER BY m.id",
    places: "SELECT word.key, (SELECT json_group_array(id) FROM (
            SELECT rowid AS id FROM cupel_terms
            WHERE cupel_terms MATCH word.value AND rowid >= $2 AND rowid < $3
            ORDER BY rowid DESC LIMIT $4))
        FROM json_each($1) AS word WHERE word.type = 'text'",
    count: "SELECT count(*) FROM cupel_terms
        WHERE cupel_terms MATCH $1 AND rowid >= $2 AND rowid < $3",
    texts:
        "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content
        FROM json_each($1) AS place CROSS JOIN cupel_messages m ON m.id = place.value",
    texts_of_namespace:
        "SELECT m.id & 4294967295, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire,
               m.content, m.id >> 32, c.name
        FROM json_each($1) AS place CROSS JOIN cupel_messages m ON m.id = place.value
        CROSS JOIN cupel_conversations c ON c.id = m.id >> 32
        WHERE c.namespace = $2",
    original: "SELECT coalesce(o.content, m.content) FROM cupel_originals o
        CROSS JOIN cupel_conversations c ON c.id = o.message >> 32
        CROSS JOIN cupel_messages m ON m.id = o.message
        WHERE o.digest = $1 AND c.namespace = $2 ORDER BY o.message DESC LIMIT 1",
};
