//! The statements that differ between the databases.

/// One version of the tables: the statements that lead to it from the version before.
pub(super) type Migration = &'static [&'static str];

/// The statements of one database. Of a conversation they take the id as `$1`, unless they say that it
/// is the namespace, with the conversation's name as `$2`.
#[derive(Debug)]
pub(super) struct Dialect {
    /// Versions of the tables, the first leads from nothing to version 1.
    pub(super) steps: &'static [Migration],
    /// Count of the tables that hold the version: 1 or 0.
    pub(super) has_versions: &'static str,
    pub(super) create_versions: &'static str,
    /// Id and next number of the conversation `$2` of the namespace `$1`, locked.
    pub(super) lock: &'static str,
    /// Digests of the latest `$2` messages, the last one first.
    pub(super) latest_digests: &'static str,
    /// The first `$4` messages after number `$3` of the conversation `$2` of the namespace `$1`.
    pub(super) page_after: &'static str,
    /// The last `$4` messages in front of number `$3`, the last one first.
    pub(super) page_before: &'static str,
    /// Deletes the last message and returns it.
    pub(super) pop: &'static str,
    /// Delete what was kept about message `$2`.
    pub(super) erase_about_message: &'static [&'static str],
    /// Delete what was kept about messages before time `$2`.
    pub(super) erase_about: &'static [&'static str],
    /// Deletes the messages before time `$2`.
    pub(super) erase: &'static str,
    /// Deletes the keys of appends that have no message left.
    pub(super) erase_keys: &'static str,
    /// Count, oldest time and bytes of the messages.
    pub(super) left: &'static str,
    /// The messages in front of number `$5` of the conversation `$2` of the namespace `$1` with the
    /// conversation's id and NULL; if there are more than `$3` messages or `$4` bytes, or none, one row
    /// without a message, and instead of NULL the count if there are too many.
    pub(super) look: &'static str,
    /// For each text query of the list `$1` its position and the places of at most `$4` messages from
    /// `$2` to in front of `$3`, as [`search`](super::search) takes them apart.
    pub(super) places: &'static str,
    /// Count of the messages that a text query `$1` finds.
    pub(super) count: &'static str,
    /// Messages of a list of places.
    pub(super) texts: &'static str,
    /// The same, with the id and the name of the conversation, of one namespace.
    pub(super) texts_of_namespace: &'static str,
    /// The latest text with digest `$1` in the namespace `$2`.
    pub(super) original: &'static str,
}
