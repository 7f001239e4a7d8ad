//! Stage 3: of items with byte-equal content, the best one stays.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::observe::Observer;
use crate::diagnostics::{ExclusionReason, PipelineStage, TraceCollector};
use crate::model::{ContextItem, ScoredItem};
use crate::order;

/// The positions of duplicates that lose to another item, ascending; none when disabled.
pub(super) fn deduplicate<C: TraceCollector + ?Sized>(
    scoreable: &[ContextItem],
    scores: &[f64],
    enabled: bool,
    observer: &mut Observer<'_, C>,
) -> Vec<u32> {
    const STAGE: PipelineStage = PipelineStage::Deduplicate;
    let running = observer.enter(STAGE, scoreable.len());
    let dropped = if enabled { duplicates(scoreable, scores) } else { Vec::new() };
    if observer.wants_items() {
        for &position in &dropped {
            let position = position as usize;
            if let (Some(item), Some(score)) = (scoreable.get(position), scores.get(position)) {
                // The content is the survivor's as much as this item's.
                let reason =
                    ExclusionReason::Deduplicated { deduplicated_against: item.shared_content() };
                observer.excluded(&STAGE, ScoredItem::new(item, *score), reason);
            }
        }
    }
    observer.leave(running, scoreable.len() - dropped.len());
    dropped
}

fn duplicates(scoreable: &[ContextItem], scores: &[f64]) -> Vec<u32> {
    let hash_of =
        |position: &u32| scoreable.get(*position as usize).map_or(0, ContextItem::content_hash);
    let score_of = |position: u32| scores.get(position as usize).copied().unwrap_or(f64::NAN);
    let mut best: HashTable<u32> = HashTable::with_capacity(scoreable.len());
    let mut dropped = Vec::new();
    for (position, challenger) in (0_u32..).zip(scoreable) {
        let hash = challenger.content_hash();
        let same_content = |other: &u32| {
            hash_of(other) == hash
                && scoreable
                    .get(*other as usize)
                    .is_some_and(|other| other.content() == challenger.content())
        };
        match best.entry(hash, same_content, hash_of) {
            Entry::Vacant(entry) => {
                entry.insert(position);
            }
            Entry::Occupied(mut entry) => {
                let holder = order::descending(score_of(*entry.get()));
                // Equal scores leave the place to the earlier item.
                if order::descending(score_of(position)) < holder {
                    dropped.push(std::mem::replace(entry.get_mut(), position));
                } else {
                    dropped.push(position);
                }
            }
        }
    }
    dropped.sort_unstable();
    dropped
}
