//! Finds the words of a text, and the parts of identifiers, numbers and paths. The language says which
//! endings of words do not matter.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use frostem::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use crate::error::ConfigError;

/// Something of a text that can match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordPiece<'a> {
    /// A word, or a part of a compound: its endings do not matter.
    Word(&'a str),
    /// A compound without what joins its parts: `INV-2041` and `inv2041` are one.
    Whole(String),
    /// Two signs of a script without spaces, or a lone one.
    Signs(&'a str),
}

/// Takes pieces, each with its place in the text.
pub(super) type WordMatch<'f, 'a> = dyn FnMut(WordPiece<'a>, Range<usize>) + 'f;

/// A compound of more parts is a hash or a blob, and matches as a whole only.
const MOST_PARTS: usize = 8;
/// A longer one is no word.
const LONGEST: usize = 64;

/// Calls `found` for each piece, with its place in the text.
pub(super) fn pieces<'a>(text: &'a str, found: &mut WordMatch<'_, 'a>) {
    let mut compound = Compound::default();
    let mut add = |range: Range<usize>, found: &mut WordMatch<'_, 'a>| {
        if !compound.joins(text, range.start) {
            compound.finish(text, found);
        }
        compound.atoms.push(range);
    };
    if text.is_ascii() {
        ascii_atoms(text, &mut |range| add(range, found));
    } else {
        let mut start = 0;
        // Most of most texts is plain; only the chunks that are not need the Unicode rules.
        for chunk in text.split_inclusive([' ', '\n']) {
            if chunk.is_ascii() {
                ascii_atoms(chunk, &mut |range| add(start + range.start..start + range.end, found));
            } else {
                unicode_atoms(text, start, chunk, &mut add, found);
            }
            start += chunk.len();
        }
    }
    compound.finish(text, found);
}

fn ascii_atoms(text: &str, atom: &mut dyn FnMut(Range<usize>)) {
    let mut start = None;
    for (at, byte) in text.bytes().enumerate() {
        match (start, byte.is_ascii_alphanumeric()) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                atom(from..at);
                start = None;
            }
            _ => {}
        }
    }
    start.into_iter().for_each(|from| atom(from..text.len()));
}

fn unicode_atoms<'a>(
    text: &'a str,
    offset: usize,
    chunk: &'a str,
    atom: &mut impl FnMut(Range<usize>, &mut WordMatch<'_, 'a>),
    found: &mut WordMatch<'_, 'a>,
) {
    let mut run: Option<Range<usize>> = None;
    for (at, word) in chunk.unicode_word_indices() {
        let range = offset + at..offset + at + word.len();
        if word.chars().next().is_some_and(is_unspaced) {
            match &mut run {
                Some(run) if run.end == range.start => run.end = range.end,
                _ => {
                    run.replace(range).into_iter().for_each(|run| signs(text, run, found));
                }
            }
            continue;
        }
        run.take().into_iter().for_each(|run| signs(text, run, found));
        // The Unicode rules keep `can't` and `a.b` together.
        let mut from = range.start;
        for part in word.split_inclusive(['\'', '’', '.', '_', ':', ',', '·']) {
            let bare = part.trim_end_matches(['\'', '’', '.', '_', ':', ',', '·']);
            if !bare.is_empty() {
                atom(from..from + bare.len(), found);
            }
            from += part.len();
        }
    }
    run.into_iter().for_each(|run| signs(text, run, found));
}

/// Scripts that put no spaces between words, and Hangul, whose words carry their particles.
fn is_unspaced(sign: char) -> bool {
    matches!(u32::from(sign),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x1100..=0x11FF
        | 0x3040..=0x30FF | 0x3130..=0x318F | 0x31F0..=0x31FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC
        | 0x2_0000..=0x3_FFFF)
}

/// The pairs of neighbouring signs of a run.
fn signs<'a>(text: &'a str, run: Range<usize>, found: &mut WordMatch<'_, 'a>) {
    let Some(signs) = text.get(run.clone()) else { return };
    let mut bounds = signs.char_indices().map(|(at, _)| run.start + at).skip(1);
    let (mut first, mut second) = (run.start, bounds.next().unwrap_or(run.end));
    loop {
        let end = bounds.next().unwrap_or(run.end);
        if let Some(pair) = text.get(first..end) {
            found(WordPiece::Signs(pair), first..end);
        }
        if end == run.end {
            return;
        }
        (first, second) = (second, end);
    }
}

/// Atoms that are written as one: `getUserById`, `INV-2041`, `src/lib.rs`, `it's`.
#[derive(Default)]
struct Compound {
    atoms: Vec<Range<usize>>,
    parts: Vec<Range<usize>>,
}

impl Compound {
    /// Returns true if an atom that starts here continues this compound.
    fn joins(&self, text: &str, start: usize) -> bool {
        let Some(last) = self.atoms.last() else { return false };
        if last.end == start {
            return true;
        }
        match text.get(last.end..start) {
            Some(
                "'" | "’" | "_" | "-" | "." | "/" | "\\" | ":" | "::" | "@" | "#" | "+" | "->",
            ) => true,
            // Thousands: a comma elsewhere ends a word.
            Some(",") => {
                let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
                is_digit(text.as_bytes().get(last.end - 1)) && is_digit(text.as_bytes().get(start))
            }
            _ => false,
        }
    }

    fn finish<'a>(&mut self, text: &'a str, found: &mut WordMatch<'_, 'a>) {
        self.drop_contractions(text);
        self.parts.clear();
        for atom in &self.atoms {
            split(text, atom.clone(), &mut self.parts);
        }
        let (Some(first), Some(last)) = (self.atoms.first(), self.atoms.last()) else { return };
        let range = first.start..last.end;
        match &self.parts[..] {
            [] => {}
            [part] => {
                if let Some(word) = text.get(part.clone()) {
                    found(WordPiece::Word(word), part.clone());
                }
            }
            parts => {
                let words =
                    || parts.iter().filter_map(|part| Some((text.get(part.clone())?, part)));
                let length: usize = parts.iter().map(Range::len).sum();
                let is_blob = parts.len() > MOST_PARTS && self.atoms.len() == 1;
                if !is_blob {
                    words().for_each(|(word, part)| found(WordPiece::Word(word), part.clone()));
                }
                if length <= LONGEST && (is_blob || parts.len() <= MOST_PARTS) {
                    found(WordPiece::Whole(words().map(|(word, _)| word).collect()), range);
                }
            }
        }
        self.atoms.clear();
    }

    /// Drops the rest after an apostrophe in English (`it's`, `don't`, `we'll`), which is no word.
    fn drop_contractions(&mut self, text: &str) {
        let mut end = None;
        self.atoms.retain(|atom| {
            let after_apostrophe = end
                .and_then(|end| text.get(end..atom.start))
                .is_some_and(|between| matches!(between, "'" | "’"));
            end = Some(atom.end);
            !(after_apostrophe && atom.len() <= 2)
        });
    }
}

/// Splits where letters turn into capitals or digits.
fn split(text: &str, atom: Range<usize>, parts: &mut Vec<Range<usize>>) {
    let Some(word) = text.get(atom.clone()) else { return };
    let mut from = atom.start;
    let mut before: Option<char> = None;
    for (at, sign) in word.char_indices() {
        if let Some(before) = before {
            let turns = sign.is_numeric() != before.is_numeric()
                || sign.is_uppercase() && before.is_lowercase();
            if turns {
                parts.push(from..atom.start + at);
                from = atom.start + at;
            }
        }
        before = Some(sign);
    }
    parts.push(from..atom.end);
}

/// Declares the languages, each by the name that its stemmer has.
macro_rules! languages {
    ($(#[$about:meta])* $count:literal $($(#[$default:meta])? $Language:ident $name:literal,)+) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
        #[non_exhaustive]
        #[allow(missing_docs)] // each is its own name
        pub enum Language {
            /// Words as they are.
            None,
            $($(#[$default])? $Language,)+
        }

        impl Language {
            /// All of them.
            pub const ALL: [Self; $count] = [Self::None, $(Self::$Language),+];

            /// The name, as files spell it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$Language => $name,)+
                }
            }

            pub(super) fn stemmer(self) -> Option<Stemmer> {
                match self {
                    Self::None => None,
                    $(Self::$Language => Some(Stemmer::new(Algorithm::$Language)),)+
                }
            }
        }
    };
}

languages! {
    /// The language of a conversation: which endings of its words do not matter.
    ///
    /// A wrong one does little harm, since the question's words lose the same endings as the texts'.
    ///
    /// ```
    /// use cupel::relevance::Language;
    ///
    /// assert_eq!("german".parse(), Ok(Language::German));
    /// let error = "klingon".parse::<Language>().unwrap_err();
    /// assert!(error.to_string().starts_with(r#"Lexical: language: is "klingon", expected one of none, "#));
    /// ```
    13
    Danish "danish",
    Dutch "dutch",
    #[default] English "english",
    Finnish "finnish",
    French "french",
    German "german",
    Italian "italian",
    Norwegian "norwegian",
    Portuguese "portuguese",
    Russian "russian",
    Spanish "spanish",
    Swedish "swedish",
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, ConfigError> {
        let found = Self::ALL.into_iter().find(|language| language.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            let message = format!("is {name:?}, expected one of {}", names.join(", "));
            ConfigError::new("Lexical", "language", message)
        })
    }
}
