//! Items grouped by their set of tags.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};

use crate::model::ContextItem;

type Hasher = foldhash::fast::RandomState;

/// Items grouped by their set of tags: items of one group share a tag with the same others.
pub(super) struct TagGroups {
    /// The group of every item; none for items without tags.
    pub(super) group_of_item: Vec<Option<u32>>,
    /// For every group, how many items it has.
    pub(super) sizes: Vec<u32>,
    /// For every group, the tags it has in common with another one, the rarest first.
    pub(super) tags: TagLists,
    /// For every such tag, how many groups have it.
    pub(super) groups_with: Vec<u32>,
}

/// A list of tag numbers for every group, all in one piece of memory.
#[derive(Default)]
pub(super) struct TagLists {
    tags: Vec<u32>,
    ends: Vec<usize>,
}

impl TagLists {
    pub(super) fn get(&self, group: u32) -> &[u32] {
        let group = group as usize;
        let start = group.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let end = self.ends.get(group).copied();
        start.zip(end).and_then(|(start, end)| self.tags.get(start..end)).unwrap_or_default()
    }

    fn push(&mut self, tags: impl IntoIterator<Item = u32>) {
        self.tags.extend(tags);
        self.ends.push(self.tags.len());
    }

    pub(super) fn groups(&self) -> std::ops::Range<u32> {
        0..self.ends.len() as u32
    }
}

impl TagGroups {
    pub(super) fn of(items: &[ContextItem]) -> Self {
        let mut names = Interner::default();
        let hasher = Hasher::default();
        let mut known: HashTable<u32> = HashTable::new();
        let mut lists = TagLists::default();
        let mut sizes: Vec<u32> = Vec::new();
        let mut set = Vec::new();
        let group_of_item = items
            .iter()
            .map(|item| {
                set.clear();
                set.extend(item.tags().iter().map(|tag| names.id(tag)));
                if set.is_empty() {
                    return None;
                }
                set.sort_unstable();
                set.dedup();
                let group = match known.entry(
                    hasher.hash_one(&*set),
                    |&group| lists.get(group) == set,
                    |&group| hasher.hash_one(lists.get(group)),
                ) {
                    Entry::Occupied(entry) => *entry.get(),
                    Entry::Vacant(entry) => *entry.insert(sizes.len() as u32).get(),
                };
                if group as usize == sizes.len() {
                    lists.push(set.iter().copied());
                    sizes.push(0);
                }
                if let Some(size) = sizes.get_mut(group as usize) {
                    *size += 1;
                }
                Some(group)
            })
            .collect();
        let (tags, groups_with) = shared_tags(&lists, names.len());
        Self { group_of_item, sizes, tags, groups_with }
    }
}

/// Leaves out the tags that only one group has, and renumbers the others from the rarest on.
fn shared_tags(lists: &TagLists, count: usize) -> (TagLists, Vec<u32>) {
    let mut groups_with = vec![0_u32; count];
    for &tag in &lists.tags {
        if let Some(groups) = groups_with.get_mut(tag as usize) {
            *groups += 1;
        }
    }
    let mut by_rarity: Vec<(u32, u32)> =
        groups_with.iter().copied().zip(0..).filter(|(groups, _)| *groups > 1).collect();
    by_rarity.sort_unstable();
    let mut number_of = vec![None; count];
    for (number, (_, tag)) in (0_u32..).zip(&by_rarity) {
        if let Some(slot) = number_of.get_mut(*tag as usize) {
            *slot = Some(number);
        }
    }
    let mut shared = TagLists::default();
    let mut numbers: Vec<u32> = Vec::new();
    for group in lists.groups() {
        let number = |tag: &u32| number_of.get(*tag as usize).copied().flatten();
        numbers.clear();
        numbers.extend(lists.get(group).iter().filter_map(number));
        numbers.sort_unstable();
        shared.push(numbers.iter().copied());
    }
    (shared, by_rarity.into_iter().map(|(groups, _)| groups).collect())
}

/// Numbers for tags, equal for tags that differ only in ASCII case.
#[derive(Default)]
struct Interner {
    /// Tags of up to 15 bytes: with their length they fit a number, and need no second look at
    /// another item's memory.
    short: HashMap<u128, u32, Hasher>,
    long: HashMap<String, u32, Hasher>,
}

impl Interner {
    fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    fn id(&mut self, tag: &str) -> u32 {
        let next = self.len() as u32;
        let mut folded = [0_u8; 16];
        match folded.get_mut(..15).and_then(|room| room.get_mut(..tag.len())) {
            Some(room) => {
                room.copy_from_slice(tag.as_bytes());
                folded.make_ascii_lowercase();
                let length = (tag.len() as u128) << 120;
                *self.short.entry(u128::from_le_bytes(folded) | length).or_insert(next)
            }
            None => *self.long.entry(tag.to_ascii_lowercase()).or_insert(next),
        }
    }
}
