//! Recognises standing orders in a user's text.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::forms::{ALL, Forms};
use super::paragraphs::own_paragraphs;
use super::sentences::{folded, sentences};
use crate::text_cache::TextCache;

/// A sentence of a user that stays valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StandingSentence {
    /// Bytes of the sentence in its text.
    pub range: Range<usize>,
    /// Its kind.
    pub kind: SentenceKind,
}

/// Kind of a standing sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SentenceKind {
    /// Tells the assistant what to do from now on.
    Directive,
    /// States what the user likes better.
    Preference,
    /// Takes an earlier rule back.
    Retraction,
}

/// Texts with more bytes are documents.
const MOST_BYTES: usize = 256 << 10;

static CACHE: LazyLock<TextCache<Arc<[StandingSentence]>>> =
    LazyLock::new(|| TextCache::new(8 << 20, 128, |found| size_of_val(&**found)));

/// Standing sentences of a user's text, in its order. They are remembered by the text.
#[must_use]
pub fn standing_sentences(text: &str) -> Arc<[StandingSentence]> {
    if text.len() > MOST_BYTES {
        return Arc::new([]);
    }
    CACHE.get_or_insert(&CACHE.key(text, ()), || read(text).into())
}

fn read(text: &str) -> Vec<StandingSentence> {
    let mut found = Vec::new();
    for paragraph in own_paragraphs(text) {
        for range in sentences(text, &paragraph) {
            let starts_quoted = paragraph.quoted.iter().any(|quote| quote.contains(&range.start));
            let sentence = text.get(range.clone()).unwrap_or_default();
            if starts_quoted || asks(sentence) {
                continue;
            }
            if let Some(kind) = kind_of(&folded(text, range.clone(), &paragraph.quoted)) {
                found.push(StandingSentence { range, kind });
            }
        }
    }
    found
}

fn asks(sentence: &str) -> bool {
    sentence.contains('¿')
        || sentence.trim_end_matches(|c: char| "\"”»')*_ ".contains(c)).ends_with('?')
}

/// Kind of a sentence, by its folded words.
fn kind_of(sentence: &str) -> Option<SentenceKind> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    languages(&words).find_map(|forms| Matcher { sentence, words: &words, forms }.kind())
}

/// The languages that a sentence may be in: those with most of its words.
fn languages<'a>(words: &[&str]) -> impl Iterator<Item = &'a Forms> {
    let score =
        |forms: &Forms| words.iter().filter(|word| forms.function_words.contains(word)).count();
    let scores = ALL.map(score);
    let most = scores.into_iter().max().unwrap_or_default();
    ALL.into_iter().zip(scores).filter(move |(_, score)| *score == most).map(|(forms, _)| forms)
}

struct Matcher<'a> {
    sentence: &'a str,
    words: &'a [&'a str],
    forms: &'a Forms,
}

impl Matcher<'_> {
    fn kind(&self) -> Option<SentenceKind> {
        let forms = self.forms;
        if self.words.len() < 2 {
            return None;
        }
        if self.retracts() {
            return Some(SentenceKind::Retraction);
        }
        if self.prefers() {
            return Some(SentenceKind::Preference);
        }
        let is_general =
            [forms.henceforth, forms.general, forms.asked].iter().any(|phrases| self.has(phrases));
        let is_directive = (is_general || !self.has(forms.once))
            && self.clauses().any(|clause| self.directs(&clause, is_general));
        is_directive.then_some(SentenceKind::Directive)
    }

    fn retracts(&self) -> bool {
        let forms = self.forms;
        let again = self.has(forms.again);
        self.clauses().any(|clause| {
            clause.opens_with(forms.retractions) || again && clause.opens_with(forms.permissions)
        })
    }

    fn prefers(&self) -> bool {
        self.has(self.forms.preferences) && !self.has(self.forms.no_preferences)
    }

    /// Tests if a clause gives an instruction for later.
    fn directs(&self, clause: &Clause<'_>, is_general: bool) -> bool {
        let forms = self.forms;
        let opens = clause.words.split_first().is_some_and(|(first, rest)| {
            forms.always.contains(first)
                && (forms.goes_on)(rest)
                && (clause.is_first || (forms.commands)(rest))
        });
        let own = clause.own(0);
        let addressed = match (forms.commands)(own) {
            true => Some(0),
            false => forms.addresses.iter().find_map(|phrase| clause.behind(phrase)),
        };
        let is_lasting = |from: usize| {
            is_general || clause.own(from).iter().any(|word| forms.adverbs.contains(word))
        };
        opens
            || (clause.is_first || is_general) && (forms.forbids)(own)
            || clause.is_first && clause.opens_with(forms.openings)
            || addressed.is_some_and(is_lasting)
            || self.has(forms.asked) && clause.opens_with(forms.wishes)
    }

    /// Clauses of the sentence. A clause with words at its beginning that change nothing is there with
    /// and without them.
    fn clauses(&self) -> impl Iterator<Item = Clause<'_>> {
        let forms = self.forms;
        let (mut open_at, mut is_first) = (Some(0), true);
        self.words.iter().enumerate().filter_map(move |(at, word)| {
            let begins = open_at == Some(at);
            let words = self.words.get(at..).unwrap_or_default();
            let clause = Clause { is_first, words };
            if begins {
                let skipped = forms.henceforth.iter().find_map(|phrase| clause.behind(phrase));
                open_at =
                    skipped.or(forms.lead.contains(word).then_some(1)).map(|words| at + words);
                is_first &= open_at.is_some();
            }
            if matches!(*word, "," | ":") || forms.conjunctions.contains(word) {
                open_at = open_at.max(Some(at + 1));
            }
            begins.then_some(clause)
        })
    }

    fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| holds(self.sentence, phrase))
    }
}

/// Tests if a folded sentence has a phrase, word by word.
fn holds(sentence: &str, phrase: &str) -> bool {
    sentence.match_indices(phrase).any(|(at, _)| {
        let before = sentence.get(..at).is_some_and(|before| before.ends_with(' '));
        let behind = sentence.get(at + phrase.len()..).is_some_and(|rest| rest.starts_with(' '));
        before && behind
    })
}

/// The rest of a sentence from the beginning of a clause on.
struct Clause<'a> {
    is_first: bool,
    words: &'a [&'a str],
}

impl<'a> Clause<'a> {
    /// Words from one on, up to the next comma.
    fn own(&self, from: usize) -> &'a [&'a str] {
        let words = self.words.get(from..).unwrap_or_default();
        let end = words.iter().position(|word| matches!(*word, "," | ":")).unwrap_or(words.len());
        words.get(..end).unwrap_or_default()
    }

    /// Number of a phrase's words, if the clause begins with it.
    fn behind(&self, phrase: &str) -> Option<usize> {
        let mut words = self.words.iter();
        phrase.split(' ').all(|part| words.next() == Some(&part)).then(|| phrase.split(' ').count())
    }

    fn opens_with(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.behind(phrase).is_some())
    }
}

/// Words of a sentence that say what it is about.
pub(super) fn informative(sentence: &str) -> Vec<String> {
    let words = folded(sentence, 0..sentence.len(), &[]);
    let words: Vec<&str> = words.split_whitespace().collect();
    let all = languages(&words).collect::<Vec<_>>();
    let says_little = |word: &str| {
        all.iter().any(|forms| {
            let lists = [
                forms.function_words,
                forms.lead,
                forms.conjunctions,
                forms.generic,
                forms.adverbs,
            ];
            lists.iter().any(|list| list.contains(&word)) || (forms.commands)(&[word])
        })
    };
    let informs = |word: &&&str| word.chars().count() >= 3 && !says_little(word);
    words.iter().filter(informs).map(|word| (**word).to_owned()).collect()
}
