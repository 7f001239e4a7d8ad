//! Words that say nothing about what is asked, in several languages.
//!
//! A question made of these alone ("yes", "go on") is none to judge by. There are few: how rare a
//! word is among the texts tells most of it.

use std::sync::LazyLock;

use hashbrown::HashSet;

/// A paragraph each for English, German, French, Spanish, Italian, Portuguese and Dutch.
const WORDS: &str = include_str!("common_words.txt");

static COMMON: LazyLock<HashSet<&'static str, foldhash::fast::FixedState>> =
    LazyLock::new(|| WORDS.split_ascii_whitespace().collect());

/// Whether a word in lower case is one of them.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.contains(word)
}
