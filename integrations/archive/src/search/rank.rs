//! Ranks what was read by the core's judge.

use cupel::relevance::{Candidate, Corpus, Lexical};

use super::{Found, Hits, Place, Search};
use crate::message::Stored;

/// Tokens that keep apart what does not stand together: more than neighbours lend over.
const GAP: i64 = 100_000;

/// A message that was read.
pub(crate) struct Text {
    pub(crate) place: Place,
    pub(crate) conversation: String,
    pub(crate) stored: Stored,
}

/// The best of what was read; `texts` are in the order of their places.
pub(super) fn ranked(
    judge: &Lexical,
    search: &Search,
    hits: &Hits,
    texts: Vec<Text>,
) -> Vec<Found> {
    let mut candidates = Vec::with_capacity(texts.len());
    let mut at = Vec::with_capacity(texts.len());
    let mut before: Option<Place> = None;
    for text in &texts {
        let adjoins = before.is_some_and(|before| {
            before.conversation == text.place.conversation && before.number + 1 == text.place.number
        });
        if !adjoins {
            candidates.push(Candidate::new("", GAP).at(candidates.len()));
        }
        at.push(candidates.len());
        let message = &text.stored.message;
        candidates.push(Candidate::new(&message.content, message.tokens).at(candidates.len()));
        before = Some(text.place);
    }
    let corpus = Corpus::new(hits.searched, hits.with.clone());
    let Some(verdict) = judge.judge_among(&search.question, &candidates, &corpus) else {
        return Vec::new();
    };
    drop(candidates);
    let mut found: Vec<(Place, Found)> = texts
        .into_iter()
        .zip(at)
        .filter_map(|(text, at)| {
            let hint = verdict.hints.get(at)?;
            let found = Found {
                conversation: text.conversation,
                stored: text.stored,
                relevance: hint.value(),
                words: hint.words().map(str::to_owned).collect(),
            };
            (found.relevance > 0.0).then_some((text.place, found))
        })
        .collect();
    // Of equals the latest.
    found.sort_by(|(a_place, a), (b_place, b)| {
        b.relevance.total_cmp(&a.relevance).then(b_place.cmp(a_place))
    });
    found.truncate(search.limit);
    found.into_iter().map(|(_, found)| found).collect()
}
