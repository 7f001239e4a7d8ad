//! Ranks what was read by the core's judge.

use cupel::relevance::{Candidate, Corpus, Hint, Judge as _, Lexical, Verdict};

use super::hits::{Hits, MessagePlace};
use super::query::{NEIGHBOURS, Search, SearchHit};
use crate::error::Result;
use crate::store::Row;

/// Tokens that keep apart what does not stand together: more than neighbours lend over.
const GAP: i64 = 100_000;

/// The best messages of a conversation that was read whole, in order.
pub(super) fn whole(
    judge: &Lexical,
    search: &Search,
    conversation: &str,
    rows: &[Row],
) -> Result<Vec<SearchHit>> {
    let mut candidates = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        candidates.push(Candidate::new(row.content()?, row.tokens()?).at(at));
    }
    let Some(verdict) = judge.judge(&search.question.clone().alone(), &candidates) else {
        return Ok(Vec::new());
    };
    // The judge lends over many short messages. As with an index, only what stands next to a word is
    // found.
    let is_hit: Vec<bool> = verdict.hints.iter().map(|it| it.words().next().is_some()).collect();
    let is_near = |at: usize| {
        let near = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(is_hit.len());
        is_hit.get(near).is_some_and(|near| near.contains(&true))
    };
    let near = rows.iter().zip(0..).filter(|(_, at)| is_near(*at));
    found(&verdict, search, near, |_| Ok(conversation.to_owned()))
}

/// The best of what the index found, which was read with its neighbours.
pub(super) fn hits(
    judge: &Lexical,
    search: &Search,
    conversation: Option<&str>,
    hits: &Hits,
    rows: &[Row],
) -> Result<Vec<SearchHit>> {
    let mut order = Vec::with_capacity(rows.len());
    for row in rows {
        let of = if conversation.is_some() { 0 } else { row.conversation()? };
        order.push((MessagePlace { conversation: of, number: row.number()? }, row));
    }
    order.sort_by_key(|(place, _)| *place);
    let mut candidates = Vec::with_capacity(2 * order.len());
    let mut at = Vec::with_capacity(order.len());
    let mut before: Option<MessagePlace> = None;
    for (place, row) in order {
        let adjoins = before.is_some_and(|before| {
            before.conversation == place.conversation && before.number + 1 == place.number
        });
        if !adjoins {
            candidates.push(Candidate::new("", GAP).at(candidates.len()));
        }
        at.push((row, candidates.len()));
        candidates.push(Candidate::new(row.content()?, row.tokens()?).at(candidates.len()));
        before = Some(place);
    }
    let corpus = Corpus::new(hits.searched, hits.with.clone());
    let Some(verdict) = judge.judge_among(&search.question, &candidates, &corpus) else {
        return Ok(Vec::new());
    };
    found(&verdict, search, at, |row| match conversation {
        Some(name) => Ok(name.to_owned()),
        None => row.conversation_name(),
    })
}

/// Takes apart the rows that the verdict likes best. They come in the order of the conversation, each
/// with the place of its hint.
fn found<'r>(
    verdict: &Verdict,
    search: &Search,
    rows: impl IntoIterator<Item = (&'r Row, usize)>,
    conversation_of: impl Fn(&Row) -> Result<String>,
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
        Ok(SearchHit {
            conversation: conversation_of(row)?,
            stored: row.stored()?,
            relevance,
            words: words.map(str::to_owned).collect(),
        })
    });
    found.collect()
}
