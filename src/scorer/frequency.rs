//! Scores by how many peers share a tag.

use super::Scorer;
use super::tag_groups::TagGroups;
use crate::model::ContextItem;

/// The share of the other candidates that have at least one tag in common with the item.
///
/// Tags compare without regard to ASCII case.
///
/// ```
/// use cupel::{ContextItem, FrequencyScorer, Scorer};
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
        let sharing = groups.items_sharing_a_tag();
        let copies = Copies::of(items);
        for ((item, group), score) in items.iter().zip(&groups.group_of_item).zip(scores) {
            let Some(&sharing) = group.and_then(|group| sharing.get(group as usize)) else {
                continue;
            };
            // An item shares its tags with itself, under every handle it appears by.
            let peers = sharing - copies.count(item);
            *score = peers as f64 / (items.len() - 1) as f64;
        }
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

/// How often each item is in the list, by identity.
struct Copies {
    /// Only items that appear more than once.
    repeated: hashbrown::HashMap<usize, usize, foldhash::fast::RandomState>,
}

impl Copies {
    fn of(items: &[ContextItem]) -> Self {
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

    fn count(&self, item: &ContextItem) -> usize {
        if self.repeated.is_empty() {
            return 1;
        }
        self.repeated.get(&item.address()).copied().unwrap_or(1)
    }
}
