//! The built-in judge: it compares words.

mod bm25;
mod corpus;
mod definitions;
mod terms;
mod words;

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use super::neighbours::{WHOLE_SHARE, hint_of, lend};
use super::{Candidate, Hint, Judge, Question, Verdict};
pub(crate) use bm25::is_informative;
use bm25::{Bm25Scorer, Matches, QuestionTerms, Statistics};
pub use corpus::Corpus;
pub(crate) use definitions::DefinitionIndex;
use terms::{MOST_BYTES, TermReader, each_term, is_known, key_of, terms_of};
pub use words::Language;

/// Judges by the words that a text shares with the question: the rarer they are among the
/// candidates, the more.
///
/// - Words are compared without case, accents and endings; identifiers, numbers and paths also by
///   their parts (`getUserById` has *user*); in scripts without spaces, pairs of signs.
/// - Texts that have more of the question's words, and have them close together, are worth more.
/// - In a conversation neighbours lend part of their score, by their distance in tokens.
/// - The map to 0..1 is fixed: a hint does not depend on how good the best one is.
///
/// The terms of a text are computed once a process, and kept by a hash of the text, up to 64 MiB.
/// Of a text above a megabyte, and of a question above 16 KiB, both ends are read.
///
/// ```
/// use cupel::relevance::{Candidate, Judge, Language, Lexical, Question};
///
/// let judge = Lexical::in_language(Language::German);
/// let texts = [Candidate::new("Die Rechnungen kamen zweimal.", 6)];
/// let verdict = judge.judge(&Question::new("Welche Rechnung?"), &texts).unwrap();
/// assert_eq!(verdict.hints[0].words().collect::<Vec<_>>(), ["Rechnung"]);
///
/// // Nothing to go by.
/// assert!(judge.judge(&Question::new("Ja, weiter!"), &texts).is_none());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lexical {
    language: Language,
}

impl Lexical {
    /// For English, which serves texts in other languages well enough.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For a language.
    #[must_use]
    pub fn in_language(language: Language) -> Self {
        Self { language }
    }

    /// The language.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// Number of texts whose terms this process caches, and their bytes.
    #[must_use]
    pub fn remembered() -> (usize, u64) {
        terms::remembered()
    }

    /// Positions of the question's words in a text, to mark them: ascending ranges of bytes.
    ///
    /// ```
    /// use cupel::relevance::{Lexical, Question};
    ///
    /// let text = "Both invoices were refunded.";
    /// let marks = Lexical::new().marks(&Question::new("Was my invoice refunded?"), text);
    /// let marked: Vec<_> = marks.into_iter().map(|range| &text[range]).collect();
    /// assert_eq!(marked, ["invoices", "refunded"]);
    /// ```
    #[must_use]
    pub fn marks(&self, question: &Question, text: &str) -> Vec<Range<usize>> {
        let asked = QuestionTerms::read(&question.clone().alone(), self.language);
        let mut marks: Vec<Range<usize>> = Vec::new();
        each_term(text, self.language, &mut |term, _, range| {
            if asked.number_of(term).is_some() {
                marks.push(range);
            }
        });
        // A whole and its parts, and pairs of signs, lie over each other.
        marks.sort_by_key(|range| (range.start, range.end));
        marks.dedup_by(|later, earlier| {
            let overlap = later.start < earlier.end;
            if overlap {
                earlier.end = earlier.end.max(later.end);
            }
            overlap
        });
        marks
    }
}

impl Judge for Lexical {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let asked = QuestionTerms::read(question, self.language);
        if !asked.is_informative {
            return None;
        }
        let texts = Texts::read(question, candidates, &asked, self.language);
        let statistics = texts.statistics(&asked);
        let (scores, words) = texts.scores(&asked, &statistics, candidates);
        Some(
            KnownTerms::new(self.language, asked, statistics)
                .verdict(candidates, &texts, scores, &words),
        )
    }

    fn name(&self) -> &str {
        "lexical"
    }

    fn steps(&self, candidates: &[Candidate<'_>]) -> Option<u64> {
        Some(steps(candidates, self.language))
    }

    crate::names::as_any!();
}

/// The question's terms in all texts.
struct Texts {
    matches: Matches,
    /// For each text: where its matches end, and how many terms it has; none for the question.
    ends: Vec<(u32, Option<u32>)>,
}

impl Texts {
    fn read(
        question: &Question,
        candidates: &[Candidate<'_>],
        asked: &QuestionTerms,
        language: Language,
    ) -> Self {
        let count = candidates.len();
        let mut texts =
            Self { matches: Matches::for_texts(count), ends: Vec::with_capacity(count) };
        let mut reader = TermReader::new(language, candidates.len());
        for candidate in candidates {
            // The question itself is neither judged nor counted.
            let length = (candidate.text != question.text()).then(|| {
                reader.with(candidate.text, |terms| {
                    texts.matches.find(asked, terms);
                    u32::try_from(terms.len()).unwrap_or(u32::MAX)
                })
            });
            let end = u32::try_from(texts.matches.found.len()).unwrap_or(u32::MAX);
            texts.ends.push((end, length));
        }
        reader.finish();
        texts
    }

    /// The matches and the length of each text.
    fn each(&self) -> impl Iterator<Item = (&[(u32, u16)], Option<usize>)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, length)| {
            let end = *end as usize;
            let found = self.matches.found.get(start..end).unwrap_or_default();
            start = end;
            (found, length.map(|length| length as usize))
        })
    }

    fn statistics(&self, asked: &QuestionTerms) -> Statistics {
        let mut texts_with = vec![0_u32; asked.terms.len()];
        let mut last_text = vec![0_u32; asked.terms.len()];
        let (mut texts, mut length) = (0, 0);
        for (text, (found, terms)) in (1_u32..).zip(self.each()) {
            let Some(terms) = terms else { continue };
            texts += 1;
            length += terms;
            for (_, number) in found {
                let number = usize::from(*number);
                if let (Some(with), Some(last)) =
                    (texts_with.get_mut(number), last_text.get_mut(number))
                {
                    *with += u32::from(*last != text);
                    *last = text;
                }
            }
        }
        Statistics::new(asked, &texts_with, texts, length)
    }

    fn scores(
        &self,
        asked: &QuestionTerms,
        statistics: &Statistics,
        candidates: &[Candidate<'_>],
    ) -> (Vec<f64>, Vec<u64>) {
        let mut scorer = Bm25Scorer::default();
        let scored = self.each().zip(candidates).map(|((found, length), candidate)| {
            let in_conversation = candidate.place.is_some();
            scorer.score(asked, statistics, found, length.unwrap_or(0), in_conversation)
        });
        let (mut scores, words): (Vec<f64>, Vec<u64>) = scored.unzip();
        self.add_wholes(asked, statistics, candidates, &mut scores);
        (scores, words)
    }

    /// Adds to the score of each passage a share of the score of the text that it belongs to: texts that
    /// follow each other and have the same place are passages of one.
    fn add_wholes(
        &self,
        asked: &QuestionTerms,
        statistics: &Statistics,
        candidates: &[Candidate<'_>],
        scores: &mut [f64],
    ) {
        let mut scorer = Bm25Scorer::default();
        let mut whole: Vec<(u32, u16)> = Vec::new();
        let mut texts = self.each();
        let same = |a: &Candidate<'_>, b: &Candidate<'_>| a.place.is_some() && a.place == b.place;
        let mut start = 0;
        for run in candidates.chunk_by(same) {
            let end = start + run.len();
            if run.len() == 1 {
                texts.next();
            } else {
                whole.clear();
                let mut length = 0;
                for (found, terms) in texts.by_ref().take(run.len()) {
                    let moved = found.iter().map(|(at, term)| (at.saturating_add(length), *term));
                    whole.extend(moved);
                    length = length
                        .saturating_add(u32::try_from(terms.unwrap_or(0)).unwrap_or(u32::MAX));
                }
                let (score, _) = scorer.score(asked, statistics, &whole, length as usize, true);
                for passage in scores.get_mut(start..end).into_iter().flatten() {
                    *passage = (*passage + WHOLE_SHARE * score) / (1.0 + WHOLE_SHARE);
                }
            }
            start = end;
        }
    }
}

/// Data to judge a text.
struct KnownTerms {
    language: Language,
    asked: QuestionTerms,
    statistics: Statistics,
    /// The words' numbers, the most telling first.
    telling: Vec<u8>,
}

impl KnownTerms {
    fn new(language: Language, asked: QuestionTerms, statistics: Statistics) -> Self {
        let mut telling: Vec<(f64, u8)> = asked
            .terms
            .iter()
            .zip(&statistics.weights)
            .filter_map(|(asked, weight)| Some((*weight, asked.word?)))
            .collect();
        telling.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let telling = telling.into_iter().map(|(_, word)| word).collect();
        Self { language, asked, statistics, telling }
    }

    /// Verdict on candidates with these scores of their own: neighbours lend.
    fn verdict(
        self,
        candidates: &[Candidate<'_>],
        texts: &Texts,
        mut scores: Vec<f64>,
        words: &[u64],
    ) -> Verdict {
        let alone = scores.iter().map(|score| hint_of(*score)).collect();
        let is_said = |(candidate, (_, length)): (&Candidate<'_>, &(u32, Option<u32>))| {
            candidate.place.is_some() && length.is_some()
        };
        lend(candidates, candidates.iter().zip(&texts.ends).map(is_said), &mut scores);
        let hints = self.hints(&scores, words);
        Verdict::new(hints, move |candidate| self.further(candidate)).with_alone(alone)
    }

    fn hints(&self, scores: &[f64], words: &[u64]) -> Vec<Hint> {
        // Many texts match the same words.
        let mut known: HashMap<u64, Arc<[Box<str>]>, foldhash::fast::FixedState> =
            HashMap::default();
        let mut shared = |set: u64| {
            (set != 0).then(|| Arc::clone(known.entry(set).or_insert_with(|| self.words(set))))
        };
        let hint =
            |(score, set): (&f64, &u64)| Hint::new(hint_of(*score)).with_shared_words(shared(*set));
        scores.iter().zip(words).map(hint).collect()
    }

    /// The words of a set, the most telling first.
    fn words(&self, set: u64) -> Arc<[Box<str>]> {
        let words = self.telling.iter().filter(|word| set & (1 << **word) != 0);
        words.filter_map(|word| self.asked.words.get(usize::from(*word)).cloned()).collect()
    }

    fn further(&self, candidate: &Candidate<'_>) -> Hint {
        let terms = terms_of(candidate.text, self.language);
        let mut matches = Matches::default();
        matches.find(&self.asked, &terms);
        let (score, words) = Bm25Scorer::default().score(
            &self.asked,
            &self.statistics,
            &matches.found,
            terms.len(),
            false,
        );
        let words = (words != 0).then(|| self.words(words));
        Hint::new(hint_of(score)).with_shared_words(words)
    }
}

/// Cost of a text whose terms are cached, in nanoseconds.
const KNOWN: u64 = 250;
/// Cost per byte of a text whose terms are cached. Most take less than one; up to 50 are taken by a text
/// in which every word is one of the question's or of what was done since.
const KNOWN_BYTE: u64 = 10;
/// Cost per byte of a text that is not cached.
const BYTE: u64 = 40;
/// So little is not worth a look at what is known.
const LITTLE: u64 = 500_000;
/// So much is a lot, whatever else there is.
const A_LOT: u64 = 8_000_000;

/// About how long judging takes, which depends on what is known.
fn steps(candidates: &[Candidate<'_>], language: Language) -> u64 {
    let bytes = |candidate: &Candidate<'_>| candidate.text.len().min(2 * MOST_BYTES) as u64;
    let all = candidates.iter().map(bytes).fold(0, u64::saturating_add);
    let least = candidates.len() as u64 * KNOWN + all * KNOWN_BYTE;
    let most = least + all * (BYTE - KNOWN_BYTE);
    if most <= LITTLE || least >= A_LOT {
        return most;
    }
    let mut steps = least;
    // The newest first: they are unknown if any are.
    for candidate in candidates.iter().rev() {
        if steps >= A_LOT {
            break;
        }
        if !is_known(&key_of(candidate.text, language)) {
            steps += bytes(candidate) * (BYTE - KNOWN_BYTE);
        }
    }
    steps
}
