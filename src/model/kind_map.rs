//! Map from kinds to values, in the order they were added. Fast for few kinds and for many.

use std::fmt;

use hashbrown::HashMap;

use super::ContextKind;

/// Values by kind. A handful is scanned, which beats hashing short strings; more are hashed.
#[derive(Clone)]
pub(crate) struct KindMap<V> {
    entries: Vec<(ContextKind, V)>,
    /// Empty while there are few entries.
    positions: HashMap<ContextKind, usize, foldhash::fast::RandomState>,
}

/// Up to this many entries are scanned.
const FEW: usize = 8;

impl<V> KindMap<V> {
    /// Position of a kind among the entries.
    pub(crate) fn position(&self, kind: &ContextKind) -> Option<usize> {
        if self.positions.is_empty() {
            self.entries.iter().position(|(known, _)| known == kind)
        } else {
            self.positions.get(kind).copied()
        }
    }

    pub(crate) fn get(&self, kind: &ContextKind) -> Option<&V> {
        self.entries.get(self.position(kind)?).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, kind: &ContextKind) -> Option<&mut V> {
        let position = self.position(kind)?;
        self.entries.get_mut(position).map(|(_, value)| value)
    }

    /// The value of a kind, which gets `new` when it has none yet.
    pub(crate) fn get_or_insert(&mut self, kind: &ContextKind, new: V) -> Option<&mut V> {
        let position = match self.position(kind) {
            Some(position) => position,
            None => {
                self.entries.push((kind.clone(), new));
                let last = self.entries.len() - 1;
                if self.entries.len() == FEW + 1 {
                    let kinds = self.entries.iter().map(|(kind, _)| kind.clone());
                    self.positions = kinds.zip(0..).collect();
                } else if self.entries.len() > FEW {
                    self.positions.insert(kind.clone(), last);
                }
                last
            }
        };
        self.entries.get_mut(position).map(|(_, value)| value)
    }

    /// Adds a kind; false when it is there already, and nothing changes.
    pub(crate) fn insert(&mut self, kind: &ContextKind, value: V) -> bool {
        let before = self.entries.len();
        self.get_or_insert(kind, value);
        self.entries.len() > before
    }

    /// The entries, in the order they were added.
    pub(crate) fn entries(&self) -> &[(ContextKind, V)] {
        &self.entries
    }
}

impl<V> Default for KindMap<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), positions: HashMap::default() }
    }
}

impl<V: PartialEq> PartialEq for KindMap<V> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<V: fmt::Debug> fmt::Debug for KindMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_kinds_are_found_whatever_their_case() {
        let mut map = KindMap::default();
        for number in 0..100_usize {
            assert!(map.insert(&ContextKind::new(format!("Kind-{number}")).unwrap(), number));
            for known in [0, number / 2, number] {
                let kind = ContextKind::new(format!("kIND-{known}")).unwrap();
                assert_eq!(map.get(&kind), Some(&known), "of {number}");
                assert!(!map.insert(&kind, 0));
            }
            assert_eq!(map.get(&ContextKind::message()), None);
        }
        assert_eq!(map.entries().len(), 100);
        assert_eq!(map.entries()[41].1, 41);
    }
}
