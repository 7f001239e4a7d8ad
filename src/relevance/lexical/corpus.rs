//! Candidates that an index found: their terms as text, and statistics of all that was searched.

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::super::{Candidate, Question, Verdict};
use super::bm25::{QuestionTerms, ends, is_common};
use super::terms::{each_folded, lower};
use super::{KnownTerms, Lexical, Statistics, Texts};

/// Statistics of all texts that an index searched; the candidates are a few of them.
///
/// ```
/// use cupel::relevance::{Candidate, Corpus, Lexical, Question};
///
/// let judge = Lexical::new();
/// let question = Question::new("Which invoices were refunded?");
/// // What an index is asked for, and what it holds of a text:
/// assert_eq!(judge.asked_terms(&question), ["invoic", "refund"]);
/// assert_eq!(judge.terms("Refunded: INV-2041"), ["refund", "inv", "2041", "inv2041"]);
///
/// // 1,000 texts were searched; 3 have the first term and 200 the second.
/// let corpus = Corpus::new(1_000, vec![3, 200]);
/// let found = [Candidate::new("That invoice?", 4), Candidate::new("It was refunded.", 4)];
/// let verdict = judge.judge_among(&question, &found, &corpus).unwrap();
/// assert!(verdict.hints[0].value() > verdict.hints[1].value());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Corpus {
    texts: usize,
    with: Vec<u32>,
}

impl Corpus {
    /// The number of texts, and how many of them have each term of
    /// [`Lexical::asked_terms`], in its order. Terms beyond the list weigh nothing.
    pub fn new(texts: usize, with: Vec<u32>) -> Self {
        Self { texts, with }
    }
}

impl Lexical {
    /// The terms of a text as an index can hold them, each once: folded, without endings.
    #[must_use]
    pub fn terms(&self, text: &str) -> Vec<String> {
        let mut seen = HashSet::with_hasher(FixedState::default());
        let mut terms = Vec::new();
        each_folded(text, self.language, &mut |term, _| {
            if seen.insert(term.clone()) {
                terms.push(term);
            }
        });
        terms
    }

    /// The terms that this judge looks for, as an index can be asked for them; none when the
    /// question has nothing to go by. What was [done since](Question::since) is no part of them.
    #[must_use]
    pub fn asked_terms(&self, question: &Question) -> Vec<String> {
        let mut seen = HashSet::with_hasher(FixedState::default());
        let mut terms = Vec::new();
        for text in ends(question.text()) {
            each_folded(text, self.language, &mut |term, written| {
                if !is_common(&lower(written)) && seen.insert(term.clone()) {
                    terms.push(term);
                }
            });
        }
        terms
    }

    /// As [`judge`](super::super::Judge::judge), with the statistics of all that was searched
    /// instead of the candidates' own. Texts without any words, placed between others, keep these
    /// apart by their tokens.
    #[must_use]
    pub fn judge_among(
        &self,
        question: &Question,
        candidates: &[Candidate<'_>],
        corpus: &Corpus,
    ) -> Option<Verdict> {
        let question = question.clone().alone();
        let asked = QuestionTerms::read(&question, self.language);
        if !asked.is_informative {
            return None;
        }
        let texts = Texts::read(&question, candidates, &asked, self.language);
        // Only the candidates were read, so they stand for the length of all.
        let lengths = texts.each().filter_map(|(_, length)| length.filter(|it| *it > 0));
        let (read, length) = lengths.fold((0, 0), |(read, sum), length| (read + 1, sum + length));
        let all = corpus.texts.max(read);
        let length = (length as f64 / read.max(1) as f64 * all as f64) as usize;
        let mut with = corpus.with.clone();
        // What nobody counted weighs nothing.
        with.resize(asked.terms.len(), u32::try_from(all).unwrap_or(u32::MAX));
        let statistics = Statistics::new(&asked, &with, all, length);
        let (scores, words) = texts.scores(&asked, &statistics, candidates);
        let known = KnownTerms::new(self.language, asked, statistics);
        Some(known.verdict(candidates, &texts, scores, &words))
    }
}
