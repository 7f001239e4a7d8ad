//! Scores texts by the terms of a question: BM25, with more for texts that have more of the question, and for
//! words that stand together.

use std::sync::LazyLock;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::super::Question;
use super::terms::{Term, each_term, lower};
use super::words::Language;

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
const MOST_WORDS: usize = 64;

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

/// Saturation of repeated words.
const K1: f64 = 1.2;
/// Influence of the length of a text: parts of a conversation are long or short by chance,
/// documents by subject.
const LENGTH_IN_CONVERSATION: f64 = 0.5;
const LENGTH_OF_DOCUMENTS: f64 = 0.75;
/// Bonus of a text that has all words of the question, as a share.
const COVERAGE: f64 = 1.0;
/// Bonus of two adjacent words, as a share of the weight of the less rare one.
const TOGETHER: f64 = 0.5;
/// Words further apart do not stand together.
const APART: u32 = 8;
/// With few texts, a word is as rare as in this many more, which have it in this share.
const PRIOR_TEXTS: f64 = 10.0;
const PRIOR_SHARE: f64 = 0.02;
const PRIOR_LENGTH: f64 = 40.0;

/// Positions of the question's terms in a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Matches {
    /// Position in the text and number of the term.
    pub(super) found: Vec<(u32, u16)>,
}

impl Matches {
    /// With room for those of so many texts.
    pub(super) fn for_texts(texts: usize) -> Self {
        Self { found: Vec::with_capacity(2 * texts) }
    }

    /// Looks for the question's terms; adds to `found` and returns how many there are.
    pub(super) fn find(&mut self, asked: &QuestionTerms, terms: &[Term]) -> usize {
        let before = self.found.len();
        for (start, chunk) in (0_u32..).step_by(64).zip(terms.chunks(64)) {
            let mut likely = asked.likely(chunk);
            while likely != 0 {
                let at = likely.trailing_zeros();
                likely &= likely - 1;
                let number = chunk.get(at as usize).and_then(|term| asked.number_of(*term));
                self.found.extend(number.map(|number| (start + at, number)));
            }
        }
        self.found.len() - before
    }
}

/// Rarity of the question's terms, and length of the texts.
#[derive(Debug, Clone, Default)]
pub(super) struct Statistics {
    /// Weight of each term: what it counts times how rare it is.
    pub(super) weights: Vec<f64>,
    mean_length: f64,
    /// Score of a text with every term once.
    ideal: f64,
}

impl Statistics {
    /// From the number of texts that have each term, the number of texts, and their terms together.
    pub(super) fn new(
        asked: &QuestionTerms,
        texts_with: &[u32],
        texts: usize,
        length: usize,
    ) -> Self {
        let all = texts as f64 + PRIOR_TEXTS;
        let weights: Vec<f64> = asked
            .terms
            .iter()
            .zip(texts_with)
            .map(|(asked, with)| {
                let with = f64::from(*with) + PRIOR_TEXTS * PRIOR_SHARE;
                asked.weight * (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
            })
            .collect();
        let mean_length = (length as f64 + PRIOR_TEXTS * PRIOR_LENGTH) / all;
        let ideal = weights.iter().sum();
        Self { weights, mean_length, ideal }
    }

    fn weight(&self, number: u16) -> f64 {
        self.weights.get(usize::from(number)).copied().unwrap_or(0.0)
    }
}

/// Scores one text after another.
#[derive(Debug, Default)]
pub(super) struct Bm25Scorer {
    /// Occurrences of each term in the text.
    counts: Vec<u32>,
    /// Terms that occur.
    present: Vec<u16>,
    /// Smallest distance of two terms.
    pairs: Vec<((u16, u16), u32)>,
}

impl Bm25Scorer {
    /// The score of a text as a share of the ideal one, and which words of the question it has.
    pub(super) fn score(
        &mut self,
        asked: &QuestionTerms,
        statistics: &Statistics,
        found: &[(u32, u16)],
        length: usize,
        in_conversation: bool,
    ) -> (f64, u64) {
        if found.is_empty() || statistics.ideal <= 0.0 {
            return (0.0, 0);
        }
        self.count(found, asked.terms.len());
        let b = if in_conversation { LENGTH_IN_CONVERSATION } else { LENGTH_OF_DOCUMENTS };
        let norm = K1 * (1.0 - b + b * length as f64 / statistics.mean_length);
        let (mut score, mut covered, mut words) = (0.0, 0.0, 0_u64);
        for number in &self.present {
            let count = self.counts.get(usize::from(*number)).copied().unwrap_or(0);
            let weight = statistics.weight(*number);
            let count = f64::from(count);
            score += weight * count * (K1 + 1.0) / (count + norm);
            covered += weight;
            let word = asked.terms.get(usize::from(*number)).and_then(|asked| asked.word);
            word.into_iter().for_each(|word| words |= 1 << word);
        }
        score *= 1.0 + COVERAGE * covered / statistics.ideal;
        for ((a, b), distance) in &self.pairs {
            let rarity = statistics.weight(*a).min(statistics.weight(*b));
            score += TOGETHER * rarity / f64::from(*distance);
        }
        (score / statistics.ideal, words)
    }

    fn count(&mut self, found: &[(u32, u16)], terms: usize) {
        self.counts.clear();
        self.counts.resize(terms, 0);
        self.present.clear();
        self.pairs.clear();
        for (at, (position, number)) in found.iter().enumerate() {
            if let Some(count) = self.counts.get_mut(usize::from(*number)) {
                if *count == 0 {
                    self.present.push(*number);
                }
                *count += 1;
            }
            let later = found.get(at + 1..).unwrap_or_default();
            for (other_position, other) in later.iter().take(APART as usize) {
                let distance = other_position - position;
                if distance > APART {
                    break;
                }
                if other != number {
                    self.together((*number.min(other), *number.max(other)), distance);
                }
            }
        }
        // The sum must not depend on the order in which the terms stand in the text.
        self.present.sort_unstable();
        self.pairs.sort_unstable();
        self.pairs.dedup_by_key(|(pair, _)| *pair);
    }

    fn together(&mut self, pair: (u16, u16), distance: u32) {
        self.pairs.push((pair, distance));
    }
}
