//! Recognises standing orders in a user's text.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use super::paragraphs::own_paragraphs;
use super::phrase_index::{Language, List, languages_of};
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

/// Number of texts whose kinds are found without a look into the cache.
const KINDS: usize = 1 << 15;

/// A hash of a text with two bits for its kinds, at the place that the hash says. Zero is free.
static KINDS_BY_HASH: LazyLock<(foldhash::fast::RandomState, Vec<AtomicU64>)> =
    LazyLock::new(|| (Default::default(), (0..KINDS).map(|_| AtomicU64::new(0)).collect()));

/// Returns true if a text has standing sentences, and true if some of them are no retractions.
pub(crate) fn standing_kinds(text: &str) -> (bool, bool) {
    let (state, slots) = &*KINDS_BY_HASH;
    // Never zero.
    let key = state.hash_one(text.as_bytes()) << 3 | 4;
    let slot = slots.get((key >> 3) as usize % KINDS);
    let known = slot.map(|slot| slot.load(Ordering::Relaxed)).filter(|known| known & !3 == key);
    let bits = known.unwrap_or_else(|| {
        let found = standing_sentences(text);
        let orders = found.iter().any(|found| found.kind != SentenceKind::Retraction);
        key | u64::from(!found.is_empty()) << 1 | u64::from(orders)
    });
    slot.into_iter().for_each(|slot| slot.store(bits, Ordering::Relaxed));
    (bits & 2 != 0, bits & 1 != 0)
}

fn read(text: &str) -> Vec<StandingSentence> {
    let mut found = Vec::new();
    for paragraph in own_paragraphs(text) {
        for range in sentences(text, &paragraph) {
            let starts_quoted = paragraph.quoted.iter().any(|quote| quote.contains(&range.start));
            if starts_quoted {
                continue;
            }
            let asks = asks(text.get(range.clone()).unwrap_or_default());
            if let Some(kind) = kind_of(&folded(text, range.clone(), &paragraph.quoted), asks) {
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
fn kind_of(sentence: &str, asks: bool) -> Option<SentenceKind> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    languages_of(&words).find_map(|language| {
        let lists = language.lists_in(&words);
        let matcher = Matcher { words: &words, language, lists };
        if asks { matcher.kind_of_question() } else { matcher.kind() }
    })
}

struct Matcher<'a> {
    words: &'a [&'a str],
    language: &'static Language,
    /// Lists whose phrases the sentence has, as bits.
    lists: u16,
}

impl Matcher<'_> {
    fn kind(&self) -> Option<SentenceKind> {
        if self.words.len() < 2 {
            return None;
        }
        if self.retracts() {
            return Some(SentenceKind::Retraction);
        }
        let prefers = |clause: Clause<'_>| (self.language.forms.prefers)(clause.words);
        if !self.has(List::NoPreferences)
            && (self.has(List::Preferences) || self.clauses().any(prefers))
        {
            return Some(SentenceKind::Preference);
        }
        let general = [List::Henceforth, List::General, List::Asked];
        let is_general = general.into_iter().any(|list| self.has(list)) || self.has_scope();
        let is_directive = (is_general || !self.has(List::Once))
            && self.clauses().any(|clause| self.directs(&clause, is_general));
        is_directive.then_some(SentenceKind::Directive)
    }

    /// Kind of a question. `I prefer trains, can you change the plan?` states a preference, and `can you
    /// always use trains?` gives an instruction.
    fn kind_of_question(&self) -> Option<SentenceKind> {
        let forms = self.language.forms;
        let prefers = |clause: &Clause<'_>| {
            self.opens_with(clause, List::Preferences) || (forms.prefers)(clause.words)
        };
        if !self.has(List::NoPreferences) && self.clauses().any(|clause| prefers(&clause)) {
            return Some(SentenceKind::Preference);
        }
        let requests = |clause: Clause<'_>| {
            let rest = self.behind(&clause, List::Requests).map(|words| clause.own(words));
            rest.is_some_and(|rest| {
                let begins = rest.iter().position(|word| !forms.lead.contains(word));
                let rest = rest.get(begins.unwrap_or_default()..).unwrap_or_default();
                let lasts = |word: &&str| forms.adverbs.contains(word);
                self.has(List::Henceforth) || rest.iter().take(2).any(lasts)
            })
        };
        self.clauses().any(requests).then_some(SentenceKind::Directive)
    }

    /// Tests if the sentence begins with the cases for which it holds.
    fn has_scope(&self) -> bool {
        self.has(List::Scopes)
            && self.clauses().any(|it| it.is_first && self.opens_with(&it, List::Scopes))
    }

    fn retracts(&self) -> bool {
        let permits = self.has(List::Permissions) && self.has(List::Again);
        (permits || self.has(List::Retractions))
            && self.clauses().any(|clause| {
                self.opens_with(&clause, List::Retractions)
                    || permits && self.opens_with(&clause, List::Permissions)
            })
    }

    /// Tests if a clause gives an instruction for later.
    fn directs(&self, clause: &Clause<'_>, is_general: bool) -> bool {
        let forms = self.language.forms;
        let opens = clause.words.split_first().is_some_and(|(first, rest)| {
            forms.always.contains(first)
                && (forms.goes_on)(rest)
                && (clause.is_first || (forms.commands)(rest))
        });
        let own = clause.own(0);
        let addressed = match (forms.commands)(own) {
            true => Some(0),
            false => self.behind(clause, List::Addresses),
        };
        let is_lasting = |from: usize| {
            let mut words = clause.own(from).iter().enumerate();
            let end = words.find(|(at, word)| {
                forms.adverbs.contains(word) || *at > 1 && forms.relatives.contains(word)
            });
            is_general || end.is_some_and(|(_, word)| forms.adverbs.contains(word))
        };
        opens
            || (clause.is_first || is_general) && (forms.forbids)(own)
            || clause.is_first && self.opens_with(clause, List::Openings)
            || addressed.is_some_and(is_lasting)
            || clause.is_first && (forms.instructs)(clause.words)
            || self.has(List::Asked) && self.opens_with(clause, List::Wishes)
            || self.has(List::Henceforth) && self.wishes_something(clause)
    }

    /// Tests if a clause says what the user wants to get. Infinitives say what he wants to do.
    fn wishes_something(&self, clause: &Clause<'_>) -> bool {
        let does = |word: &&&str| {
            **word == "to"
                || word.len() > 3 && ["ar", "er", "ir", "re"].iter().any(|end| word.ends_with(end))
        };
        let wished = self.behind(clause, List::Wishes).map(|words| clause.own(words));
        wished.is_some_and(|rest| rest.first().filter(|word| !does(word)).is_some())
    }

    /// Clauses of the sentence. A clause with words at its beginning that change nothing is there with
    /// and without them.
    fn clauses(&self) -> impl Iterator<Item = Clause<'_>> {
        let forms = self.language.forms;
        let (mut open_at, mut is_first) = (Some(0), true);
        self.words.iter().enumerate().filter_map(move |(at, word)| {
            let begins = open_at == Some(at);
            let words = self.words.get(at..).unwrap_or_default();
            let clause = Clause { is_first, words };
            if begins {
                let skipped = self.behind(&clause, List::Henceforth);
                let skipped = skipped.or_else(|| self.behind(&clause, List::Asides));
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

    fn has(&self, list: List) -> bool {
        self.lists & list as u16 != 0
    }

    /// Number of words of the first phrase of a list that a clause begins with.
    fn behind(&self, clause: &Clause<'_>, list: List) -> Option<usize> {
        if !self.has(list) {
            return None;
        }
        let mut phrases = self.language.phrases_at(clause.words);
        phrases.find_map(|(of, words)| (of == list).then_some(words))
    }

    fn opens_with(&self, clause: &Clause<'_>, list: List) -> bool {
        self.behind(clause, list).is_some()
    }
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
}

/// Words of a sentence that say what it is about.
pub(super) fn informative(sentence: &str) -> Vec<String> {
    let words = folded(sentence, 0..sentence.len(), &[]);
    let words: Vec<&str> = words.split_whitespace().collect();
    let all: Vec<_> = languages_of(&words).map(|language| language.forms).collect();
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
