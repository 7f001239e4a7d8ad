//! The statements about vectors that differ between the databases.

/// The statements of one database. With `OFFSET 0` PostgreSQL goes from conversation to conversation, instead of
/// through the vectors of all tenants.
#[derive(Debug)]
pub(super) struct VectorStatements {
    /// Id and length of the model `$1`, which nobody forgets until the transaction ends.
    pub(super) lock_model: &'static str,
    /// Id of the conversation `$1`, whose messages nobody erases until the transaction ends.
    pub(super) lock_conversation: &'static str,
    /// Number and text, up to `$4` bytes of it, of at most `$5` messages of the conversation `$1` after
    /// number `$2` and in front of number `$3`.
    pub(super) unembedded: &'static str,
    /// Count of the messages that have no vectors of model `$1`.
    pub(super) waiting: &'static str,
    /// For each key of the list `$1` its position and its vector of model `$2`.
    pub(super) of_keys: &'static str,
    /// Deletes the vectors of texts with a key of the list `$1`.
    pub(super) erase_texts: &'static str,
    /// Conversation, number and vector of model `$2` in the conversation `$3` of the namespace `$1`, in
    /// front of number `$4`.
    pub(super) of_conversation: &'static str,
    /// Conversation, number and vector of model `$2` in the namespace `$1` but the conversation `$3`: at
    /// most `$4`, those of the latest conversations first.
    pub(super) of_namespace: &'static str,
    /// Deletes at most `$2` vectors of model `$1`.
    pub(super) forget: [&'static str; 3],
}

pub(super) const SQLITE: VectorStatements = VectorStatements {
    lock_model: "SELECT id, dimensions FROM cupel_models WHERE name = $1",
    lock_conversation: "SELECT id FROM cupel_conversations WHERE id = $1",
    unembedded: "SELECT id & 4294967295, substr(content, 1, $4) FROM cupel_messages
        WHERE id > ($1 << 32) + $2 AND id < ($1 << 32) + $3 ORDER BY id LIMIT $5",
    waiting: "SELECT count(*) FROM (
            SELECT c.id, coalesce(e.upto, 0) AS upto FROM cupel_conversations c
            LEFT JOIN cupel_embedded e ON e.conversation = c.id AND e.model = $1
            WHERE c.next - 1 > coalesce(e.upto, 0)) AS part
        CROSS JOIN cupel_messages m
          ON m.id > (part.id << 32) + part.upto AND m.id < ((part.id + 1) << 32)",
    of_keys: "SELECT text.key, coalesce(
            (SELECT vector FROM cupel_vectors WHERE key = unhex(text.value) AND model = $2 LIMIT 1),
            (SELECT vector FROM cupel_text_vectors WHERE key = unhex(text.value) AND model = $2))
        FROM json_each($1) AS text",
    erase_texts: "DELETE FROM cupel_text_vectors
        WHERE key IN (SELECT unhex(value) FROM json_each($1))",
    of_conversation: "SELECT v.message >> 32, v.message & 4294967295, v.vector
        FROM cupel_conversations c CROSS JOIN cupel_vectors v
          ON v.message >= (c.id << 32)
            AND v.message < (c.id << 32) + min(max($4, 0), 4294967296) AND v.model = $2
        WHERE c.namespace = $1 AND c.name = $3",
    of_namespace: "SELECT v.message >> 32, v.message & 4294967295, v.vector
        FROM (SELECT id FROM cupel_conversations
            WHERE namespace = $1 AND name IS NOT $3 ORDER BY id DESC) AS c
        CROSS JOIN cupel_vectors v
          ON v.message >= (c.id << 32) AND v.message < ((c.id + 1) << 32) AND v.model = $2
        LIMIT $4",
    forget: [
        "DELETE FROM cupel_vectors WHERE rowid IN (
            SELECT rowid FROM cupel_vectors WHERE model = $1 LIMIT $2)",
        "DELETE FROM cupel_text_vectors WHERE rowid IN (
            SELECT rowid FROM cupel_text_vectors WHERE model = $1 LIMIT $2)",
        "DELETE FROM cupel_embedded WHERE (conversation, model) IN (
            SELECT conversation, model FROM cupel_embedded WHERE model = $1 LIMIT $2)",
    ],
};

pub(super) const POSTGRES: VectorStatements = VectorStatements {
    lock_model: "SELECT id, dimensions FROM cupel_models WHERE name = $1 FOR KEY SHARE",
    lock_conversation: "SELECT id FROM cupel_conversations WHERE id = $1 FOR KEY SHARE",
    unembedded: "SELECT number, substring(content FROM 1 FOR CAST($4 AS integer))
        FROM cupel_messages
        WHERE conversation = $1 AND number > $2 AND number < $3 ORDER BY number LIMIT $5",
    waiting: "SELECT count(*) FROM (
            SELECT c.id, coalesce(e.upto, 0) AS upto FROM cupel_conversations c
            LEFT JOIN cupel_embedded e ON e.conversation = c.id AND e.model = $1
            WHERE c.next - 1 > coalesce(e.upto, 0)) AS part
        JOIN cupel_messages m ON m.conversation = part.id AND m.number > part.upto",
    of_keys: "SELECT text.at - 1, coalesce(
            (SELECT v.vector FROM cupel_vectors v
             WHERE v.key = text.key AND v.model = $2 LIMIT 1),
            (SELECT t.vector FROM cupel_text_vectors t WHERE t.key = text.key AND t.model = $2))
        FROM unnest($1::bytea[]) WITH ORDINALITY AS text (key, at)",
    erase_texts: "DELETE FROM cupel_text_vectors WHERE key = ANY ($1::bytea[])",
    of_conversation: "SELECT conversation, number, vector FROM cupel_vectors
        WHERE conversation = (
            SELECT id FROM cupel_conversations WHERE namespace = $1 AND name = $3)
          AND number < $4 AND model = $2",
    of_namespace: "SELECT v.conversation, v.number, v.vector
        FROM (SELECT id FROM cupel_conversations
            WHERE namespace = $1 AND name IS DISTINCT FROM $3 ORDER BY id DESC) AS c
        CROSS JOIN LATERAL (SELECT * FROM cupel_vectors
            WHERE conversation = c.id AND model = $2 OFFSET 0) AS v
        LIMIT $4",
    forget: [
        "DELETE FROM cupel_vectors WHERE ctid IN (
            SELECT ctid FROM cupel_vectors WHERE model = $1 LIMIT $2)",
        "DELETE FROM cupel_text_vectors WHERE ctid IN (
            SELECT ctid FROM cupel_text_vectors WHERE model = $1 LIMIT $2)",
        "DELETE FROM cupel_embedded WHERE ctid IN (
            SELECT ctid FROM cupel_embedded WHERE model = $1 LIMIT $2)",
    ],
};
