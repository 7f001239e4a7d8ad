//! Ranks what was read: by the core's judge, and by vectors where there are some.

use cupel::relevance::{Candidate, Corpus, Hint, Judge as _, Lexical, Question, Verdict};

use super::hits::{Hits, MessagePlace};
use super::query::{NEIGHBOURS, Search, SearchHit};
use crate::error::Result;
use crate::meaning::Closeness;
use crate::store::{Row, SearchScope};

/// Tokens that keep apart what does not stand together: more than neighbours lend over.
const GAP: i64 = 100_000;

/// Cosines of vectors, and what they are worth in a message's relevance.
#[derive(Debug)]
pub(super) struct Meaning {
    closeness: Closeness,
    weight: f64,
    floor: f64,
    ceiling: f64,
}

impl Meaning {
    pub(super) fn new(closeness: Closeness, weight: f64, (floor, ceiling): (f64, f64)) -> Self {
        Self { closeness, weight, floor, ceiling }
    }

    /// The closest messages, at most `most`, the best first.
    pub(super) fn best(&self, most: usize) -> Vec<MessagePlace> {
        self.closeness.best(most, self.floor)
    }

    /// A cosine as a relevance from 0 to 1.
    fn hint(&self, cosine: f64) -> f64 {
        ((cosine - self.floor) / (self.ceiling - self.floor)).clamp(0.0, 1.0)
    }

    /// Mixes the hints of words with the cosines of messages, text by text; then neighbours lend each other
    /// of both. `words` has judged the candidates without their places.
    fn mixed(
        &self,
        words: Option<&Verdict>,
        question: &Question,
        candidates: &[Candidate<'_>],
        place_of: impl Fn(usize) -> Option<MessagePlace>,
    ) -> Verdict {
        let hints = (0..candidates.len()).map(|at| {
            let words = words.and_then(|words| words.hints.get(at)).cloned();
            let words = words.unwrap_or_else(|| Hint::new(0.0));
            match place_of(at).and_then(|place| self.closeness.of(place)) {
                Some(cosine) => {
                    let value = words.value();
                    let mixed = value + (self.hint(cosine) - value) * self.weight;
                    Hint::new(mixed).with_words(words.words())
                }
                // Not embedded yet.
                None => words,
            }
        });
        let verdict = Verdict::new(hints.collect(), |_| Hint::new(0.0));
        verdict.with_neighbours(question, candidates)
    }
}

/// Candidates without their places: nobody lends to them.
fn apart<'a>(candidates: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
    candidates.iter().map(|candidate| Candidate::new(candidate.text, candidate.tokens)).collect()
}

/// The best messages of a conversation that was read whole, in order.
pub(super) fn whole(
    judge: &Lexical,
    search: &Search,
    (id, conversation): (i64, &str),
    meaning: Option<&Meaning>,
    rows: &[Row],
) -> Result<Vec<SearchHit>> {
    let mut candidates = Vec::with_capacity(rows.len());
    let mut places = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        candidates.push(Candidate::new(row.content()?, row.tokens()?).at(at));
        places.push(MessagePlace { conversation: id, number: row.number()? });
    }
    let question = search.question.clone().alone();
    let verdict = match meaning {
        None => judge.judge(&question, &candidates),
        Some(meaning) => {
            let words = judge.judge(&question, &apart(&candidates));
            let place_of = |at: usize| places.get(at).copied();
            Some(meaning.mixed(words.as_ref(), &question, &candidates, place_of))
        }
    };
    let Some(verdict) = verdict else { return Ok(Vec::new()) };
    // The judge lends over many short messages. As with an index, only what stands next to a word is
    // found, or next to one of the closest vectors.
    let mut closest = meaning.map(|it| it.best(search.limit)).unwrap_or_default();
    closest.sort_unstable();
    let is_close = |place: Option<&MessagePlace>| {
        place.is_some_and(|place| closest.binary_search(place).is_ok())
    };
    let with_words = verdict.hints.iter().map(|it| it.words().next().is_some());
    let is_hit: Vec<bool> =
        (0..).zip(with_words).map(|(at, words)| words || is_close(places.get(at))).collect();
    let is_near = |at: usize| {
        let near = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(is_hit.len());
        is_hit.get(near).is_some_and(|near| near.contains(&true))
    };
    let near = rows.iter().zip(0..).filter(|(_, at)| is_near(*at));
    let closeness = |number| meaning?.closeness.of(MessagePlace { conversation: id, number });
    found(&verdict, search, near, |row| Ok((conversation.to_owned(), closeness(row.number()?))))
}

/// The best of what the index and the vectors found, which was read with its neighbours.
pub(super) fn hits(
    judge: &Lexical,
    search: &Search,
    (scope, conversation): (SearchScope, Option<&str>),
    hits: &Hits,
    meaning: Option<&Meaning>,
    rows: &[Row],
) -> Result<Vec<SearchHit>> {
    let place_of = |row: &Row| {
        let conversation = match scope {
            SearchScope::Conversation { id, .. } => id,
            SearchScope::Namespace => row.conversation()?,
        };
        Ok(MessagePlace { conversation, number: row.number()? })
    };
    let mut order = Vec::with_capacity(rows.len());
    for row in rows {
        order.push((place_of(row)?, row));
    }
    order.sort_by_key(|(place, _)| *place);
    let mut candidates = Vec::with_capacity(2 * order.len());
    let mut places = Vec::with_capacity(2 * order.len());
    let mut at = Vec::with_capacity(order.len());
    let mut before: Option<MessagePlace> = None;
    for (place, row) in order {
        let adjoins = before.is_some_and(|before| {
            before.conversation == place.conversation && before.number + 1 == place.number
        });
        if !adjoins {
            candidates.push(Candidate::new("", GAP).at(candidates.len()));
            places.push(None);
        }
        at.push((row, candidates.len()));
        candidates.push(Candidate::new(row.content()?, row.tokens()?).at(candidates.len()));
        places.push(Some(place));
        before = Some(place);
    }
    let corpus = Corpus::new(hits.searched, hits.with.clone());
    let verdict = match meaning {
        None => judge.judge_among(&search.question, &candidates, &corpus),
        Some(meaning) => {
            let words = judge.judge_among(&search.question, &apart(&candidates), &corpus);
            let place_of = |at: usize| places.get(at).copied().flatten();
            Some(meaning.mixed(words.as_ref(), &search.question, &candidates, place_of))
        }
    };
    let Some(verdict) = verdict else { return Ok(Vec::new()) };
    found(&verdict, search, at, |row| {
        let name = match conversation {
            Some(name) => name.to_owned(),
            None => row.conversation_name()?,
        };
        let place = place_of(row)?;
        Ok((name, meaning.and_then(|meaning| meaning.closeness.of(place))))
    })
}

/// Takes apart the rows that the verdict likes best. They come in the order of the conversation, each
/// with the place of its hint. `about` gives a row's conversation, and its cosine with the question.
fn found<'r>(
    verdict: &Verdict,
    search: &Search,
    rows: impl IntoIterator<Item = (&'r Row, usize)>,
    about: impl Fn(&Row) -> Result<(String, Option<f64>)>,
) -> Result<Vec<SearchHit>> {
    let hint_of = |at: usize| verdict.hints.get(at);
    let mut best: Vec<(f64, usize, &Row)> = rows
        .into_iter()
        .filter_map(|(row, at)| Some((hint_of(at)?.value(), at, row)))
        .filter(|(relevance, ..)| *relevance > 0.0)
        .collect();
    // Of equals the latest.
    best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    best.truncate(search.limit);
    let found = best.into_iter().map(|(relevance, at, row)| {
        let words = hint_of(at).into_iter().flat_map(Hint::words);
        let (conversation, closeness) = about(row)?;
        Ok(SearchHit {
            conversation,
            stored: row.stored()?,
            relevance,
            words: words.map(str::to_owned).collect(),
            closeness,
        })
    });
    found.collect()
}
