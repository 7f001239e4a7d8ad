//! Slicing vectors: one slicer, scored items, the selection.

use cupel::ScoredItem;
use cupel::diagnostics::ExclusionReason;

use super::build::{Failure, budget, items};
use super::document::View;
use super::run::{Test, same_list};
use super::slicers::slicer;

pub(crate) fn run(test: &Test<'_>, root: &View<'_>) -> Result<(), String> {
    let kind = test.view.required("slicer", test.view.string("slicer")?)?;
    let config = root.table("config")?;
    let views = root.tables("scored_items")?;
    let built = || -> Result<_, Failure> {
        let (slicer, items) = (slicer(kind, config.as_ref()), items(&views));
        // A vector about construction needs no budget.
        let budget = root.has("budget").then(|| budget(root)).transpose();
        Ok((slicer?, budget?, items?))
    };
    let expected = CacheExpectation::read(root)?;
    let mut scores = Vec::new();
    for view in &views {
        scores.push(view.required("score", view.float("score")?)?);
    }
    let Some((slicer, budget, items)) = test.built(built())? else {
        return Ok(());
    };
    let budget = root.required("budget", budget)?;

    let scored: Vec<ScoredItem<'_>> =
        items.iter().zip(scores).map(|(item, score)| ScoredItem::new(item, score)).collect();
    let Some(sliced) = test.outcome(slicer.slice(&scored, &budget))? else {
        return Ok(());
    };
    let contents: Option<Vec<&str>> = sliced
        .indices
        .iter()
        .map(|&index| items.get(index).map(cupel::ContextItem::content))
        .collect();
    let contents =
        contents.ok_or_else(|| format!("positions out of range: {:?}", sliced.indices))?;

    let capped = |(_, reason): &&(usize, ExclusionReason)| {
        matches!(reason, ExclusionReason::CountCapExceeded { .. })
    };
    expected.check(
        &contents,
        sliced.shortfalls.len(),
        sliced.exclusions.iter().filter(capped).count(),
    )
}

/// The `[expected]` table.
struct CacheExpectation<'d> {
    selected: Option<Vec<&'d str>>,
    ordered: Option<Vec<&'d str>>,
    shortfalls: Option<i64>,
    cap_excluded: Option<i64>,
}

impl<'d> CacheExpectation<'d> {
    fn read(root: &View<'d>) -> Result<Self, String> {
        let Some(view) = root.table("expected")? else {
            return Ok(Self {
                selected: None,
                ordered: None,
                shortfalls: None,
                cap_excluded: None,
            });
        };
        Ok(Self {
            selected: view.strings("selected_contents")?,
            ordered: view.strings("ordered_contents")?,
            shortfalls: view.integer("shortfall_count")?,
            cap_excluded: view.integer("cap_excluded_count")?,
        })
    }

    fn check(
        self,
        contents: &[&str],
        shortfalls: usize,
        cap_excluded: usize,
    ) -> Result<(), String> {
        let mut expected = self.selected.ok_or("expected.selected_contents is missing")?;
        let mut actual = contents.to_vec();
        expected.sort_unstable();
        actual.sort_unstable();
        same_list("selected (in any order)", &expected, &actual)?;
        if let Some(ordered) = self.ordered {
            same_list("selected (in order)", &ordered, contents)?;
        }
        same_count("shortfalls", self.shortfalls, shortfalls)?;
        same_count("items cut by a cap", self.cap_excluded, cap_excluded)
    }
}

/// Compares a count when the vector gives one.
pub(crate) fn same_count(what: &str, expected: Option<i64>, actual: usize) -> Result<(), String> {
    match expected {
        Some(expected) if usize::try_from(expected) != Ok(actual) => {
            Err(format!("{what}: expected {expected}, got {actual}"))
        }
        _ => Ok(()),
    }
}
