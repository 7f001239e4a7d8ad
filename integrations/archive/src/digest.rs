//! Hashes that tell one message, one append and one name from another.

use cupel::conversation::Role;
use sha2::{Digest as _, Sha256};

use crate::message::{Message, role_number};

/// The hash of a message in the database: who spoke and what, nothing else.
pub(crate) type MessageDigest = [u8; 16];

/// Who spoke and what: the same for a message however an API wrote it.
pub(crate) fn message_digest(role: Role, content: &str) -> MessageDigest {
    let mut hash = Sha256::new();
    hash.update(role_number(role).to_le_bytes());
    hash.update(content.as_bytes());
    hash.finalize().first_chunk().copied().unwrap_or_default()
}

/// Everything that the caller gave, for telling whether a key comes with the same append again. Tokens
/// are no part of it: they are an estimate, which the next version may count otherwise. Earlier versions
/// had them in it; with `tokens`, one for each message, the digest is theirs.
pub(crate) fn append_digest(messages: &[Message], tokens: Option<&[i64]>) -> [u8; 32] {
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

/// What is left of a conversation that was forgotten: enough to go on counting, and no name.
pub(crate) fn name_digest(namespace: &str, conversation: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((namespace.len() as u64).to_le_bytes());
    hash.update(namespace.as_bytes());
    hash.update(conversation.as_bytes());
    hash.finalize().into()
}
