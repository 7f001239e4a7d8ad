//! One node of the tree of kept items, and what is done to it and everything below it.

use std::cmp::Ordering;

use super::item::{Key, StreamItem};
use super::totals::Totals;
use crate::order;

/// A node is split beyond this many children. Adding up its children again is most of the cost
/// of an insertion, so they are few.
const MOST: usize = 32;

/// An item that is kept, with its density key.
#[derive(Clone)]
pub(super) struct Entry<P> {
    density: u64,
    pub(super) item: StreamItem<P>,
}

impl<P> Entry<P> {
    pub(super) fn new(key: &Key, item: StreamItem<P>) -> Self {
        Self { density: key.density, item }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.item.tokens.unsigned_abs()
    }

    pub(super) fn key(&self) -> Key {
        let score = order::descending(self.item.score);
        Key { density: self.density, score, sequence: self.item.sequence }
    }

    /// As comparing keys, but most of the time densities tell.
    fn cmp_key(&self, key: &Key) -> Ordering {
        self.density.cmp(&key.density).then_with(|| self.key().cmp(key))
    }
}

/// Consecutive items in greedy order.
#[derive(Clone)]
pub(super) struct Node<P> {
    pub(super) totals: Totals,
    /// The key of the last item.
    pub(super) last: Key,
    pub(super) children: Children<P>,
}

#[derive(Clone)]
pub(super) enum Children<P> {
    Entries(Vec<Entry<P>>),
    /// All as deep as each other.
    Nodes(Vec<Node<P>>),
}

impl<P> Node<P> {
    pub(super) fn new(children: Children<P>) -> Self {
        let mut node = Self { totals: Totals::NOTHING, last: Key::FIRST, children };
        node.refresh();
        node
    }

    pub(super) fn empty() -> Self {
        Self::new(Children::Entries(Vec::new()))
    }

    /// Adds the children up again after a change.
    fn refresh(&mut self) {
        let mut totals = Totals::NOTHING;
        self.last = Key::FIRST;
        match &self.children {
            Children::Entries(entries) => {
                for entry in entries {
                    totals = totals.then(Totals::of(entry.tokens()));
                }
                if let Some(last) = entries.last() {
                    self.last = last.key();
                }
            }
            Children::Nodes(nodes) => {
                for node in nodes {
                    totals = totals.then(node.totals);
                }
                if let Some(last) = nodes.last() {
                    self.last = last.last;
                }
            }
        }
        self.totals = totals;
    }

    /// Puts an entry in its place, behind its equals; returns what was split off to come next.
    pub(super) fn insert(&mut self, key: &Key, entry: Entry<P>) -> Option<Self> {
        let rest = match &mut self.children {
            Children::Entries(entries) => {
                let place = entries.partition_point(|e| e.cmp_key(key) != Ordering::Greater);
                entries.insert(place, entry);
                split(entries).map(Children::Entries)
            }
            Children::Nodes(nodes) => {
                let place = nodes.partition_point(|node| node.last <= *key);
                let place = place.min(nodes.len().saturating_sub(1));
                let beside = nodes.get_mut(place).and_then(|node| node.insert(key, entry));
                if let Some(beside) = beside {
                    nodes.insert(place + 1, beside);
                }
                split(nodes).map(Children::Nodes)
            }
        };
        self.refresh();
        rest.map(Self::new)
    }

    /// The largest capacity that some future leaves where an entry of this key would go.
    pub(super) fn reach_at(&self, key: &Key, mut front: u64) -> u64 {
        match &self.children {
            Children::Entries(entries) => {
                for entry in entries.iter().take_while(|e| e.cmp_key(key) != Ordering::Greater) {
                    front = Totals::of(entry.tokens()).reach(front);
                }
                front
            }
            Children::Nodes(nodes) => {
                for node in nodes {
                    if node.last > *key {
                        return node.reach_at(key, front);
                    }
                    front = node.totals.reach(front);
                }
                front
            }
        }
    }

    /// Takes out what is not live with this reach in front.
    pub(super) fn drop_dead(&mut self, mut front: u64, dropped: &mut Vec<StreamItem<P>>) {
        if front >= self.totals.need {
            return;
        }
        match &mut self.children {
            Children::Entries(entries) => {
                let live = |entry: &Entry<P>| {
                    let live = entry.tokens() <= front;
                    if live {
                        front = Totals::of(entry.tokens()).reach(front);
                    }
                    live
                };
                retain(entries, live, dropped);
            }
            Children::Nodes(nodes) => {
                for node in &mut *nodes {
                    node.drop_dead(front, dropped);
                    front = node.totals.reach(front);
                }
                join_short(nodes);
            }
        }
        self.refresh();
    }

    /// Takes out every entry that `keep` does not want; asks in order.
    pub(super) fn retain(
        &mut self,
        keep: &mut dyn FnMut(&Entry<P>) -> bool,
        dropped: &mut Vec<StreamItem<P>>,
    ) {
        let before = dropped.len();
        match &mut self.children {
            Children::Entries(entries) => retain(entries, keep, dropped),
            Children::Nodes(nodes) => {
                nodes.iter_mut().for_each(|node| node.retain(keep, dropped));
                join_short(nodes);
            }
        }
        if dropped.len() > before {
            self.refresh();
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Entry<P>> {
        match &self.children {
            Children::Entries(entries) => {
                entries.get(entries.binary_search_by(|entry| entry.cmp_key(key)).ok()?)
            }
            Children::Nodes(nodes) => {
                nodes.get(nodes.partition_point(|node| node.last < *key))?.get(key)
            }
        }
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<StreamItem<P>> {
        let item = match &mut self.children {
            Children::Entries(entries) => {
                let place = entries.binary_search_by(|entry| entry.cmp_key(key)).ok()?;
                entries.remove(place).item
            }
            Children::Nodes(nodes) => {
                let place = nodes.partition_point(|node| node.last < *key);
                let item = nodes.get_mut(place)?.remove(key)?;
                join_short(nodes);
                item
            }
        };
        self.refresh();
        Some(item)
    }

    /// What a greedy pass leaves of `left` in front of the first item at or behind `key`.
    pub(super) fn remaining_before(&self, key: &Key, left: u64) -> u64 {
        if left < self.totals.smallest {
            return left;
        }
        if self.totals.sum <= left && self.last < *key {
            return left - self.totals.sum;
        }
        match &self.children {
            Children::Entries(entries) => entries
                .iter()
                .take_while(|entry| entry.cmp_key(key) == Ordering::Less)
                .fold(left, |left, entry| left.checked_sub(entry.tokens()).unwrap_or(left)),
            Children::Nodes(nodes) => {
                let mut left = left;
                for node in nodes {
                    left = node.remaining_before(key, left);
                    if node.last >= *key {
                        break;
                    }
                }
                left
            }
        }
    }

    /// Moves all items out, in order.
    /// The entries in order, leaf by leaf.
    pub(super) fn leaves_into<'a>(&'a self, leaves: &mut Vec<&'a [Entry<P>]>) {
        match &self.children {
            Children::Entries(entries) => leaves.push(entries),
            Children::Nodes(nodes) => nodes.iter().for_each(|node| node.leaves_into(leaves)),
        }
    }

    pub(super) fn drain_into(self, items: &mut Vec<StreamItem<P>>) {
        match self.children {
            Children::Entries(entries) => items.extend(entries.into_iter().map(|entry| entry.item)),
            Children::Nodes(nodes) => nodes.into_iter().for_each(|node| node.drain_into(items)),
        }
    }

    fn len(&self) -> usize {
        match &self.children {
            Children::Entries(entries) => entries.len(),
            Children::Nodes(nodes) => nodes.len(),
        }
    }

    /// Takes over the children of the node that comes next.
    fn append(&mut self, next: Self) {
        match (&mut self.children, next.children) {
            (Children::Entries(entries), Children::Entries(mut more)) => entries.append(&mut more),
            (Children::Nodes(nodes), Children::Nodes(mut more)) => nodes.append(&mut more),
            // Siblings are as deep as each other, so this does not happen.
            (Children::Nodes(nodes), more) => nodes.push(Self::new(more)),
            (Children::Entries(_), more) => {
                let own = std::mem::replace(&mut self.children, Children::Nodes(Vec::new()));
                self.children = Children::Nodes(vec![Self::new(own), Self::new(more)]);
            }
        }
        self.refresh();
    }
}

/// The second half, if there are too many.
fn split<T>(children: &mut Vec<T>) -> Option<Vec<T>> {
    (children.len() > MOST).then(|| children.split_off(MOST / 2))
}

/// Drops empty nodes and joins short neighbours, so that losses do not leave many nodes behind.
/// Half of what a node holds at most, so that it is not split again at once.
fn join_short<P>(nodes: &mut Vec<Node<P>>) {
    let mut place = 0;
    while let Some(len) = nodes.get(place).map(Node::len) {
        let next = nodes.get(place + 1).map(Node::len);
        if len == 0 {
            nodes.remove(place);
        } else if next.is_some_and(|next| len + next <= MOST / 2) {
            let next = nodes.remove(place + 1);
            if let Some(node) = nodes.get_mut(place) {
                node.append(next);
            }
        } else {
            place += 1;
        }
    }
}

/// Moves what is not wanted out; there is seldom more than one.
fn retain<P>(
    entries: &mut Vec<Entry<P>>,
    mut keep: impl FnMut(&Entry<P>) -> bool,
    dropped: &mut Vec<StreamItem<P>>,
) {
    let mut place = 0;
    while let Some(entry) = entries.get(place) {
        if keep(entry) {
            place += 1;
        } else {
            dropped.push(entries.remove(place).item);
        }
    }
}
