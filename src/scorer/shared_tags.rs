//! Counts the items that share a tag, for groups of items with the same set of tags.
//!
//! Groups of up to [`MAX_TAGS`] tags are counted by inclusion and exclusion: the items with tag a or b are
//! those with a, plus those with b, less those with both. The recursion visits each set of tags that at
//! least two groups have in common. That takes at most 255 steps for a group of eight tags, however many
//! groups there are.
//!
//! Groups of more tags are counted by sets of bits. Every item has a bit, and every common tag a set of
//! its items. The items that share a tag with a group are the union of its tags' sets: 64 items a step,
//! but a pass over all items for every tag of the group.

use std::ops::Range;

use hashbrown::HashMap;

use crate::model::ContextItem;

type Hasher = foldhash::fast::RandomState;

/// Most tags of a group that is counted by inclusion and exclusion.
pub(super) const MAX_TAGS: usize = 8;

/// Items grouped by their set of tags: items of one group share a tag with the same others.
pub(super) struct TagGroups {
    /// The group of every item; none for items without tags.
    pub(super) group_of_item: Vec<Option<u32>>,
    /// For every group, the number of its items.
    sizes: Vec<u32>,
    /// For every group, the tags it has in common with another one, the rarest first.
    tags: Vec<Vec<u32>>,
    /// Number of such tags.
    tag_count: usize,
}

impl TagGroups {
    pub(super) fn of(items: &[ContextItem]) -> Self {
        let mut numbers = TagNumbers::default();
        let mut groups: HashMap<Vec<u32>, u32, Hasher> = HashMap::default();
        let mut sizes: Vec<u32> = Vec::new();
        let mut set = Vec::new();
        let group_of_item = items
            .iter()
            .map(|item| {
                set.clear();
                set.extend(item.tags().iter().map(|tag| numbers.number(tag)));
                if set.is_empty() {
                    return None;
                }
                set.sort_unstable();
                set.dedup();
                let group = *groups.entry_ref(set.as_slice()).or_insert(sizes.len() as u32);
                match sizes.get_mut(group as usize) {
                    Some(size) => *size += 1,
                    None => sizes.push(1),
                }
                Some(group)
            })
            .collect();
        let mut tags = vec![Vec::new(); sizes.len()];
        for (set, group) in groups {
            if let Some(slot) = tags.get_mut(group as usize) {
                *slot = set;
            }
        }
        let tag_count = renumber_by_rarity(&mut tags, numbers.len());
        Self { group_of_item, sizes, tags, tag_count }
    }

    fn size(&self, group: u32) -> usize {
        self.sizes.get(group as usize).map_or(0, |size| *size as usize)
    }
}

/// Numbers for tags. Tags that differ only in ASCII case are one tag.
#[derive(Default)]
struct TagNumbers {
    /// Tags of up to 15 bytes. With their length they fit a number, so comparing two looks at no other
    /// memory.
    short: HashMap<u128, u32, Hasher>,
    long: HashMap<String, u32, Hasher>,
}

impl TagNumbers {
    fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    fn number(&mut self, tag: &str) -> u32 {
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

/// Leaves out the tags that only one group has, and numbers the others from the rarest on. Returns how
/// many they are.
fn renumber_by_rarity(groups: &mut [Vec<u32>], tag_count: usize) -> usize {
    let mut groups_with = vec![0_u32; tag_count];
    for &tag in groups.iter().flatten() {
        if let Some(groups) = groups_with.get_mut(tag as usize) {
            *groups += 1;
        }
    }
    let mut by_rarity: Vec<(u32, u32)> =
        groups_with.into_iter().zip(0..).filter(|(groups, _)| *groups > 1).collect();
    by_rarity.sort_unstable();
    let mut number_of = vec![None; tag_count];
    for (number, (_, tag)) in (0_u32..).zip(&by_rarity) {
        if let Some(slot) = number_of.get_mut(*tag as usize) {
            *slot = Some(number);
        }
    }
    for tags in groups {
        let number = |tag: &u32| number_of.get(*tag as usize).copied().flatten();
        *tags = tags.iter().filter_map(number).collect();
        tags.sort_unstable();
    }
    by_rarity.len()
}

/// For every group, the number of items (its own included) that share a tag with it.
pub(super) fn items_sharing_a_tag(groups: &TagGroups) -> Vec<i64> {
    let mut sharing: Vec<i64> = groups.sizes.iter().map(|size| i64::from(*size)).collect();
    // A group without common tags shares with nobody else.
    let with_tags = (0_u32..).zip(&groups.tags).filter(|(_, tags)| !tags.is_empty());
    let (few, many): (Vec<Member<'_>>, Vec<Member<'_>>) = with_tags
        .map(|(group, tags)| (group, tags.as_slice()))
        .partition(|(_, tags)| tags.len() <= MAX_TAGS);
    Subsets { groups, sharing: &mut sharing }.visit_common_tags(&few, 1);
    if !many.is_empty() {
        count_with_bits(groups, &few, &many, &mut sharing);
    }
    sharing
}

/// A group on a list of groups that have a set of tags in common, and its tags behind that set.
type Member<'a> = (u32, &'a [u32]);

/// The tags of a group, each with what stays of the group behind it.
fn by_tag<'a>(
    &(group, mut tags): &Member<'a>,
) -> impl Iterator<Item = (u32, Member<'a>)> + use<'a> {
    std::iter::from_fn(move || {
        let (&tag, further) = tags.split_first()?;
        tags = further;
        Some((tag, (group, further)))
    })
}

/// Counts by inclusion and exclusion.
struct Subsets<'a> {
    groups: &'a TagGroups,
    sharing: &'a mut [i64],
}

impl Subsets<'_> {
    /// Lists of up to this many groups are compared pair by pair.
    const FEW_GROUPS: usize = 24;

    fn size(&self, group: u32) -> i64 {
        self.groups.size(group) as i64
    }

    fn add(&mut self, group: u32, items: i64) {
        if let Some(sharing) = self.sharing.get_mut(group as usize) {
            *sharing += items;
        }
    }

    /// Visits, for every tag that at least two groups of a list have, the list of these groups.
    fn visit_common_tags(&mut self, list: &[Member<'_>], sign: i64) {
        // A long list goes through every tag once, a short one through its own tags.
        if list.len() >= self.groups.tag_count {
            let mut lists: Vec<Vec<Member<'_>>> = vec![Vec::new(); self.groups.tag_count];
            for (tag, member) in list.iter().flat_map(by_tag) {
                lists.get_mut(tag as usize).into_iter().for_each(|list| list.push(member));
            }
            for list in lists.into_iter().filter(|list| list.len() > 1) {
                self.visit(&list, sign);
            }
            return;
        }
        let mut tagged: Vec<(u32, Member<'_>)> = list.iter().flat_map(by_tag).collect();
        tagged.sort_unstable_by_key(|(tag, _)| *tag);
        for with_tag in tagged.chunk_by(|(a, _), (b, _)| a == b).filter(|list| list.len() > 1) {
            let list: Vec<Member<'_>> = with_tag.iter().map(|(_, member)| *member).collect();
            self.visit(&list, sign);
        }
    }

    /// Counts a list of groups that have a set of tags in common, with the sign of that set.
    fn visit(&mut self, list: &[Member<'_>], sign: i64) {
        if list.len() <= Self::FEW_GROUPS {
            return self.compare(list, sign);
        }
        let items: i64 = list.iter().map(|(group, _)| self.size(*group)).sum();
        for &(group, _) in list {
            let own = self.size(group);
            self.add(group, sign * (items - own));
        }
        self.visit_common_tags(list, -sign);
    }

    /// Gives the result of a visit pair by pair: a pair with a further tag in common cancels out.
    fn compare(&mut self, list: &[Member<'_>], sign: i64) {
        for (position, &(group, tags)) in list.iter().enumerate() {
            for &(other, other_tags) in list.iter().skip(position + 1) {
                if !tags.iter().any(|tag| other_tags.contains(tag)) {
                    self.add(group, sign * self.size(other));
                    self.add(other, sign * self.size(group));
                }
            }
        }
    }
}

/// Adds to `sharing`, for each of `many`, the items of all others that share a tag with it, and for each
/// of `few` those of `many`.
fn count_with_bits(all: &TagGroups, few: &[Member<'_>], many: &[Member<'_>], sharing: &mut [i64]) {
    let bits = Bits::of(all, few, many);
    let mut union = vec![0_u64; bits.all_items.div_ceil(64)];
    let mut add = |(group, tags): Member<'_>, items: usize| {
        let own = bits
            .items_of
            .get(group as usize)
            .map_or(0, |own| own.end.min(items).saturating_sub(own.start) as i64);
        bits.unite(tags, items, &mut union);
        if let Some(sharing) = sharing.get_mut(group as usize) {
            *sharing += ones(&union, items) - own;
        }
    };
    many.iter().for_each(|&member| add(member, bits.all_items));
    few.iter().for_each(|&member| add(member, bits.items_of_many));
}

/// Number of bits that are set among the first `items`.
fn ones(words: &[u64], items: usize) -> i64 {
    let (whole, rest) = (items / 64, items % 64);
    let full = words.iter().take(whole).map(|word| i64::from(word.count_ones())).sum::<i64>();
    let mask = (1_u64 << rest) - 1;
    full + words.get(whole).map_or(0, |word| i64::from((word & mask).count_ones()))
}

struct Bits {
    /// Bits of each group's items. Groups of many tags come first.
    items_of: Vec<Range<usize>>,
    items_of_many: usize,
    all_items: usize,
    tags: Vec<TagItems>,
}

/// Items that have a tag.
enum TagItems {
    /// A set of bits, for a tag that is so common that its list of items would be no shorter.
    Set(Vec<u64>),
    /// Groups in the order of their bits.
    Groups(Vec<u32>),
}

impl Bits {
    fn of(all: &TagGroups, few: &[Member<'_>], many: &[Member<'_>]) -> Self {
        let mut items_of = vec![0..0; all.sizes.len()];
        let mut groups_of = vec![Vec::new(); all.tag_count];
        let mut all_items = 0;
        for &(group, tags) in many.iter().chain(few) {
            let items = all_items..all_items + all.size(group);
            all_items = items.end;
            for &tag in tags {
                if let Some(groups) = groups_of.get_mut(tag as usize) {
                    groups.push(group);
                }
            }
            if let Some(slot) = items_of.get_mut(group as usize) {
                *slot = items;
            }
        }
        let items_of_many = many.iter().map(|(group, _)| all.size(*group)).sum();
        let mut bits = Self { items_of, items_of_many, all_items, tags: Vec::new() };
        let words = all_items.div_ceil(64);
        for groups in groups_of {
            let items: usize = groups.iter().map(|&group| all.size(group)).sum();
            bits.tags.push(if items >= words {
                let mut set = vec![0; words];
                bits.set_groups(&groups, usize::MAX, &mut set);
                TagItems::Set(set)
            } else {
                TagItems::Groups(groups)
            });
        }
        bits
    }

    /// Sets the bits of all items of some groups, up to a limit.
    fn set_groups(&self, groups: &[u32], limit: usize, set: &mut [u64]) {
        let items_of = groups.iter().filter_map(|&group| self.items_of.get(group as usize));
        for item in items_of.take_while(|items| items.start < limit).cloned().flatten() {
            if let Some(word) = set.get_mut(item / 64) {
                *word |= 1 << (item % 64);
            }
        }
    }

    /// Sets `union` to the items, among the first `items`, that have one of the tags.
    fn unite(&self, tags: &[u32], items: usize, union: &mut [u64]) {
        let Some(union) = union.get_mut(..items.div_ceil(64)) else { return };
        union.fill(0);
        for tag in tags.iter().filter_map(|&tag| self.tags.get(tag as usize)) {
            match tag {
                TagItems::Groups(groups) => self.set_groups(groups, items, union),
                TagItems::Set(set) => {
                    union.iter_mut().zip(set).for_each(|(word, set)| *word |= set);
                }
            }
        }
    }
}
