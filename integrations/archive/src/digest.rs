//! Hashes that tell one message, one append and one name from another.

use cupel::conversation::Role;
use sha2::{Digest as _, Sha256};

use crate::message::{ArchiveMessage, role_number};

/// The hash of a message in the database: who spoke and what, nothing else.
pub(crate) type MessageDigest = [u8; 16];

/// Hashes the role and the text of a message. The form in which an API wrote it does not matter.
pub(crate) fn message_digest(role: Role, content: &str) -> MessageDigest {
    let mut hash = Sha256::new();
    hash.update(role_number(role).to_le_bytes());
    hash.update(content.as_bytes());
    hash.finalize().first_chunk().copied().unwrap_or_default()
}

/// Hashes everything that the caller gave, to tell a retry from another append with the same key. Token
/// counts are not hashed: they are estimates, and the next version may count differently. Earlier versions
/// did hash them; with `tokens`, one for each message, this computes their digest.
pub(crate) fn append_digest(messages: &[ArchiveMessage], tokens: Option<&[i64]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    // Every part with its length, so that no two lists of messages look alike.
    let part = |hash: &mut Sha256, bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for (at, message) in messages.iter().enumerate() {
        hash.update(role_number(message.role).to_le_bytes());
        part(&mut hash, message.kind.as_str().as_bytes());
        part(&mut hash, message.content.as_bytes());
        if let Some(tokens) = tokens.and_then(|tokens| tokens.get(at)) {
            hash.update(tokens.to_le_bytes());
        }
        let time = message.time.map_or(i64::MIN, |time| time.timestamp_micros());
        hash.update(time.to_le_bytes());
        hash.update((message.metadata.len() as u64).to_le_bytes());
        for (key, value) in &message.metadata {
            part(&mut hash, key.as_bytes());
            part(&mut hash, value.as_bytes());
        }
        hash.update([u8::from(message.wire.is_some())]);
        part(&mut hash, message.wire.as_deref().unwrap_or_default().as_bytes());
        hash.update((message.originals.len() as u64).to_le_bytes());
        for original in &message.originals {
            part(&mut hash, original.as_bytes());
        }
    }
    hash.finalize().into()
}

/// Hashes the name of a conversation. It is kept when the conversation is forgotten, so that its
/// message numbers are not used again.
pub(crate) fn name_digest(namespace: &str, conversation: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((namespace.len() as u64).to_le_bytes());
    hash.update(namespace.as_bytes());
    hash.update(conversation.as_bytes());
    hash.finalize().into()
}
