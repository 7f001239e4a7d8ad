//! Assertions about where the selected items were placed.
//!
//! They say something only about a placer whose order is known. A
//! [`UShapedPlacer`](crate::UShapedPlacer) puts the highest score first and the second highest
//! last.

use std::cmp::Ordering;
use std::iter;

use super::assertions::assertions;
use super::text;
use crate::diagnostics::IncludedItem;
use crate::order;

assertions! {
    /// The first or the last included item satisfies the predicate. The message tells where the
    /// first match is, if there is one.
    "PlaceItemAtEdge": place_item_at_edge, try_place_item_at_edge
    |report, predicate: impl FnMut(&IncludedItem) -> bool| {
        let (count, last) = (report.included.len(), report.included.len().saturating_sub(1));
        let matches: Vec<bool> = report.included.iter().map(predicate).collect();
        if matches.first() == Some(&true) || matches.last() == Some(&true) {
            return None;
        }
        Some(match matches.iter().position(|matches| *matches) {
            Some(actual) => format!(
                " failed: item matching predicate was at index {actual} (not at edge). \
                 Edge positions: 0 and {last}. Included had {count} items."
            ),
            None => " failed: no item in Included matched the predicate.".to_owned(),
        })
    }

    /// The `n` best included items are at the `n` outermost positions: 0, last, 1, last − 1, ….
    ///
    /// Which of them is at which of these positions does not matter, and of items that tie for
    /// the `n`-th place any will do. When `n` is the number of included items, every position is
    /// outermost, and the order counts instead: scores may not rise from the edges inward. When
    /// `n` is larger, the assertion does not hold.
    "PlaceTopNScoredAtEdges": place_top_n_scored_at_edges, try_place_top_n_scored_at_edges
    |report, n: usize| {
        let inward: Vec<Placed<'_>> = from_the_edges_inward(&report.included).collect();
        let mut ranked = inward.clone();
        // Stable: of equal scores the outermost comes first, so a tie never counts as a failure.
        ranked.sort_by_key(Placed::rank_key);
        let (misplaced, details) = match n.cmp(&inward.len()) {
            Ordering::Less => {
                let elsewhere = ranked.iter().take(n).filter(|placed| placed.depth >= n);
                (elsewhere.count(), String::new())
            }
            Ordering::Equal => {
                let pairs = inward.iter().zip(&ranked);
                let scores = text::list(inward.iter().map(|placed| placed.included.score));
                (
                    pairs.filter(|(placed, best)| placed.rank_key() != best.rank_key()).count(),
                    format!(" Scores must not rise from the edges inward, but were [{scores}]."),
                )
            }
            Ordering::Greater => {
                let count = inward.len();
                (n - count, format!(" Included had only {count} items, but n was {n}."))
            }
        };
        if misplaced == 0 {
            return None;
        }
        let items = text::list(ranked.iter().take(n).map(Placed::describe));
        let positions = text::list(inward.iter().take(n).map(|placed| placed.index));
        Some(format!(
            "({n}) failed: {misplaced} of the top-{n} scored items were not at expected edge \
             positions. Top-{n} items (by score): [{items}]. \
             Expected edge positions: [{positions}].{details}"
        ))
    }
}

/// An included item and where it is.
#[derive(Clone)]
struct Placed<'a> {
    /// Its place on the way 0, last, 1, last − 1, ….
    depth: usize,
    index: usize,
    included: &'a IncludedItem,
}

impl Placed<'_> {
    fn rank_key(&self) -> u64 {
        order::descending(self.included.score)
    }

    fn describe(&self) -> String {
        let IncludedItem { item, score, .. } = self.included;
        format!("(kind={}, score={score}, idx={})", item.kind(), self.index)
    }
}

fn from_the_edges_inward(included: &[IncludedItem]) -> impl Iterator<Item = Placed<'_>> {
    let mut rest = included.iter().enumerate();
    let mut from_left = false;
    let alternating = iter::from_fn(move || {
        from_left = !from_left;
        if from_left { rest.next() } else { rest.next_back() }
    });
    alternating.enumerate().map(|(depth, (index, included))| Placed { depth, index, included })
}
