//! The kept items in greedy order, in a tree that knows what every part of it adds up to.

use super::item::{Key, StreamItem, StreamOrder};
use super::node::{Children, Entry, Node};

/// Kept items by key.
///
/// A B-tree whose nodes carry totals: whatever can be told from the totals of a node is told
/// without a look at what is below it.
#[derive(Clone)]
pub(super) struct Tree<P> {
    root: Node<P>,
    order: StreamOrder,
}

impl<P> Tree<P> {
    pub(super) fn new(order: StreamOrder) -> Self {
        Self { root: Node::empty(), order }
    }

    pub(super) fn order(&self) -> StreamOrder {
        self.order
    }

    pub(super) fn len(&self) -> usize {
        self.root.totals.len
    }

    /// The key of the last item; before everything when there is none.
    pub(super) fn last(&self) -> &Key {
        &self.root.last
    }

    /// The largest capacity that some future leaves behind everything; of live items only.
    pub(super) fn reach(&self, budget: u64) -> u64 {
        self.root.totals.reach(budget)
    }

    /// The largest capacity that some future leaves where an item of this key would go.
    pub(super) fn reach_at(&self, key: &Key, budget: u64) -> u64 {
        self.root.reach_at(key, budget)
    }

    pub(super) fn insert(&mut self, key: &Key, item: StreamItem<P>) {
        if let Some(beside) = self.root.insert(key, Entry::new(key, item)) {
            let root = std::mem::replace(&mut self.root, Node::empty());
            self.root = Node::new(Children::Nodes(vec![root, beside]));
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&StreamItem<P>> {
        self.root.get(key).map(|entry| &entry.item)
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<StreamItem<P>> {
        let item = self.root.remove(key);
        self.lower();
        item
    }

    /// Takes out what no future could select with this budget, if nothing is ever taken back.
    pub(super) fn drop_dead(&mut self, budget: u64) -> Vec<StreamItem<P>> {
        let mut dropped = Vec::new();
        self.root.drop_dead(budget, &mut dropped);
        self.lower();
        dropped
    }

    /// Takes out every entry that `keep` does not want; asks in order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Entry<P>) -> bool) -> Vec<StreamItem<P>> {
        let mut dropped = Vec::new();
        self.root.retain(&mut keep, &mut dropped);
        self.lower();
        dropped
    }

    /// What a greedy pass leaves of the budget in front of the first item at or behind `key`.
    pub(super) fn remaining_before(&self, key: &Key, budget: u64) -> u64 {
        self.root.remaining_before(key, budget)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<P>> {
        let mut leaves = Vec::new();
        self.root.leaves_into(&mut leaves);
        leaves.into_iter().flatten()
    }

    pub(super) fn into_items(self) -> Vec<StreamItem<P>> {
        let mut items = Vec::with_capacity(self.len());
        self.root.drain_into(&mut items);
        items
    }

    /// Takes away a root that has no choice to offer.
    fn lower(&mut self) {
        while let Children::Nodes(nodes) = &mut self.root.children {
            if nodes.len() > 1 {
                break;
            }
            self.root = nodes.pop().unwrap_or_else(Node::empty);
        }
    }
}
