//! Scorers that rank an item among its peers: by timestamp, by age and by priority.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::frequency::Copies;
use super::{ScoreParts, Scorer, leaves};
use crate::model::{ContextItem, ages};

/// Scores newer items higher: the share of the other timestamped items that are strictly older.
///
/// Items without a timestamp score 0.0; a single timestamped item scores 1.0.
///
/// ```
/// use chrono::DateTime;
/// use cupel::{ContextItem, RecencyScorer, Scorer};
///
/// let at = |secs| DateTime::from_timestamp(secs, 0).unwrap();
/// let items = [
///     ContextItem::builder("old", 1).timestamp(at(0)).build()?,
///     ContextItem::builder("new", 1).timestamp(at(60)).build()?,
///     ContextItem::new("undated", 1)?,
/// ];
/// let scores = items.each_ref().map(|item| RecencyScorer.score(item, &items));
/// assert_eq!(scores, [0.0, 1.0, 0.0]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecencyScorer;

/// Scores higher priorities higher: the share of the other prioritised items strictly below.
///
/// Items without a priority score 0.0; a single prioritised item scores 1.0.
///
/// ```
/// use cupel::{ContextItem, PriorityScorer, Scorer};
///
/// let items = [
///     ContextItem::builder("low", 1).priority(1).build()?,
///     ContextItem::builder("mid", 1).priority(5).build()?,
///     ContextItem::builder("high", 1).priority(9).build()?,
/// ];
/// assert_eq!(PriorityScorer.score(&items[1], &items), 0.5);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PriorityScorer;

/// A number whose order is the field's order, with the low 32 bits free for an index.
type RankKey = u128;

/// Orders timestamps as chrono does, by second and then by the fraction of it.
fn timestamp_key(timestamp: DateTime<Utc>) -> RankKey {
    let nanos = u128::from(timestamp.timestamp_subsec_nanos());
    ordered(timestamp.timestamp()) | (nanos << 32)
}

fn ordered(value: i64) -> RankKey {
    // Flipping the sign bit makes the unsigned order the signed one.
    u128::from((value as u64) ^ (1 << 63)) << 64
}

fn score_one(
    item: &ContextItem,
    all: &[ContextItem],
    key: impl Fn(&ContextItem) -> Option<RankKey>,
) -> f64 {
    let Some(own) = key(item) else {
        return 0.0;
    };
    let (mut count, mut below) = (0_usize, 0_usize);
    for other in all.iter().filter_map(key) {
        count += 1;
        below += usize::from(other < own);
    }
    rank_score(below, count)
}

fn rank_score(below: usize, count: usize) -> f64 {
    if count <= 1 {
        return 1.0;
    }
    below as f64 / (count - 1) as f64
}

/// Sorts the keys once, then reads every rank off the sorted list.
fn score_many(
    items: &[ContextItem],
    scores: &mut [f64],
    key: impl Fn(&ContextItem) -> Option<RankKey>,
) {
    scores.fill(0.0);
    let mut ranked: Vec<u128> = (0_u32..)
        .zip(items)
        .filter_map(|(index, item)| key(item).map(|key| key | u128::from(index)))
        .collect();
    // Conversations usually arrive in order already; then there is nothing to sort.
    if !ranked.is_sorted() {
        ranked.sort_unstable();
    }
    write_ranks(ranked.into_iter().map(|ranked| (ranked >> 32, ranked as u32)), scores);
}

/// Writes the scores of all items of a sorted list of keys and positions.
fn write_ranks<K: PartialEq>(ranked: impl ExactSizeIterator<Item = (K, u32)>, scores: &mut [f64]) {
    let count = ranked.len();
    let (mut previous, mut below) = (None, 0);
    for (rank, (key, position)) in ranked.enumerate() {
        if previous.as_ref() != Some(&key) {
            (previous, below) = (Some(key), rank);
        }
        if let Some(score) = scores.get_mut(position as usize) {
            *score = rank_score(below, count);
        }
    }
}

impl Scorer for RecencyScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        score_one(item, all, |item| item.timestamp().map(timestamp_key))
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        score_many(items, scores, |item| item.timestamp().map(timestamp_key));
    }

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        leaves(self, items, |item| item.timestamp().is_none().then(|| "no date".into()))
    }

    crate::names::as_any!();
}

impl Scorer for PriorityScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        score_one(item, all, |item| item.priority().map(ordered))
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        score_many(items, scores, |item| item.priority().map(ordered));
    }

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        leaves(self, items, |item| {
            let priority = item.priority();
            Some(priority.map_or("no priority".into(), |priority| format!("priority {priority}")))
        })
    }

    crate::names::as_any!();
}

/// Scores newer items higher, as [`RecencyScorer`](crate::RecencyScorer) does, and takes the
/// position in the list for the age of items without a date.
///
/// The score is the share of the other items that are strictly older. With dates on all items the
/// scores are those of `RecencyScorer`. An item without a date is just newer than the newest dated
/// item before it in the list, so a conversation without any dates is as old as its order says.
/// Items from sources count as older than the request's own candidates.
///
/// Documents, memories and system prompts without a date have no place in the conversation: they
/// score 0.0 and do not count.
///
/// ```
/// use cupel::{AgeScorer, ContextItem, ContextKind, Scorer};
///
/// let items = [
///     ContextItem::builder("the manual", 1).kind(ContextKind::document()).build()?,
///     ContextItem::new("said first", 1)?,
///     ContextItem::new("said next", 1)?,
///     ContextItem::new("the question", 1)?,
/// ];
/// let mut scores = [0.0; 4];
/// AgeScorer.score_all(&items, &mut scores);
/// assert_eq!(scores, [0.0, 0.0, 0.5, 1.0]);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgeScorer;

impl Scorer for AgeScorer {
    /// An item that is named more than once is as old as its last mention.
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        let ages = ages(all.iter());
        let mention = all.iter().rposition(|other| ContextItem::same(other, item));
        let own = match mention {
            Some(position) => ages.get(position).copied().flatten(),
            None => item.timestamp().map(|date| (Some(date), 0)),
        };
        let Some(own) = own else {
            return 0.0;
        };
        let aged = || ages.iter().flatten();
        rank_score(aged().filter(|age| **age < own).count(), aged().count())
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        scores.fill(0.0);
        let ages = ages(items.iter());
        let mut ranked: Vec<_> =
            ages.into_iter().zip(0_u32..).filter_map(|(age, index)| Some((age?, index))).collect();
        // Conversations usually arrive in order already; then there is nothing to sort.
        if !ranked.is_sorted() {
            ranked.sort_unstable();
        }
        write_ranks(ranked.into_iter(), scores);
        if !Copies::of(items).is_empty() {
            let mut last = HashMap::new();
            for (item, score) in items.iter().zip(scores).rev() {
                *score = *last.entry(item.address()).or_insert(*score);
            }
        }
    }

    crate::names::as_any!();
}
