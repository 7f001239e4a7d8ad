//! An append to a conversation, and its result.

use std::ops::RangeInclusive;
use std::sync::Arc;

use chrono::Utc;
use cupel::conversation::Role;
use cupel::relevance::Language;

use crate::blocking::off_executor;
use crate::digest::{MessageDigest, append_digest, message_digest};
use crate::error::{ArchiveError, Result};
use crate::message::ArchiveMessage;
use crate::{index, names, original};

/// Messages to append, and how.
///
/// ```
/// use cupel_archive::{Append, ArchiveMessage};
///
/// // Sent twice, because the first answer got lost, it is appended once.
/// let turn = Append::new([ArchiveMessage::user("Hello"), ArchiveMessage::assistant("Hi")]).key("turn-17");
/// # let _ = turn;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Append {
    pub(crate) messages: Vec<ArchiveMessage>,
    pub(crate) key: Option<String>,
    /// Number of leading messages that may be in the archive already.
    pub(crate) history: usize,
}

impl Append {
    /// The longest text of a message, in bytes.
    pub const LONGEST_TEXT: usize = 128 * 1024 * 1024;

    /// The most messages of one append.
    pub const MOST_MESSAGES: usize = 100_000;

    /// Appends these messages.
    pub fn new(messages: impl IntoIterator<Item = ArchiveMessage>) -> Self {
        Self { messages: messages.into_iter().collect(), key: None, history: 0 }
    }

    /// A name that the caller gives this append in its conversation: the same append twice is one,
    /// and the same key with other messages an error. Tokens are not compared.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Says that the first `messages` of them are history, as a client sends it with every
    /// call: those that the archive has are not appended again.
    ///
    /// What is new begins after the archive's last message, or, where that is not among them
    /// because the client went back and said something else, where they first differ from the
    /// archive's. Messages are compared by role and text.
    pub fn history(mut self, messages: usize) -> Self {
        self.history = messages;
        self
    }

    pub(crate) fn prepare(self, language: Language) -> Result<CheckedAppend> {
        let Self { messages, key, history } = self;
        if let Some(key) = &key {
            names::checked("key", key)?;
        }
        if messages.len() > Self::MOST_MESSAGES {
            let problem =
                format!("got {}, expected at most {}", messages.len(), Self::MOST_MESSAGES);
            return Err(ArchiveError::argument("messages", problem));
        }
        for message in &messages {
            check(message)?;
        }
        let key = key.map(|name| AppendKey { name, digest: append_digest(&messages, None) });
        let now = Utc::now().timestamp_micros();
        let digests = messages.iter().map(|it| message_digest(it.role, &it.content)).collect();
        Ok(CheckedAppend {
            history: history.min(messages.len()),
            messages: Arc::new(messages),
            digests,
            key,
            language,
            now,
        })
    }
}

fn check(message: &ArchiveMessage) -> Result<(), ArchiveError> {
    let texts = [Some(&message.content), message.wire.as_ref()];
    let longest = texts.into_iter().flatten().chain(&message.originals).map(String::len).max();
    let (longest, most) = (longest.unwrap_or_default(), Append::LONGEST_TEXT);
    if longest > most {
        let problem = format!("has {longest} bytes, expected at most {most}");
        return Err(ArchiveError::argument("message", problem));
    }
    if message.kind.as_str().contains('\0') {
        return Err(ArchiveError::argument("kind", "holds a NUL, expected a name without"));
    }
    Ok(())
}

impl From<Vec<ArchiveMessage>> for Append {
    fn from(messages: Vec<ArchiveMessage>) -> Self {
        Self::new(messages)
    }
}

impl<const N: usize> From<[ArchiveMessage; N]> for Append {
    fn from(messages: [ArchiveMessage; N]) -> Self {
        Self::new(messages)
    }
}

impl From<ArchiveMessage> for Append {
    fn from(message: ArchiveMessage) -> Self {
        Self::new([message])
    }
}

/// An append whose arguments are checked.
#[derive(Debug)]
pub(crate) struct CheckedAppend {
    pub(crate) messages: Arc<Vec<ArchiveMessage>>,
    pub(crate) digests: Vec<MessageDigest>,
    pub(crate) key: Option<AppendKey>,
    pub(crate) history: usize,
    pub(crate) language: Language,
    /// The time of messages that have none, in microseconds.
    pub(crate) now: i64,
}

/// Words and originals of a message, for the index.
pub(crate) struct IndexEntry {
    /// The words, with spaces between.
    pub(crate) words: String,
    /// The digests of texts that can be asked for, each with its place among the message's originals
    /// where the text is not all of the message.
    originals: Vec<([u8; 16], Option<usize>)>,
}

/// Nanoseconds for finding the words of a byte.
const INDEXED_BYTE: usize = 64;

impl IndexEntry {
    fn of(message: &ArchiveMessage, language: Language) -> Self {
        let mut originals: Vec<([u8; 16], Option<usize>)> = Vec::new();
        if message.role == Role::Tool {
            originals.push((original::digest(&message.content), None));
        }
        for (place, text) in message.originals.iter().enumerate() {
            let digest = original::digest(text);
            if !originals.iter().any(|(known, _)| *known == digest) {
                originals.push((digest, (*text != message.content).then_some(place)));
            }
        }
        Self { words: index::words_of(&message.content, language), originals }
    }

    /// The digests of texts that can be asked for, each with its text where that is not all of the
    /// message.
    pub(crate) fn originals<'a>(
        &'a self,
        message: &'a ArchiveMessage,
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a str>)> {
        self.originals.iter().map(|(digest, place)| {
            let text = place.and_then(|place| message.originals.get(place));
            (digest.as_slice(), text.map(String::as_str))
        })
    }
}

impl CheckedAppend {
    /// The part that the archive may have already, if there is one, and how many of the archive's
    /// latest messages have to be looked at.
    pub(crate) fn history(&self) -> Option<(&[MessageDigest], i64)> {
        let history = self.digests.get(..self.history).filter(|history| !history.is_empty())?;
        // The archive may hold what the client has dropped since.
        let latest = history.len().saturating_mul(2).saturating_add(64);
        Some((history, i64::try_from(latest).unwrap_or(i64::MAX)))
    }

    /// Computes the words and the originals of all messages but the first `known`, off the executor if
    /// there is much of them.
    pub(crate) async fn indexed(&self, known: usize) -> Result<Vec<IndexEntry>> {
        let (messages, language) = (Arc::clone(&self.messages), self.language);
        let bytes: usize = messages.iter().skip(known).map(ArchiveMessage::held_bytes).sum();
        off_executor("append", bytes.saturating_mul(INDEXED_BYTE), move || {
            let new = messages.iter().skip(known);
            Ok(new.map(|message| IndexEntry::of(message, language)).collect())
        })
        .await
    }
}

#[derive(Debug)]
pub(crate) struct AppendKey {
    pub(crate) name: String,
    pub(crate) digest: [u8; 32],
}

impl CheckedAppend {
    /// Returns true if an earlier version wrote this digest for the same append. Earlier versions hashed
    /// the token counts too: those of the messages as given now, or as they were appended then.
    pub(crate) fn has_earlier_digest(&self, digest: &[u8], appended: &[i64]) -> bool {
        let now: Vec<i64> = self.messages.iter().map(|message| message.tokens).collect();
        // What was appended are the last messages; the rest was there before.
        let before = now.iter().take(now.len().saturating_sub(appended.len()));
        let then: Vec<i64> = before.chain(appended).copied().collect();
        [now, then].iter().any(|tokens| append_digest(&self.messages, Some(tokens)) == *digest)
    }
}

/// The answer of an append: from now on the messages are in the archive, whatever happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppendOutcome {
    first: i64,
    count: i64,
    /// True if an earlier append with the same key wrote the messages.
    pub repeated: bool,
}

impl AppendOutcome {
    pub(crate) fn new(first: i64, count: i64, repeated: bool) -> Self {
        Self { first, count, repeated }
    }

    /// The numbers of the messages; none when nothing was new.
    #[must_use]
    pub fn numbers(&self) -> RangeInclusive<i64> {
        self.first..=self.first.saturating_add(self.count).saturating_sub(1)
    }

    /// Number of messages that were appended.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.count
    }
}
