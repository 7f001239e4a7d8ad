//! Keys of texts: the hash of a text in a namespace.

use cupel::gather::TextHash;
use cupel::relevance::pieces;
use sha2::{Digest as _, Sha256};

/// The hash of a text in one namespace. Nobody finds another tenant's vector by a text, and nobody can
/// tell from two keys of two tenants if they have the same text.
pub(crate) type VectorKey = [u8; 16];

/// The key of a text by its hash.
pub(crate) fn key_of(namespace: &str, text: &TextHash) -> VectorKey {
    let mut hash = Sha256::new();
    hash.update((namespace.len() as u64).to_le_bytes());
    hash.update(namespace.as_bytes());
    hash.update(text.as_bytes());
    hash.finalize().first_chunk().copied().unwrap_or_default()
}

/// The keys under which vectors of a text may be kept: its own, and those of its pieces.
pub(crate) fn keys_of(namespace: &str, text: &str) -> Vec<VectorKey> {
    let parts = std::iter::once(text).chain(embedded_pieces(text));
    let mut keys: Vec<VectorKey> =
        parts.map(|part| key_of(namespace, &TextHash::of(part))).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The pieces of a text that get vectors, each of about a hundred words: those of its beginning.
pub(crate) fn embedded_pieces(text: &str) -> impl Iterator<Item = &str> {
    let pieces = pieces(beginning(text)).into_iter();
    pieces.filter(|piece| !piece.trim().is_empty()).take(MOST_PIECES)
}

/// The part of a text that is read for pieces.
fn beginning(text: &str) -> &str {
    let end = (0..=text.len().min(MOST_READ)).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// The most vectors of one message.
const MOST_PIECES: usize = 64;

/// The bytes of a message that are read for pieces: they give no more than that.
pub(crate) const MOST_READ: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_has_the_keys_of_the_pieces_of_its_beginning() {
        let text = format!("{}the end", "Some words of a sentence. ".repeat(3_000));
        let pieces: Vec<&str> = embedded_pieces(&text).collect();
        assert!(pieces.len() > 40 && pieces.len() <= MOST_PIECES, "{}", pieces.len());
        assert!(text.starts_with(&pieces.concat()));
        assert_eq!(keys_of("t", &text).len(), {
            let different: std::collections::BTreeSet<&str> = pieces.into_iter().collect();
            different.len() + 1
        });
        assert_eq!(embedded_pieces(" \n ").count(), 0);
        assert_eq!(keys_of("t", "short").len(), 1);
    }

    #[test]
    fn tenants_have_other_keys_for_the_same_text() {
        let text = TextHash::of("the same");
        assert_eq!(key_of("a", &text), key_of("a", &text));
        assert_ne!(key_of("a", &text), key_of("b", &text));
    }
}
