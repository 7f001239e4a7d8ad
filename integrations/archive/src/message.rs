//! A message as it is archived, and as it comes back.

use std::collections::BTreeMap;

use chrono::{DateTime, SubsecRound as _, Utc};
use cupel::ContextKind;
use cupel::conversation::Role;
use cupel::tokens::{TokenCounter as _, counter_for_model};

/// A message to archive: who speaks, its text, and what else shall come back with it.
///
/// The text is what is searched and shown. A message of an API that is more than its text keeps its
/// own form in [`wire`](Self::wire).
///
/// ```
/// use cupel_archive::ArchiveMessage;
///
/// let message = ArchiveMessage::user("Where is parcel INV-2041?").metadata_entry("channel", "mail");
/// assert!(message.tokens > 0); // an estimate, unless it is set
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ArchiveMessage {
    /// Role of the speaker.
    pub role: Role,
    /// Kind of content. The default is tool output for a tool's message, and
    /// [`ContextKind::message`] otherwise.
    pub kind: ContextKind,
    /// The text.
    pub content: String,
    /// The tokens of all of it; an estimate by the text unless set.
    pub tokens: i64,
    /// Time of writing, to the microsecond. The default is the time of the append.
    pub time: Option<DateTime<Utc>>,
    /// Key-value data of the caller.
    pub metadata: BTreeMap<String, String>,
    /// The message as its API writes it, where that is more than the text.
    pub wire: Option<String>,
    /// Texts inside the message that a key shall find on their own, such as one of several tool
    /// results. A tool's message is found by its whole text without being listed here.
    pub originals: Vec<String>,
}

impl ArchiveMessage {
    /// A message of this role.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        let content = content.into();
        // The process's own counter, which counts a text once however often it comes by.
        let tokens = counter_for_model("").count(&content);
        Self::counted(role, content, tokens)
    }

    /// A message whose tokens are known.
    pub(crate) fn counted(role: Role, content: String, tokens: i64) -> Self {
        let kind =
            if role == Role::Tool { ContextKind::tool_output() } else { ContextKind::message() };
        Self {
            role,
            kind,
            content,
            tokens,
            time: None,
            metadata: BTreeMap::new(),
            wire: None,
            originals: Vec::new(),
        }
    }

    /// A user's message.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }

    /// A model's message.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// A tool's result.
    pub fn tool(content: impl Into<String>) -> Self {
        Self::new(Role::Tool, content)
    }

    /// Sets what it is.
    pub fn kind(mut self, kind: ContextKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the tokens of all of it.
    pub fn tokens(mut self, tokens: i64) -> Self {
        self.tokens = tokens;
        self
    }

    /// Sets when it was written. What is finer than a microsecond is cut off.
    pub fn time(mut self, time: DateTime<Utc>) -> Self {
        self.time = Some(time.trunc_subsecs(6));
        self
    }

    /// Adds a metadata entry; a later value replaces an earlier one for the same key.
    pub fn metadata_entry(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Keeps the message as its API writes it beside its text.
    pub fn wire(mut self, wire: impl Into<String>) -> Self {
        self.wire = Some(wire.into());
        self
    }

    /// Adds a text inside the message that its key shall find.
    pub fn original(mut self, text: impl Into<String>) -> Self {
        self.originals.push(text.into());
        self
    }
}

impl ArchiveMessage {
    /// The bytes that reading it takes, in the main.
    pub(crate) fn size(&self) -> i64 {
        let bytes = self.content.len() + self.wire.as_ref().map_or(0, String::len);
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    /// The bytes that it holds in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        let metadata = self.metadata.iter().flat_map(|(key, value)| [key, value]);
        let texts = [&self.content].into_iter().chain(&self.wire).chain(&self.originals);
        size_of::<Self>() + texts.chain(metadata).map(String::len).sum::<usize>()
    }
}

/// A message of the archive, with its number in the conversation.
///
/// Numbers ascend in the order of the conversation, begin with 1 and are never given twice, so
/// there are gaps where messages were taken back. [`ArchiveMessage::originals`] is empty: those are
/// [asked for by key](crate::Namespace::original).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredMessage {
    /// The number in the conversation.
    pub number: i64,
    /// The message; its time is always set.
    pub message: ArchiveMessage,
}

/// The number that a role has in the database.
pub(crate) fn role_number(role: Role) -> i16 {
    match role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
        // A role that a later version of the core knows is at least nobody's own words.
        _ => 0,
    }
}

/// The role of a number; instructions, which nobody said, for one that is unknown.
pub(crate) fn role_of(number: i16) -> Role {
    match number {
        1 => Role::User,
        2 => Role::Assistant,
        3 => Role::Tool,
        _ => Role::System,
    }
}
