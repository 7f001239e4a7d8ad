//! Scores by how many peers share a tag.

use super::Scorer;
use super::shared_tags::{MAX_TAGS, TagGroups, items_sharing_a_tag};
use crate::model::ContextItem;

/// The share of the other candidates that have at least one tag in common with the item.
///
/// Tags compare without regard to ASCII case.
///
/// ```
/// use cupel::{ContextItem, Scorer};
/// use cupel::scorer::FrequencyScorer;
///
/// let tagged = |text, tag| ContextItem::builder(text, 1).tag(tag).build();
/// let items = [tagged("a", "db")?, tagged("b", "DB")?, tagged("c", "ui")?];
/// assert_eq!(FrequencyScorer.score(&items[0], &items), 0.5);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrequencyScorer;

impl Scorer for FrequencyScorer {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        if item.tags().is_empty() || all.len() <= 1 {
            return 0.0;
        }
        let shares_tag = |other: &ContextItem| {
            let mut tags = item.tags().iter();
            tags.any(|a| other.tags().iter().any(|b| a.eq_ignore_ascii_case(b)))
        };
        let peers = all.iter().filter(|other| !ContextItem::same(other, item));
        peers.filter(|other| shares_tag(other)).count() as f64 / (all.len() - 1) as f64
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        scores.fill(0.0);
        if items.len() <= 1 {
            return;
        }
        let groups = TagGroups::of(items);
        let sharing = items_sharing_a_tag(&groups);
        let copies = Copies::of(items);
        for ((item, group), score) in items.iter().zip(&groups.group_of_item).zip(scores) {
            let Some(&sharing) = group.and_then(|group| sharing.get(group as usize)) else {
                continue;
            };
            // An item shares its tags with itself, under every handle it appears by.
            let peers = sharing - copies.count(item) as i64;
            *score = peers as f64 / (items.len() - 1) as f64;
        }
    }

    /// With up to eight tags an item, a few hundred steps for each; with more, a pass over all
    /// items for each of its tags, 64 of them a step.
    fn steps(&self, items: &[ContextItem]) -> u64 {
        let words = items.len() as u64 / 64 + 1;
        let steps = |item: &ContextItem| match item.tags().len() {
            tags if tags <= MAX_TAGS => 64 * tags as u64 + (2 << tags),
            tags => (64 + words / 2).saturating_mul(tags as u64),
        };
        items.iter().map(steps).fold(0, u64::saturating_add)
    }

    crate::names::as_any!();
}

/// Number of times each item is in the list, by identity.
pub(super) struct Copies {
    /// Only items that appear more than once.
    repeated: hashbrown::HashMap<usize, usize, foldhash::fast::RandomState>,
}

impl Copies {
    pub(super) fn of(items: &[ContextItem]) -> Self {
        let mut addresses: Vec<usize> = items.iter().map(ContextItem::address).collect();
        // Items made one after another often lie in memory that way.
        if !addresses.is_sorted() {
            addresses.sort_unstable();
        }
        let mut repeated = hashbrown::HashMap::default();
        for run in addresses.chunk_by(|a, b| a == b) {
            if let [address, _, ..] = run {
                repeated.insert(*address, run.len());
            }
        }
        Self { repeated }
    }

    /// Returns `true` if no item is in the list more than once.
    pub(super) fn is_empty(&self) -> bool {
        self.repeated.is_empty()
    }

    fn count(&self, item: &ContextItem) -> usize {
        if self.is_empty() {
            return 1;
        }
        self.repeated.get(&item.address()).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items with tags of their own number, of a pool of tags, from a fixed sequence.
    fn items(count: usize, tags: impl Fn(usize) -> usize, pool: u64) -> Vec<ContextItem> {
        let mut state = 7_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        (0..count)
            .map(|i| {
                let tags: Vec<String> = (0..tags(i)).map(|_| format!("t{}", below(pool))).collect();
                ContextItem::builder(format!("item {i}"), 1).tags(tags).build().unwrap()
            })
            .collect()
    }

    #[test]
    fn scores_together_are_the_scores_one_by_one() {
        // Few and many tags, rare and common ones, and all of them mixed.
        for (name, tags, pool) in [
            ("few", 3_usize, 12),
            ("eight of few", 8, 15),
            ("eight of many", 8, 400),
            ("many", 30, 60),
            ("many rare ones", 12, 900),
        ] {
            for mixed in [false, true] {
                let count = |i: usize| if mixed { (i * 7) % (2 * tags) } else { tags };
                let mut items = items(300, count, pool);
                items.extend(items.clone().into_iter().take(20));
                let mut together = vec![0.0; items.len()];
                FrequencyScorer.score_all(&items, &mut together);
                let alone: Vec<f64> =
                    items.iter().map(|item| FrequencyScorer.score(item, &items)).collect();
                assert_eq!(together, alone, "{name}, mixed: {mixed}");
            }
        }
    }
}
