//! Standing orders: what is recognised as one, and what is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod development;
mod injections;
mod labels;
mod orders;
mod phrasing;

use cupel::standing::{SentenceKind, standing_sentences};

/// The standing sentences of a text.
fn found(text: &str) -> Vec<String> {
    standing_sentences(text).iter().map(|found| text[found.range.clone()].to_owned()).collect()
}

/// Kind of a text that is one sentence.
fn kind(sentence: &str) -> Option<SentenceKind> {
    let found = standing_sentences(sentence);
    assert!(found.len() <= 1, "{sentence}: {found:?}");
    found.first().map(|found| found.kind)
}
