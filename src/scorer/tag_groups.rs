//! Counts, for many items at once, how many others share a tag.

use std::hash::BuildHasher;

use hashbrown::{HashMap, HashTable};

use crate::model::ContextItem;

type Hasher = foldhash::fast::RandomState;

/// Items grouped by their set of tags: items of one group have the same peers.
pub(super) struct TagGroups {
    /// The group of every item; none for items without tags.
    pub(super) group_of_item: Vec<Option<u32>>,
    /// For every group, how many items it has.
    sizes: Vec<usize>,
    /// For every group, its tags, sorted.
    tags_of_group: Vec<Vec<u32>>,
    /// For every tag, the groups that have it.
    groups_of_tag: Vec<Vec<u32>>,
}

impl TagGroups {
    pub(super) fn of(items: &[ContextItem]) -> Self {
        let mut tags = Interner::default();
        let mut groups: HashMap<Vec<u32>, u32, Hasher> = HashMap::default();
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
    pub(super) fn items_sharing_a_tag(&self) -> Vec<usize> {
        let most = self.tags_of_group.iter().map(Vec::len).max().unwrap_or(0);
        let ids_fit = self.groups_of_tag.len() < MAX_TAG_IDS;
        if most <= MAX_COUNTED_TAGS && ids_fit { self.by_counting() } else { self.by_walking() }
    }

    /// Inclusion and exclusion: the items with tag a or b are those with a, plus those with b,
    /// less those with both. Linear in the groups, for groups of few tags.
    fn by_counting(&self) -> Vec<usize> {
        let mut items_with: HashMap<TagSet, i64, Hasher> = HashMap::default();
        for (tags, size) in self.tags_of_group.iter().zip(&self.sizes) {
            for_each_subset(tags, |subset, _| {
                *items_with.entry(subset).or_default() += *size as i64;
            });
        }
        let count = |tags: &Vec<u32>| {
            let mut sharing = 0;
            for_each_subset(tags, |subset, len| {
                let with = items_with.get(&subset).copied().unwrap_or(0);
                sharing += if len % 2 == 1 { with } else { -with };
            });
            usize::try_from(sharing).unwrap_or(0)
        };
        self.tags_of_group.iter().map(count).collect()
    }

    /// Marks the groups that share a tag, one group after another; for groups of many tags.
    fn by_walking(&self) -> Vec<usize> {
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

/// Groups of up to this many tags are counted by subsets, of which each has `2^tags - 1`.
const MAX_COUNTED_TAGS: usize = 5;

/// Tag numbers below this fit a [`TagSet`].
const MAX_TAG_IDS: usize = 1 << 24;

/// Up to five tag numbers in one integer, in ascending order.
type TagSet = u128;

/// Calls `visit` with every non-empty subset of `tags` and its size.
fn for_each_subset(tags: &[u32], mut visit: impl FnMut(TagSet, u32)) {
    for chosen in 1_u32..1 << tags.len() {
        let members = (0..).zip(tags).filter(|(bit, _)| chosen & (1 << bit) != 0);
        let subset = members.fold(0, |set, (_, &tag)| (set << 24) | TagSet::from(tag + 1));
        visit(subset, chosen.count_ones());
    }
}

/// Numbers for tags, equal for tags that differ only in ASCII case.
#[derive(Default)]
struct Interner<'a> {
    names: Vec<&'a str>,
    table: HashTable<u32>,
    hasher: Hasher,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_and_walking_agree() {
        // Every combination of five tags, some of them many times.
        let items: Vec<ContextItem> = (0_u32..200)
            .map(|i| {
                let tags =
                    (0..5).filter(|bit| (i * 37) & (1 << bit) != 0).map(|bit| format!("t{bit}"));
                ContextItem::builder(format!("item {i}"), 1).tags(tags).build().unwrap()
            })
            .collect();
        let groups = TagGroups::of(&items);
        assert_eq!(groups.by_counting(), groups.by_walking());
        assert_eq!(groups.sizes.len(), 31);
    }
}
