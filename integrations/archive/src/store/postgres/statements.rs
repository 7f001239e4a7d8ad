//! PostgreSQL's own statements.

use super::schema::STEPS;
use crate::store::dialect::Dialect;

pub(crate) const DIALECT: Dialect = Dialect {
    steps: STEPS,
    has_versions: "SELECT count(to_regclass('cupel_schema'))",
    create_versions: "CREATE TABLE cupel_schema (version BIGINT NOT NULL)",
    lock: "SELECT id, next FROM cupel_conversations WHERE namespace = $1 AND name = $2 FOR UPDATE",
    latest_digests: "SELECT digest FROM cupel_messages
        WHERE conversation = $1 ORDER BY number DESC LIMIT $2",
    page_after: "SELECT number, role, kind, tokens, time, metadata, wire, content
        FROM cupel_messages WHERE conversation = (
            SELECT id FROM cupel_conversations WHERE namespace = $1 AND name = $2)
          AND number > $3 ORDER BY number LIMIT $4",
    page_before: "SELECT number, role, kind, tokens, time, metadata, wire, content
        FROM cupel_messages WHERE conversation = (
            SELECT id FROM cupel_conversations WHERE namespace = $1 AND name = $2)
          AND number < $3 ORDER BY number DESC LIMIT $4",
    pop: "DELETE FROM cupel_messages WHERE conversation = $1 AND number = (
            SELECT max(number) FROM cupel_messages WHERE conversation = $1)
        RETURNING number, role, kind, tokens, time, metadata, wire, content",
    erase_about_message: &[
        "DELETE FROM cupel_originals WHERE conversation = $1 AND number = $2",
        "DELETE FROM cupel_vectors WHERE conversation = $1 AND number = $2",
    ],
    erase_about: &[
        "DELETE FROM cupel_originals o USING cupel_messages m
         WHERE o.conversation = $1 AND m.conversation = $1 AND m.number = o.number AND m.time < $2",
        "DELETE FROM cupel_vectors v USING cupel_messages m
         WHERE v.conversation = $1 AND m.conversation = $1 AND m.number = v.number AND m.time < $2",
    ],
    erase: "DELETE FROM cupel_messages WHERE conversation = $1 AND time < $2",
    erase_keys: "DELETE FROM cupel_appends a WHERE conversation = $1 AND NOT EXISTS (
            SELECT 1 FROM cupel_messages m WHERE m.conversation = $1
              AND m.number >= a.first AND m.number < a.first + a.count)",
    left: "SELECT count(*), min(time),
               coalesce(sum(octet_length(content) + coalesce(octet_length(wire), 0)), 0)
        FROM cupel_messages WHERE conversation = $1",
    look: "SELECT m.number, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content, c.id,
               CASE WHEN c.messages > $3 OR c.bytes > $4 THEN c.messages END
        FROM cupel_conversations c LEFT JOIN cupel_messages m
          ON m.conversation = CASE WHEN c.messages <= $3 AND c.bytes <= $4 THEN c.id END
            AND m.number < $5
        WHERE c.namespace = $1 AND c.name = $2 ORDER BY m.number",
    places: "SELECT word.number - 1, found.conversations, found.numbers
        FROM unnest($1::text[]) WITH ORDINALITY AS word (query, number)
        CROSS JOIN LATERAL (
            SELECT array_agg(conversation) AS conversations, array_agg(number) AS numbers
            FROM (SELECT conversation, number FROM cupel_messages
                WHERE terms @@ word.query::tsquery AND number >= $2 AND number < $3
                LIMIT $4) AS part) AS found
        WHERE found.numbers IS NOT NULL",
    count: "SELECT count(*) FROM cupel_messages WHERE terms @@ $1::tsquery",
    texts: "SELECT number, role, kind, tokens, time, metadata, wire, content
        FROM cupel_messages WHERE conversation = $2 AND number = ANY ($1)",
    texts_of_namespace:
        "SELECT m.number, m.role, m.kind, m.tokens, m.time, m.metadata, m.wire, m.content,
               m.conversation, c.name
        FROM unnest($3::bigint[], $1::bigint[]) AS place (conversation, number)
        JOIN cupel_messages m USING (conversation, number)
        JOIN cupel_conversations c ON c.id = m.conversation
        WHERE c.namespace = $2",
    original: "SELECT coalesce(o.content, m.content) FROM cupel_originals o
        JOIN cupel_conversations c ON c.id = o.conversation
        JOIN cupel_messages m ON m.conversation = o.conversation AND m.number = o.number
        WHERE o.digest = $1 AND c.namespace = $2
        ORDER BY o.conversation DESC, o.number DESC LIMIT 1",
};
