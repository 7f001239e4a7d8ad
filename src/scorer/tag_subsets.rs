//! Counts who shares a tag among groups of few tags, by inclusion and exclusion.
//!
//! The items with tag a or b are those with a, plus those with b, less those with both. Going
//! through the sets of tags that at least two groups have in common, each with the list of these
//! groups, takes a step for every group and every such set among its tags: at most 255 for eight
//! tags, however many groups there are.

use super::tag_groups::TagGroups;

/// How many tags a group may have to be counted here.
pub(super) const MAX_TAGS: usize = 8;

/// Lists of up to this many groups are compared pair by pair.
const FEW_GROUPS: usize = 48;

/// A group on a list, and where the tags begin that its list has not been narrowed by.
#[derive(Clone, Copy, Default)]
struct Entry {
    group: u32,
    from: u32,
}

/// What there is to know of a group, close together: most of the work is looking at these.
#[derive(Clone, Copy)]
struct Group {
    /// The first `count` of them.
    tags: [u32; MAX_TAGS],
    count: u32,
    size: u32,
}

impl Group {
    /// A group with the tags it has from some position on.
    fn of(all: &TagGroups, entry: &Entry) -> Self {
        let own = all.tags.get(entry.group).get(entry.from as usize..).unwrap_or_default();
        let mut tags = [0; MAX_TAGS];
        for (slot, tag) in tags.iter_mut().zip(own) {
            *slot = *tag;
        }
        let size = all.sizes.get(entry.group as usize).copied().unwrap_or(0);
        Self { tags, count: own.len() as u32, size }
    }
}

/// The tags of a group that its list has not been narrowed by.
fn further<'a>(groups: &'a [Group], entry: &Entry) -> &'a [u32] {
    let group = groups.get(entry.group as usize);
    let tags = group.and_then(|group| group.tags.get(entry.from as usize..group.count as usize));
    tags.unwrap_or_default()
}

/// Adds to `sharing`, for each of `groups`, the items of the others that share a tag with it.
pub(super) fn count(all: &TagGroups, groups: &[u32], sharing: &mut [i64]) {
    let tag_count = all.groups_with.len();
    let own: Vec<Group> =
        groups.iter().map(|&group| Group::of(all, &Entry { group, from: 0 })).collect();
    let everybody: Vec<Entry> =
        (0_u32..).zip(groups).map(|(group, _)| Entry { group, from: 0 }).collect();
    let mut by_tag = Level::default();
    by_tag.split(tag_count, &own, &everybody);

    let mut walk = Walk { tag_count, ..Walk::default() };
    for &(start, end) in &by_tag.lists {
        // Each tag's groups are copied to where they stand side by side.
        let list = by_tag.entries.get(start as usize..end as usize).unwrap_or_default();
        let number = |entry: &Entry| groups.get(entry.group as usize).copied().unwrap_or(0);
        let copy = |entry: &Entry| Group::of(all, &Entry { group: number(entry), ..*entry });
        walk.groups.clear();
        walk.groups.extend(list.iter().map(copy));
        walk.sharing.clear();
        walk.sharing.resize(list.len(), 0);
        let local: Vec<Entry> =
            (0_u32..).zip(list).map(|(group, _)| Entry { group, from: 0 }).collect();
        walk.visit(0, &local, 1);
        for (entry, items) in list.iter().zip(&walk.sharing) {
            if let Some(sharing) = sharing.get_mut(number(entry) as usize) {
                *sharing += items;
            }
        }
    }
}

/// The groups that have one tag, on the way through the sets of their further tags.
#[derive(Default)]
struct Walk {
    tag_count: usize,
    groups: Vec<Group>,
    sharing: Vec<i64>,
    /// Room for the lists of each depth, to be used again.
    levels: Vec<Level>,
    pairs: Pairs,
}

/// A number for every tag of a list; 0 for all others.
#[derive(Default)]
struct Marks {
    of_tag: Vec<u32>,
    /// The tags of the list, in the order in which they come up.
    tags: Vec<u32>,
}

impl Marks {
    /// Counts how many groups of a list have each tag.
    fn count(&mut self, tag_count: usize, groups: &[Group], list: &[Entry]) {
        self.of_tag.resize(tag_count, 0);
        self.tags.clear();
        for entry in list {
            for &tag in further(groups, entry) {
                if let Some(count) = self.of_tag.get_mut(tag as usize) {
                    if *count == 0 {
                        self.tags.push(tag);
                    }
                    *count += 1;
                }
            }
        }
    }

    /// Gives every tag of the list another number.
    fn replace(&mut self, mut by: impl FnMut(u32) -> u32) {
        for &tag in &self.tags {
            if let Some(mark) = self.of_tag.get_mut(tag as usize) {
                *mark = by(*mark);
            }
        }
    }
}

#[derive(Default)]
struct Level {
    /// How many groups of the list have a tag, and then where its own list ends.
    cursors: Marks,
    entries: Vec<Entry>,
    /// Where the list of each tag lies that two groups have.
    lists: Vec<(u32, u32)>,
}

impl Walk {
    fn size(&self, group: u32) -> i64 {
        self.groups.get(group as usize).map_or(0, |group| i64::from(group.size))
    }

    fn add(&mut self, group: u32, items: i64) {
        if let Some(sharing) = self.sharing.get_mut(group as usize) {
            *sharing += items;
        }
    }

    /// Counts a list of groups that have a set of tags in common, with the sign of that set.
    fn visit(&mut self, depth: usize, list: &[Entry], sign: i64) {
        if list.len() <= FEW_GROUPS && self.compare(list, sign) {
            return;
        }
        let items: i64 = list.iter().map(|entry| self.size(entry.group)).sum();
        for entry in list {
            let own = self.size(entry.group);
            self.add(entry.group, sign * (items - own));
        }
        self.narrow(depth, list, -sign);
    }

    /// Visits, for every further tag that two groups of a list have, the list of these groups.
    fn narrow(&mut self, depth: usize, list: &[Entry], sign: i64) {
        if self.levels.len() <= depth {
            self.levels.resize_with(depth + 1, Level::default);
        }
        let Some(slot) = self.levels.get_mut(depth) else { return };
        let mut level = std::mem::take(slot);
        level.split(self.tag_count, &self.groups, list);
        for &(start, end) in &level.lists {
            if let Some(list) = level.entries.get(start as usize..end as usize) {
                self.visit(depth + 1, list, sign);
            }
        }
        if let Some(slot) = self.levels.get_mut(depth) {
            *slot = level;
        }
    }

    /// What visiting a list and all it narrows down to comes to: a pair counts if it has no
    /// further tag in common, and cancels out otherwise. False when that takes too many tags.
    fn compare(&mut self, list: &[Entry], sign: i64) -> bool {
        let mut pairs = std::mem::take(&mut self.pairs);
        let compared = pairs.read(self.tag_count, &self.groups, list);
        if compared {
            for (entry, &(own, size)) in list.iter().zip(&pairs.groups) {
                let others = pairs.groups.iter();
                let apart: i64 =
                    others.map(|&(tags, size)| if tags & own == 0 { size } else { 0 }).sum();
                // Without further tags in common with anybody, it seems apart from itself too.
                let itself = if own == 0 { size } else { 0 };
                self.add(entry.group, sign * (apart - itself));
            }
        }
        self.pairs = pairs;
        compared
    }
}

/// The groups of a short list, with their further tags as bits.
#[derive(Default)]
struct Pairs {
    /// Tags and size of every group. Only tags that two of them have get a bit.
    groups: Vec<(u64, i64)>,
    /// How many groups have a tag, and then its bit and one.
    marks: Marks,
}

impl Pairs {
    /// Reads a list; false when there are more tags than bits.
    fn read(&mut self, tag_count: usize, groups: &[Group], list: &[Entry]) -> bool {
        self.groups.clear();
        self.marks.count(tag_count, groups, list);
        let mut bits = 0;
        self.marks.replace(|count| {
            let shared = count > 1;
            bits += u32::from(shared);
            if shared { bits } else { 0 }
        });
        if bits <= u64::BITS {
            let bit = |tag: &u32| match self.marks.of_tag.get(*tag as usize) {
                None | Some(0) => 0,
                Some(mark) => 1_u64 << (mark - 1),
            };
            let group = |entry: &Entry| {
                let tags = further(groups, entry).iter().map(bit).fold(0, std::ops::BitOr::bitor);
                let size =
                    groups.get(entry.group as usize).map_or(0, |group| i64::from(group.size));
                (tags, size)
            };
            self.groups.extend(list.iter().map(group));
        }
        self.marks.replace(|_| 0);
        bits <= u64::BITS
    }
}

impl Level {
    fn split(&mut self, tag_count: usize, groups: &[Group], list: &[Entry]) {
        self.lists.clear();
        self.cursors.count(tag_count, groups, list);
        let (mut start, lists) = (0, &mut self.lists);
        self.cursors.replace(|count| {
            if count == 1 {
                return ALONE;
            }
            let end = start + count;
            lists.push((start, end));
            std::mem::replace(&mut start, end)
        });
        self.entries.resize(start as usize, Entry::default());
        for entry in list {
            for (from, &tag) in (entry.from + 1..).zip(further(groups, entry)) {
                let cursor = self.cursors.of_tag.get_mut(tag as usize);
                if let Some(cursor) = cursor.filter(|cursor| **cursor != ALONE) {
                    if let Some(slot) = self.entries.get_mut(*cursor as usize) {
                        *slot = Entry { group: entry.group, from };
                    }
                    *cursor += 1;
                }
            }
        }
        self.cursors.replace(|_| 0);
    }
}

/// Marks a tag that only one group of a list has.
const ALONE: u32 = u32::MAX;
