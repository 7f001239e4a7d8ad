//! Scores by age, where position stands in for a date that is missing.

use std::collections::HashMap;

use super::Scorer;
use super::rank::{rank_score, write_ranks};
use crate::model::{ContextItem, ages};

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
        if has_repeats(items) {
            let mut last = HashMap::new();
            for (item, score) in items.iter().zip(scores).rev() {
                *score = *last.entry(item.address()).or_insert(*score);
            }
        }
    }

    crate::names::as_any!();
}

/// Returns `true` if an item is in the list more than once.
fn has_repeats(items: &[ContextItem]) -> bool {
    let mut addresses: Vec<usize> = items.iter().map(ContextItem::address).collect();
    // Items made one after another often lie in memory that way.
    if addresses.is_sorted_by(|a, b| a < b) {
        return false;
    }
    addresses.sort_unstable();
    !addresses.is_sorted_by(|a, b| a < b)
}
