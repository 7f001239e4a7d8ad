//! An index of tool definitions: scores all of them by a question, and finds those that are alike.

use std::sync::{Arc, LazyLock, OnceLock};

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use super::bm25::{ends, is_common};
use super::terms::{Term, each_term, lower};
use super::words::Language;
use crate::text_cache::TextCache;

/// Saturation of repeated words, and influence of the length.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A name counts twice: it is chosen with more care than a description.
const NAME_WEIGHT: usize = 2;
/// Most terms of a question.
const MOST_TERMS: usize = 1_024;
/// Share of its score that one of the best definitions lends to those like it. On public sets of tools and
/// questions every share from .2 to .6 does as well.
const LENT: f64 = 0.4;
/// Number of the best definitions that lend.
const LENDERS: usize = 3;
/// Number of definitions like one that are known.
const MOST_ALIKE: usize = 32;

/// Definitions of one set of tools, by their words.
#[derive(Debug)]
pub(crate) struct DefinitionIndex {
    identity: u64,
    count: usize,
    postings: HashMap<Term, Vec<Posting>, FixedState>,
    /// Terms of each definition with their weights, ascending.
    definitions: Vec<Vec<(Term, f64)>>,
    /// Other definitions like each one, found when they are first asked for.
    alike: Vec<OnceLock<AlikeDefinitions>>,
}

/// Numbers of definitions, and how like they are.
type AlikeDefinitions = Box<[(u32, f64)]>;

/// A definition that has a term.
#[derive(Debug, Clone, Copy)]
struct Posting {
    definition: u32,
    /// Score of the definition if the term is asked for.
    score: f64,
    /// Weight of the term in the definition, of all weights whose squares add up to 1.
    weight: f64,
}

/// Scores of all definitions for a question.
#[derive(Debug)]
pub(crate) struct DefinitionScores {
    /// Score of each definition: 1 for the best one, and more for what is also like it.
    pub(crate) scores: Vec<f64>,
    /// The best ones, best first. Empty if the question has no word of any.
    pub(crate) best: Vec<u32>,
}

static INDEXES: LazyLock<TextCache<Arc<DefinitionIndex>, u64>> =
    LazyLock::new(|| TextCache::new(64 << 20, 1 << 20, |index| index.bytes()));

static SCORES: LazyLock<TextCache<Arc<DefinitionScores>, u64>> =
    LazyLock::new(|| TextCache::new(32 << 20, 4 << 10, |it| size_of_val(&*it.scores)));

impl DefinitionIndex {
    /// The index of a set with this identity. `definition` gives the name and the text of each; it is asked
    /// only if the set is not cached.
    pub(crate) fn of<'a>(
        identity: u64,
        count: usize,
        definition: impl Fn(usize) -> (&'a str, String),
    ) -> Arc<Self> {
        let key = INDEXES.key("", identity);
        INDEXES.get_or_insert(&key, || Arc::new(Self::read(identity, count, definition)))
    }

    fn read<'a>(
        identity: u64,
        count: usize,
        definition: impl Fn(usize) -> (&'a str, String),
    ) -> Self {
        let language = Language::default();
        let mut lengths = Vec::with_capacity(count);
        let mut counts: Vec<Vec<(Term, u32)>> = Vec::with_capacity(count);
        for at in 0..count {
            let (name, text) = definition(at);
            let mut terms: Vec<Term> = Vec::new();
            for _ in 0..NAME_WEIGHT {
                each_term(name, language, &mut |term, _, _| terms.push(term));
            }
            each_term(&text, language, &mut |term, _, _| terms.push(term));
            lengths.push(terms.len() as f64);
            terms.sort_unstable();
            let runs = terms.chunk_by(|a, b| a == b);
            let count =
                |run: &[Term]| Some((*run.first()?, u32::try_from(run.len()).unwrap_or(u32::MAX)));
            counts.push(runs.filter_map(count).collect());
        }
        let mut with: HashMap<Term, u32, FixedState> = HashMap::default();
        for (term, _) in counts.iter().flatten() {
            *with.entry(*term).or_default() += 1;
        }
        let all = count as f64;
        let mean = (lengths.iter().sum::<f64>() / all.max(1.0)).max(1.0);
        let rarity = |term: Term| {
            let with = f64::from(with.get(&term).copied().unwrap_or(0));
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
        };
        let mut postings: HashMap<Term, Vec<Posting>, FixedState> = HashMap::default();
        let mut definitions = Vec::with_capacity(count);
        for ((number, counts), length) in (0_u32..).zip(&counts).zip(&lengths) {
            let weighed = |(term, count): &(Term, u32)| {
                (*term, (1.0 + f64::from(*count).ln()) * rarity(*term))
            };
            let mut weights: Vec<(Term, f64)> = counts.iter().map(weighed).collect();
            let squares: f64 = weights.iter().map(|(_, weight)| weight * weight).sum();
            let norm = squares.sqrt().max(f64::MIN_POSITIVE);
            weights.iter_mut().for_each(|(_, weight)| *weight /= norm);
            let saturation = K1 * (1.0 - B + B * length / mean);
            for ((term, weight), (_, count)) in weights.iter().zip(counts) {
                let count = f64::from(*count);
                let score = rarity(*term) * count * (K1 + 1.0) / (count + saturation);
                let posting = Posting { definition: number, score, weight: *weight };
                postings.entry(*term).or_default().push(posting);
            }
            definitions.push(weights);
        }
        let alike = (0..count).map(|_| OnceLock::new()).collect();
        Self { identity, count, postings, definitions, alike }
    }

    /// Scores of all definitions for a question, from memory if it was asked before.
    pub(crate) fn ask(&self, question: &str) -> Arc<DefinitionScores> {
        let key = SCORES.key(question, self.identity);
        SCORES.get_or_insert(&key, || Arc::new(self.score(question)))
    }

    fn score(&self, question: &str) -> DefinitionScores {
        let mut own = vec![0.0_f64; self.count];
        let mut seen: HashSet<Term, FixedState> = HashSet::default();
        for text in ends(question) {
            each_term(text, Language::default(), &mut |term, word, _| {
                if seen.len() >= MOST_TERMS || is_common(&lower(word)) || !seen.insert(term) {
                    return;
                }
                for posting in self.postings.get(&term).into_iter().flatten() {
                    let score = own.get_mut(posting.definition as usize);
                    score.into_iter().for_each(|score| *score += posting.score);
                }
            });
        }
        let most = own.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            return DefinitionScores { scores: own, best: Vec::new() };
        }
        own.iter_mut().for_each(|score| *score = rounded(*score / most));
        let mut best: Vec<u32> =
            (0_u32..).zip(&own).filter(|(_, it)| **it > 0.0).map(|(at, _)| at).collect();
        let score = |at: &u32| own.get(*at as usize).copied().unwrap_or(0.0);
        best.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
        best.truncate(LENDERS);
        let mut lent = vec![0.0_f64; self.count];
        for lender in &best {
            for (like, share) in self.alike(*lender as usize) {
                let lent = lent.get_mut(*like as usize);
                lent.into_iter().for_each(|lent| *lent = lent.max(score(lender) * share));
            }
        }
        let scores = own.iter().zip(&lent).map(|(own, lent)| rounded(own + LENT * lent)).collect();
        DefinitionScores { scores, best }
    }

    /// Definitions like one, with a measure of it from 0 to 1.
    pub(crate) fn alike(&self, definition: usize) -> &[(u32, f64)] {
        let Some(known) = self.alike.get(definition) else { return &[] };
        known.get_or_init(|| {
            let mut shared = vec![0.0_f64; self.count];
            for (term, weight) in self.definitions.get(definition).into_iter().flatten() {
                let postings = self.postings.get(term).map_or(&[][..], Vec::as_slice);
                // What nearly all have makes nobody alike, and takes the longest.
                if self.count > 64 && postings.len() * 2 > self.count {
                    continue;
                }
                for posting in postings {
                    let shared = shared.get_mut(posting.definition as usize);
                    shared.into_iter().for_each(|shared| *shared += weight * posting.weight);
                }
            }
            let others = (0_u32..)
                .zip(shared)
                .filter(|(other, shared)| *other as usize != definition && *shared > 0.0);
            let mut alike: Vec<(u32, f64)> =
                others.map(|(other, shared)| (other, rounded(shared))).collect();
            alike.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            alike.truncate(MOST_ALIKE);
            alike.into()
        })
    }

    /// Bytes that the index takes, about.
    fn bytes(&self) -> usize {
        let postings = self.definitions.iter().map(Vec::len).sum::<usize>();
        let each = size_of::<Posting>() + size_of::<(Term, f64)>();
        postings * each + self.postings.len() * 48 + self.count * MOST_ALIKE * 16
    }
}

/// In steps of a millionth, so that what rounding leaves of equal scores stays equal.
fn rounded(score: f64) -> f64 {
    const STEPS: f64 = 1_048_576.0;
    (score * STEPS).round() / STEPS
}
