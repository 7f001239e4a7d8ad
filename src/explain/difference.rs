//! Changes from one selection to the next.

use std::collections::VecDeque;

use foldhash::HashMap;

use crate::diagnostics::SelectionReport;
use crate::model::{ContextItem, ContextKind};

/// Changes from one call to the next.
///
/// Items of two calls are the same when their kind and their text are: two reports may have come
/// from two files, so there is nothing else to go by.
///
/// ```
/// use cupel::explain::Explanation;
/// use cupel::{ContextBudget, ContextItem, Policy};
///
/// let call = |texts: &[&str]| {
///     let items: Result<Vec<_>, _> = texts.iter().map(|text| ContextItem::new(*text, 10)).collect();
///     let report = Policy::chat().dry_run(&items?, &ContextBudget::builder(30).build()?)?;
///     Ok::<_, cupel::CupelError>(Explanation::new(report))
/// };
/// let difference = call(&["a", "b", "d"])?.since(&call(&["a", "b", "c"])?);
/// assert_eq!((difference.prefix_items, difference.prefix_tokens), (2, 20));
/// assert_eq!((difference.kept.as_slice(), difference.new.as_slice()), ([0, 1].as_slice(), [2].as_slice()));
/// assert_eq!(difference.dropped.len(), 1);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Number of items at the beginning that both selections have in common.
    pub prefix_items: usize,
    /// Their tokens, as the later call counts them.
    pub prefix_tokens: i64,
    /// Selected now and before, by their position in [`SelectionReport::included`].
    pub kept: Vec<usize>,
    /// Selected now and not before, likewise.
    pub new: Vec<usize>,
    /// Selected before and not now.
    pub dropped: Vec<DroppedItem>,
    /// Position of each kept item now, in the order of the call before.
    pub(super) kept_before: Vec<usize>,
}

/// An item that was selected in the call before and is not now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedItem {
    /// Its position in the earlier [`SelectionReport::included`].
    pub before: usize,
    /// Its position in the later [`SelectionReport::excluded`]; none when it is no candidate any
    /// more, or not among those that the report lists.
    pub now: Option<usize>,
}

type Key<'a> = (&'a ContextKind, &'a str);

fn key(item: &ContextItem) -> Key<'_> {
    (item.kind(), item.content())
}

/// Positions by key; the first of equal ones is handed out first.
struct Positions<'a>(HashMap<Key<'a>, VecDeque<usize>>);

impl<'a> Positions<'a> {
    fn of(items: impl Iterator<Item = &'a ContextItem>) -> Self {
        let mut positions: HashMap<Key<'a>, VecDeque<usize>> = HashMap::default();
        for (position, item) in items.enumerate() {
            positions.entry(key(item)).or_default().push_back(position);
        }
        Self(positions)
    }

    fn take(&mut self, item: &'a ContextItem) -> Option<usize> {
        self.0.get_mut(&key(item))?.pop_front()
    }
}

impl Difference {
    /// Changes from the selection `before` to the selection `now`.
    pub fn between(before: &SelectionReport, now: &SelectionReport) -> Self {
        let mut difference = Self::default();
        let together = before.included.iter().zip(&now.included);
        for (_, now) in together.take_while(|(before, now)| key(&before.item) == key(&now.item)) {
            difference.prefix_items += 1;
            difference.prefix_tokens =
                difference.prefix_tokens.saturating_add(now.item.tokens().max(0));
        }
        let mut earlier = Positions::of(before.included.iter().map(|entry| &entry.item));
        let mut now_at = vec![None; before.included.len()];
        for (position, entry) in now.included.iter().enumerate() {
            match earlier.take(&entry.item) {
                Some(kept) => {
                    difference.kept.push(position);
                    now_at.get_mut(kept).into_iter().for_each(|at| *at = Some(position));
                }
                None => difference.new.push(position),
            }
        }
        let mut excluded = Positions::of(now.excluded.iter().map(|entry| &entry.item));
        for (position, (entry, now_at)) in before.included.iter().zip(now_at).enumerate() {
            match now_at {
                Some(now) => difference.kept_before.push(now),
                None => {
                    let now = excluded.take(&entry.item);
                    difference.dropped.push(DroppedItem { before: position, now });
                }
            }
        }
        difference
    }
}
