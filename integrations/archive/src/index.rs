//! Words of texts for the database's index, and words of questions for its queries.
//!
//! Both databases hold the same words: those of the judge that ranks what they find. None of them
//! has a sign that an index's own language would read; they are quoted all the same.

use cupel::relevance::{Language, Lexical};
use sha2::{Digest as _, Sha256};

/// The longest word that is kept whole; a longer one is cut, on both sides alike.
const LONGEST_WORD: usize = 128;

/// The bytes of words that are kept of one text. PostgreSQL takes a megabyte.
const MOST_BYTES: usize = 512 * 1024;

/// The bytes of a text that are read for words.
const MOST_TEXT: usize = 1024 * 1024;

/// The words of a text, each once, with a space between; of a large text those of its beginning.
pub(crate) fn words_of(text: &str, language: Language) -> String {
    let end = (0..=text.len().min(MOST_TEXT)).rev().find(|end| text.is_char_boundary(*end));
    let text = end.and_then(|end| text.get(..end)).unwrap_or_default();
    let mut words = String::new();
    for term in Lexical::in_language(language).terms(text) {
        let Some(word) = word(&term) else { continue };
        if words.len() + word.len() > MOST_BYTES {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(&word);
    }
    words
}

/// A term as one word of an index: letters, digits and signs above ASCII. None where nothing is
/// left of it.
pub(crate) fn word(term: &str) -> Option<String> {
    let mut word = String::with_capacity(term.len());
    for sign in term.chars() {
        let plain = sign.is_ascii_alphanumeric() || !(sign.is_ascii() || sign.is_whitespace());
        if plain && !sign.is_control() {
            if word.len() + sign.len_utf8() > LONGEST_WORD {
                break;
            }
            word.push(sign);
        }
    }
    (!word.is_empty()).then_some(word)
}

/// The word that stands for a namespace in every text of it. No term has an underscore.
pub(crate) fn namespace_word(namespace: &str) -> String {
    let digest = Sha256::digest(namespace.as_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("_n{hex}")
}

/// The word that stands for a conversation.
pub(crate) fn conversation_word(conversation: i64) -> String {
    format!("_c{conversation}")
}

/// A word in FTS5's language: between quotes it is a word, whatever it is.
pub(crate) fn fts5_quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// A word in PostgreSQL's language of queries.
pub(crate) fn tsquery_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_no_sign_of_an_index_language() {
        let text = "INV-2041 \" OR 1=1 -- NEAR( * : 'x' \\ ^ a_b \0 naïve 日本語";
        let words = words_of(text, Language::English);
        let allowed = |sign: char| sign == ' ' || sign.is_ascii_alphanumeric() || !sign.is_ascii();
        assert!(words.chars().all(allowed), "{words}");
        assert!(words.contains("inv2041") && words.contains("日本"), "{words}");
    }

    #[test]
    fn of_a_text_that_is_too_large_the_beginning_is_kept() {
        let mut text = String::from("needle ");
        for number in 0..400_000 {
            text.push_str(&format!("word{number} "));
        }
        text.push_str("haystack");
        let words = words_of(&text, Language::English);
        assert!(
            words.starts_with("needl") && words.len() <= MOST_BYTES && !words.contains("haystack")
        );
        let long = "x".repeat(5_000);
        assert_eq!(word(&long).map(|word| word.len()), Some(LONGEST_WORD));
        assert_eq!(word("\u{0}-"), None);
    }
}
