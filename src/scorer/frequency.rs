//! Scores by how many peers share a tag.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::Scorer;
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
}

/// Items grouped by their set of tags: items of one group have the same peers.
struct TagGroups {
    /// The group of every item; none for items without tags.
    group_of_item: Vec<Option<u32>>,
    /// For every group, how many items it has.
    sizes: Vec<usize>,
    /// For every group, its tags, sorted.
    tags_of_group: Vec<Vec<u32>>,
    /// For every tag, the groups that have it.
    groups_of_tag: Vec<Vec<u32>>,
}

impl TagGroups {
    fn of(items: &[ContextItem]) -> Self {
        let mut tags = Interner::default();
        let mut groups: hashbrown::HashMap<Vec<u32>, u32, foldhash::fast::RandomState> =
            hashbrown::HashMap::default();
        let (mut sizes, mut tags_of_group) = (Vec::new(), Vec::<Vec<u32>>::new());
        let mut set = Vec::new();
        let group_of_item = items
            .iter()
            .map(|item| {
                set.clear();
                set.extend(item.tags().iter().map(|tag| tags.id(tag)));
                if set.is_empty() {
                    return None;
                }
                set.sort_unstable();
                set.dedup();
                let group = match groups.get(&set) {
                    Some(&group) => group,
                    None => {
                        let group = sizes.len() as u32;
                        groups.insert(set.clone(), group);
                        tags_of_group.push(set.clone());
                        sizes.push(0);
                        group
                    }
                };
                if let Some(size) = sizes.get_mut(group as usize) {
                    *size += 1;
                }
                Some(group)
            })
            .collect();
        let mut groups_of_tag = vec![Vec::new(); tags.names.len()];
        for (group, tags) in (0_u32..).zip(&tags_of_group) {
            for &tag in tags {
                if let Some(groups) = groups_of_tag.get_mut(tag as usize) {
                    groups.push(group);
                }
            }
        }
        Self { group_of_item, sizes, tags_of_group, groups_of_tag }
    }

    /// For every group, how many items (its own included) share a tag with it.
    fn items_sharing_a_tag(&self) -> Vec<usize> {
        let size = |group: u32| self.sizes.get(group as usize).copied().unwrap_or(0);
        let groups_of =
            |tag: u32| self.groups_of_tag.get(tag as usize).map_or(&[][..], Vec::as_slice);
        let items_of_tag: Vec<usize> = (0..self.groups_of_tag.len() as u32)
            .map(|tag| groups_of(tag).iter().map(|&group| size(group)).sum())
            .collect();
        let items_of = |tag: u32| items_of_tag.get(tag as usize).copied().unwrap_or(0);
        // Which group last counted this one: saves clearing a set for every group.
        let mut counted_by = vec![u32::MAX; self.sizes.len()];
        (0_u32..)
            .zip(&self.tags_of_group)
            .map(|(group, tags)| {
                // Everything with the most common tag counts at once, without a walk: a tag on
                // every item ("doc") beside a rare one ("page-17") must not cost a full pass.
                let Some(&common) = tags.iter().max_by_key(|&&tag| groups_of(tag).len()) else {
                    return 0;
                };
                let mut sharing = items_of(common);
                for &tag in tags.iter().filter(|&&tag| tag != common) {
                    for &other in groups_of(tag) {
                        let Some(mark) = counted_by.get_mut(other as usize) else {
                            continue;
                        };
                        if *mark != group {
                            *mark = group;
                            if !self.has_tag(other, common) {
                                sharing += size(other);
                            }
                        }
                    }
                }
                sharing
            })
            .collect()
    }

    fn has_tag(&self, group: u32, tag: u32) -> bool {
        let tags = self.tags_of_group.get(group as usize);
        tags.is_some_and(|tags| tags.contains(&tag))
    }
}

/// Numbers for tags, equal for tags that differ only in ASCII case.
#[derive(Default)]
struct Interner<'a> {
    names: Vec<&'a str>,
    table: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl<'a> Interner<'a> {
    fn id(&mut self, tag: &'a str) -> u32 {
        let Self { names, table, hasher } = self;
        let hash = |tag: &str| {
            // Tags are short: their folded form fits the stack.
            let mut buffer = [0_u8; 64];
            match buffer.get_mut(..tag.len()) {
                Some(folded) => {
                    folded.copy_from_slice(tag.as_bytes());
                    folded.make_ascii_lowercase();
                    hasher.hash_one(&*folded)
                }
                None => hasher.hash_one(tag.to_ascii_lowercase().as_bytes()),
            }
        };
        let name = |id: u32| names.get(id as usize).copied().unwrap_or_default();
        let entry =
            table.entry(hash(tag), |&id| name(id).eq_ignore_ascii_case(tag), |&id| hash(name(id)));
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let id = *entry.insert(names.len() as u32).get();
                names.push(tag);
                id
            }
        }
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
        addresses.sort_unstable();
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
