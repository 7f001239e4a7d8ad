//! The terms of a question, and how to find them in a text.

use std::sync::LazyLock;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::super::{Language, Question};
use super::terms::{Term, each_term, lower};

/// One term that is asked for.
#[derive(Debug, Clone)]
pub(super) struct AskedTerm {
    pub(super) term: Term,
    /// Weight of the word, before its rarity.
    pub(super) weight: f64,
    /// The word as it was written; none for what only lends weight.
    pub(super) word: Option<u8>,
}

/// Weight of the agent's work since the question, relative to the question.
const WORK_WEIGHT: f64 = 0.25;
/// Bytes that are read from each end of a question. A user who pastes more asks before or after it.
const MOST_BYTES: usize = 8 << 10;
/// The terms that are looked for; more are no question.
const MOST_TERMS: usize = 1_024;
/// The words that can be named as matching.
pub(super) const MOST_WORDS: usize = 64;

/// Terms that are searched for.
#[derive(Debug, Clone, Default)]
pub(super) struct QuestionTerms {
    pub(super) terms: Vec<AskedTerm>,
    /// The words of the question that say something, as they were written.
    pub(super) words: Vec<Box<str>>,
    /// The number of the term plus one, at a place that follows from the term; 0 is free.
    table: Vec<u16>,
    filter: Filter,
    /// True if there is an informative word.
    pub(super) is_informative: bool,
}

impl QuestionTerms {
    /// Reads a question.
    pub(super) fn read(question: &Question, language: Language) -> Self {
        let mut asked = Self::default();
        let mut seen = HashSet::default();
        asked.add(question.text(), 1.0, language, &mut seen);
        asked.is_informative = !asked.terms.is_empty();
        if asked.is_informative {
            if let Some(work) = question.work() {
                asked.add(work, WORK_WEIGHT, language, &mut seen);
            }
        }
        asked.index();
        asked
    }

    fn add(
        &mut self,
        text: &str,
        weight: f64,
        language: Language,
        seen: &mut HashSet<Term, FixedState>,
    ) {
        for text in ends(text) {
            each_term(text, language, &mut |term, written, _| {
                if self.terms.len() >= MOST_TERMS
                    || is_common(&lower(written))
                    || !seen.insert(term)
                {
                    return;
                }
                let number = u8::try_from(self.words.len()).ok();
                let named = number.filter(|number| usize::from(*number) < MOST_WORDS);
                let word = named.filter(|_| weight == 1.0);
                if word.is_some() {
                    self.words.push(written.into());
                }
                self.terms.push(AskedTerm { term, weight, word });
            });
        }
    }

    /// Makes the table: a quarter full at most, so that most words of a text miss at once.
    fn index(&mut self) {
        let places = (self.terms.len() * 4).next_power_of_two().max(256);
        self.table = vec![0; places];
        for (number, asked) in (1_u16..).zip(&self.terms) {
            let mut place = asked.term as usize & (places - 1);
            while self.table.get(place).is_some_and(|taken| *taken != 0) {
                place = (place + 1) & (places - 1);
            }
            self.table.get_mut(place).into_iter().for_each(|free| *free = number);
            self.filter.add(asked.term);
        }
    }

    /// Flags of up to 64 terms that may be in the question, as bits; the first term is the lowest
    /// bit.
    pub(super) fn likely(&self, terms: &[Term]) -> u64 {
        (0_u32..64).zip(terms).fold(0, |bits, (at, term)| bits | self.filter.bit_of(*term) << at)
    }

    /// The number of a term, if it is asked for.
    pub(super) fn number_of(&self, term: Term) -> Option<u16> {
        let mask = self.table.len() - 1;
        let mut place = term as usize & mask;
        loop {
            let number = self.table.get(place).copied().unwrap_or(0).checked_sub(1)?;
            if self.terms.get(usize::from(number)).is_some_and(|asked| asked.term == term) {
                return Some(number);
            }
            place = (place + 1) & mask;
        }
    }
}

/// A bit for each term that is asked for. Nearly all words of a text are not, and are told here without
/// a branch: a wrong guess of the processor's takes as long as ten words.
#[derive(Debug, Clone)]
struct Filter([u64; Self::WORDS]);

impl Filter {
    const WORDS: usize = 256;

    fn word_of(term: Term) -> usize {
        (term >> 6) as usize % Self::WORDS
    }

    fn add(&mut self, term: Term) {
        let word = self.0.get_mut(Self::word_of(term));
        word.into_iter().for_each(|word| *word |= 1 << (term & 63));
    }

    fn bit_of(&self, term: Term) -> u64 {
        self.0.get(Self::word_of(term)).map_or(0, |word| word >> (term & 63) & 1)
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self([0; Self::WORDS])
    }
}

/// Returns true if a text has a word to go by: one that is not among the most common ones.
pub(crate) fn is_informative(text: &str) -> bool {
    let mut found = false;
    for text in ends(text) {
        each_term(text, Language::None, &mut |_, written, _| {
            found = found || !is_common(&lower(written));
        });
    }
    found
}

/// The beginning and the end of a long text, or all of it.
pub(super) fn ends(text: &str) -> impl Iterator<Item = &str> {
    let bound = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (head, tail) = if text.len() <= 2 * MOST_BYTES {
        (Some(text), None)
    } else {
        (text.get(..bound(MOST_BYTES)), text.get(bound(text.len() - MOST_BYTES)..))
    };
    // The end first: that is where a question stands below what was pasted.
    tail.into_iter().chain(head)
}

/// A paragraph each for English, German, French, Spanish, Italian, Portuguese and Dutch.
const WORDS: &str = include_str!("common_words.txt");

static COMMON: LazyLock<HashSet<&'static str, foldhash::fast::FixedState>> =
    LazyLock::new(|| WORDS.split_ascii_whitespace().collect());

/// Returns true if a word in lower case is common.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.contains(word)
}
