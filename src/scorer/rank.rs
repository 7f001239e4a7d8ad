//! Scorers that rank an item among its peers: by timestamp, by age and by priority.

use std::collections::HashMap;

use super::Scorer;
use super::frequency::Copies;
use crate::model::{ContextItem, ages};

/// Scores newer items higher: the share of the other timestamped items that are strictly older.
///
/// Items without a timestamp score 0.0; a single timestamped item scores 1.0.
///
/// ```
/// use chrono::DateTime;
/// use cupel::{ContextItem, Scorer};
/// use cupel::scorer::RecencyScorer;
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

fn score_one<K: Ord>(
    item: &ContextItem,
    all: &[ContextItem],
    key: impl Fn(&ContextItem) -> Option<K>,
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

/// Scores all items by the rank of their keys; items without a key score 0.0.
fn score_many<K: Ord>(keys: impl Iterator<Item = Option<K>>, scores: &mut [f64]) {
    scores.fill(0.0);
    let mut ranked: Vec<(K, u32)> =
        keys.zip(0_u32..).filter_map(|(key, index)| Some((key?, index))).collect();
    // Conversations usually arrive in order already; then there is nothing to sort.
    if !ranked.is_sorted() {
        ranked.sort_unstable();
    }
    let (count, mut below) = (ranked.len(), 0);
    for run in ranked.chunk_by(|(a, _), (b, _)| a == b) {
        for (_, position) in run {
            if let Some(score) = scores.get_mut(*position as usize) {
                *score = rank_score(below, count);
            }
        }
        below += run.len();
    }
}

impl Scorer for RecencyScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        score_one(item, all, ContextItem::timestamp)
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        score_many(items.iter().map(ContextItem::timestamp), scores);
    }

    fn note(&self, item: &ContextItem) -> Option<String> {
        item.timestamp().is_none().then(|| "no date".into())
    }

    crate::names::as_any!();
}

impl Scorer for PriorityScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        score_one(item, all, ContextItem::priority)
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        score_many(items.iter().map(ContextItem::priority), scores);
    }

    fn note(&self, item: &ContextItem) -> Option<String> {
        let priority = item.priority();
        Some(priority.map_or("no priority".into(), |priority| format!("priority {priority}")))
    }

    crate::names::as_any!();
}

/// Scores newer items higher, as [`RecencyScorer`](crate::scorer::RecencyScorer) does, and takes the
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
/// use cupel::{ContextItem, ContextKind, Scorer};
/// use cupel::scorer::AgeScorer;
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
        score_many(ages(items.iter()).into_iter(), scores);
        if !Copies::of(items).is_empty() {
            let mut last = HashMap::new();
            for (item, score) in items.iter().zip(scores).rev() {
                *score = *last.entry(item.address()).or_insert(*score);
            }
        }
    }

    crate::names::as_any!();
}
