//! Stage 3: of items with byte-equal content, the best one stays.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::observe::Observer;
use crate::diagnostics::{ExclusionReason, PipelineStage, TraceCollector};
use crate::model::ScoredItem;
use crate::order;

/// Removes duplicates; the survivors keep their order.
pub(super) fn deduplicate<'a, C: TraceCollector + ?Sized>(
    scored: Vec<ScoredItem<'a>>,
    enabled: bool,
    observer: &mut Observer<'_, C>,
) -> Vec<ScoredItem<'a>> {
    const STAGE: PipelineStage = PipelineStage::Deduplicate;
    let running = observer.enter(STAGE, scored.len());
    let dropped = if enabled { duplicates(&scored) } else { Vec::new() };
    let unique = if dropped.is_empty() {
        scored
    } else {
        let mut dropped = dropped.into_iter().peekable();
        let mut unique = Vec::with_capacity(scored.len());
        for (position, item) in (0_u32..).zip(scored) {
            if dropped.next_if_eq(&position).is_none() {
                unique.push(item);
            } else if observer.wants_items() {
                // The content is the survivor's as much as this item's.
                let reason = ExclusionReason::Deduplicated {
                    deduplicated_against: item.item().shared_content(),
                };
                observer.excluded(&STAGE, item, reason);
            }
        }
        unique
    };
    observer.leave(running, unique.len());
    unique
}

/// Positions of the items that lose to another of the same content, ascending.
fn duplicates(scored: &[ScoredItem<'_>]) -> Vec<u32> {
    let item = |position: u32| scored.get(position as usize);
    let hash = |position: &u32| item(*position).map_or(0, |scored| scored.item().content_hash());
    let mut best: HashTable<u32> = HashTable::with_capacity(scored.len());
    let mut dropped = Vec::new();
    for (position, challenger) in (0_u32..).zip(scored) {
        let own_hash = challenger.item().content_hash();
        let same_content = |other: &u32| {
            item(*other).is_some_and(|other| {
                other.item().content_hash() == own_hash
                    && other.item().content() == challenger.item().content()
            })
        };
        match best.entry(own_hash, same_content, hash) {
            Entry::Vacant(entry) => {
                entry.insert(position);
            }
            Entry::Occupied(mut entry) => {
                let holder = item(*entry.get()).map_or(f64::NAN, ScoredItem::score);
                // Equal scores leave the place to the earlier item.
                if order::descending(challenger.score()) < order::descending(holder) {
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
