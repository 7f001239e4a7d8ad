//! Scoring vectors: one scorer, its scores.

use super::build::{Failure, items};
use super::document::View;
use super::run::{Test, epsilon, same_score};
use super::scorers::{Settings, build};

pub(crate) fn run(test: &Test<'_>, root: &View<'_>) -> Result<(), String> {
    let views = root.tables("items")?;
    let kind = test.view.required("scorer", test.view.string("scorer")?)?;
    let settings = Settings::of_config(root.table("config")?);
    let built = || -> Result<_, Failure> {
        let (scorer, items) = (build(kind, &settings), items(&views));
        Ok((scorer?, items?))
    };
    let expected = root.tables("expected")?;
    let epsilon = epsilon(root)?;
    let Some((scorer, items)) = test.built(built())? else {
        return Ok(());
    };
    if expected.is_empty() {
        return Err("the vector expects nothing".to_owned());
    }

    let mut batch = vec![f64::NAN; items.len()];
    scorer.score_all(&items, &mut batch);
    // Entries with the same content stand for the items of that content in turn.
    let mut matched = vec![false; items.len()];
    for view in &expected {
        let content = view.required("content", view.string("content")?)?;
        let score = view.required("score_approx", view.float("score_approx")?)?;
        let position = (0..items.len())
            .find(|&position| !matched[position] && items[position].content() == content)
            .ok_or_else(|| format!("no item left with content {content:?}"))?;
        matched[position] = true;
        let single = scorer.score(&items[position], &items);
        same_score(&format!("{content:?} alone"), score, single, epsilon)?;
        same_score(&format!("{content:?} in a batch"), score, batch[position], epsilon)?;
    }
    Ok(())
}
