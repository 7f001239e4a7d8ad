//! Both placers, on lists full of equal scores and equal timestamps.

use crate::items::{self, Blueprint};
use crate::runner::{self, Case, Rng};
use crate::support::stages;

pub(crate) const CASES: usize = 2 * CASES_EACH;
const CASES_EACH: usize = 1_000;

/// A placer that exists in both implementations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Plan {
    Chronological,
    UShaped,
}

impl Plan {
    pub(crate) fn ours(self) -> Box<dyn cupel::Placer> {
        match self {
            Self::Chronological => Box::new(cupel::ChronologicalPlacer),
            Self::UShaped => Box::new(cupel::placer::UShapedPlacer),
        }
    }

    pub(crate) fn theirs(self) -> Box<dyn published::Placer> {
        match self {
            Self::Chronological => Box::new(published::ChronologicalPlacer),
            Self::UShaped => Box::new(published::UShapedPlacer),
        }
    }

    /// Order of these items by the specification.
    pub(crate) fn expected(self, items: &[(&Blueprint, f64)]) -> Vec<usize> {
        match self {
            Self::Chronological => {
                let seconds: Vec<_> = items.iter().map(|(item, _)| item.seconds).collect();
                stages::chronological(&seconds)
            }
            Self::UShaped => {
                let scores: Vec<_> = items.iter().map(|(_, score)| *score).collect();
                stages::u_shaped(&scores)
            }
        }
    }
}

#[derive(Debug, Clone)]
struct PlacerCase {
    plan: Plan,
    items: Vec<(Blueprint, f64)>,
}

impl Case for PlacerCase {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn without(&self, index: usize) -> Self {
        Self { items: items::without(&self.items, index), ..self.clone() }
    }
}

fn check(case: &PlacerCase) -> Result<(), String> {
    let items: Vec<_> = case.items.iter().map(|(item, score)| (item.ours(), *score)).collect();
    let scored: Vec<_> =
        items.iter().map(|(item, score)| cupel::ScoredItem::new(item, *score)).collect();
    let ours = case.plan.ours().place(&scored);

    let scored: Vec<_> = case
        .items
        .iter()
        .map(|(item, score)| published::ScoredItem { item: item.theirs(), score: *score })
        .collect();
    let theirs: Vec<i64> = case.plan.theirs().place(&scored).iter().map(items::their_id).collect();

    let expected: Vec<_> = case.items.iter().map(|(item, score)| (item, *score)).collect();
    let expected = case.plan.expected(&expected);
    let ids = |order: &[usize]| -> Vec<i64> { order.iter().map(|&i| case.items[i].0.id).collect() };
    if ours != expected || ids(&ours) != theirs {
        let (ours, expected) = (ids(&ours), ids(&expected));
        return Err(format!("ours {ours:?}, published {theirs:?}, the text {expected:?}"));
    }
    Ok(())
}

#[test]
fn placers_agree() {
    for (name, plan) in [("chronological", Plan::Chronological), ("u-shaped", Plan::UShaped)] {
        let generate = |rng: &mut Rng| {
            let count = rng.below(16) as i64;
            let item = |id| {
                let score = rng.pick(&[0.0, 0.25, 0.5, 1.0, 1.0, 1.5, -0.5]);
                (Blueprint::random(rng, id, &[0, 5]), score)
            };
            PlacerCase { plan, items: (0..count).map(item).collect() }
        };
        runner::run(name, CASES_EACH, generate, check);
    }
}
