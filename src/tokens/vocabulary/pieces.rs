//! Pieces of a text. Tokens never cross from one to the next.

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

/// Expressions of an encoding. The second one matches a character too many.
pub(super) type Expressions = [&'static str; 3];

// OpenAI's expressions, but for `\s+(?!\S)`: this engine, which takes linear time, has no look-ahead. Space before
// more space is matched with the character behind it, which is then given back. Space at the end needs no other.

#[cfg(feature = "o200k")]
pub(super) const O200K: Expressions = [
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$",
    ),
    r"\s+\s",
    r"\s+",
];

#[cfg(feature = "cl100k")]
pub(super) const CL100K: Expressions = [
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"|\s*[\r\n]+|\s+$",
    ),
    r"\s+\s",
    r"\s+",
];

/// Number of the expression whose last character is given back.
const LOOKS_AHEAD: usize = 1;

/// Cuts texts into pieces.
pub(super) struct Pieces {
    /// There is one for all expressions of this file.
    regex: Option<Regex>,
}

impl Pieces {
    pub(super) fn new(expressions: Expressions) -> Self {
        Self { regex: Regex::new_many(&expressions).ok() }
    }

    /// The pieces of a text, in order.
    pub(super) fn of<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
            let piece = rest.get(..self.end(text, start) - start).unwrap_or(rest);
            start += piece.len();
            Some(piece)
        })
    }

    /// End of the piece that begins at `start`. The expressions match something everywhere.
    fn end(&self, text: &str, start: usize) -> usize {
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        let Some(found) = self.regex.as_ref().and_then(|regex| regex.find(input)) else {
            return text.len();
        };
        let last = match found.pattern().as_usize() {
            LOOKS_AHEAD => text.get(found.range()).and_then(|matched| matched.chars().next_back()),
            _ => None,
        };
        found.end() - last.map_or(0, char::len_utf8)
    }
}
