//! Counts who shares a tag with groups of many tags, by sets of bits.
//!
//! Every item has a bit, and every common tag a set of the items that have it. The items that share
//! a tag with a group are the union of its tags' sets: 64 items a step, but a pass over all items
//! for every tag of the group.

use std::ops::Range;

use super::tag_groups::TagGroups;

/// Adds to `sharing` what `subsets` cannot count: for each of `many` the items of all others that
/// share a tag with it, and for each of `few` those of `many`.
pub(super) fn count(all: &TagGroups, few: &[u32], many: &[u32], sharing: &mut [i64]) {
    let bits = Bits::of(all, few, many);
    let mut union = vec![0_u64; bits.words];
    let mut add = |group: u32, items: Range<usize>| {
        let own = bits.items_of.get(group as usize).map_or(0, |own| items_in(own, &items));
        bits.unite(all.tags.get(group), &items, &mut union);
        if let Some(sharing) = sharing.get_mut(group as usize) {
            *sharing += ones(&union, &items) - own;
        }
    };
    many.iter().for_each(|&group| add(group, 0..bits.all_items));
    few.iter().for_each(|&group| add(group, 0..bits.items_of_many));
}

fn items_in(own: &Range<usize>, items: &Range<usize>) -> i64 {
    own.end.min(items.end).saturating_sub(own.start.max(items.start)) as i64
}

/// Number of bits that are set in the first of them.
fn ones(words: &[u64], items: &Range<usize>) -> i64 {
    let (whole, rest) = (items.end / 64, items.end % 64);
    let full = words.iter().take(whole).map(|word| i64::from(word.count_ones())).sum::<i64>();
    let mask = (1_u64 << rest) - 1;
    full + words.get(whole).map_or(0, |word| i64::from((word & mask).count_ones()))
}

struct Bits {
    /// The bits of each group's items: those of many tags first.
    items_of: Vec<Range<usize>>,
    items_of_many: usize,
    all_items: usize,
    words: usize,
    /// For every tag, either the number of its set, or its groups in the order of their bits.
    tags: Vec<Tag>,
    sets: Vec<u64>,
}

enum Tag {
    /// Common: a set of its own is no longer than the list of its items.
    Set(usize),
    Groups(Vec<u32>),
}

impl Bits {
    fn of(all: &TagGroups, few: &[u32], many: &[u32]) -> Self {
        let size = |group: u32| all.sizes.get(group as usize).map_or(0, |size| *size as usize);
        let mut items_of = vec![0..0; all.sizes.len()];
        let mut groups_of = vec![Vec::new(); all.groups_with.len()];
        let (mut all_items, mut items_of_many) = (0, 0);
        for (position, &group) in many.iter().chain(few).enumerate() {
            let items = all_items..all_items + size(group);
            all_items = items.end;
            if position < many.len() {
                items_of_many = items.end;
            }
            for &tag in all.tags.get(group) {
                if let Some(groups) = groups_of.get_mut(tag as usize) {
                    groups.push(group);
                }
            }
            if let Some(slot) = items_of.get_mut(group as usize) {
                *slot = items;
            }
        }
        let words = all_items.div_ceil(64);
        let mut bits =
            Self { items_of, items_of_many, all_items, words, tags: Vec::new(), sets: Vec::new() };
        let mut sets = 0;
        for groups in groups_of {
            let items: usize = groups.iter().map(|&group| size(group)).sum();
            let tag = if items >= words {
                let mut set = vec![0; words];
                bits.set_groups(&groups, usize::MAX, &mut set);
                bits.sets.extend(set);
                sets += 1;
                Tag::Set(sets - 1)
            } else {
                Tag::Groups(groups)
            };
            bits.tags.push(tag);
        }
        bits
    }

    /// Sets the bits of all items of some groups, up to a limit.
    fn set_groups(&self, groups: &[u32], limit: usize, set: &mut [u64]) {
        for items in groups.iter().filter_map(|&group| self.items_of.get(group as usize)) {
            if items.start >= limit {
                break;
            }
            for item in items.clone() {
                if let Some(word) = set.get_mut(item / 64) {
                    *word |= 1 << (item % 64);
                }
            }
        }
    }

    /// The items that have one of the tags, of the first so many.
    fn unite(&self, tags: &[u32], items: &Range<usize>, union: &mut [u64]) {
        let words = items.end.div_ceil(64);
        let Some(union) = union.get_mut(..words) else { return };
        union.fill(0);
        for tag in tags.iter().filter_map(|&tag| self.tags.get(tag as usize)) {
            match tag {
                Tag::Groups(groups) => self.set_groups(groups, items.end, union),
                Tag::Set(number) => {
                    let set = self.sets.get(number * self.words..).unwrap_or_default();
                    for (word, set) in union.iter_mut().zip(set) {
                        *word |= set;
                    }
                }
            }
        }
    }
}
