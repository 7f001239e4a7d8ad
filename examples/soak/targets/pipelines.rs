//! Any pipeline over any items: every candidate once, the ceiling, one outcome however it is run.

use std::collections::HashMap;

use cupel::diagnostics::ExclusionReason;
use cupel::{ContextBudget, ContextItem, CupelError, OverflowStrategy, Pipeline};

use super::ensure;
use super::parts::{budget, items, pipeline};
use super::random::Random;

pub(crate) fn case(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let (pipeline, items, budget) =
        (pipeline(&mut random), items(&mut random), budget(&mut random));
    check(&pipeline, &items, &budget)
        .map_err(|promise| format!("{promise}\n{pipeline:?}\n{budget:?}\n{items:#?}"))
}

fn check(pipeline: &Pipeline, items: &[ContextItem], budget: &ContextBudget) -> Result<(), String> {
    let outcome = pipeline.run(items, budget);
    let positions = outcome.as_ref().map(|selected| positions(items, selected));
    let again = pipeline.run(items, budget);
    let again = again.as_ref().map(|selected| self::positions(items, selected));
    ensure(positions == again, || format!("a second run: {positions:?}, {again:?}"))?;
    // The same in other memory: addresses and hash seeds decide nothing.
    let copies = copies(items);
    let copied = pipeline.run(&copies, budget);
    let copied = copied.as_ref().map(|selected| self::positions(&copies, selected));
    ensure(positions == copied, || format!("run on copies: {positions:?}, {copied:?}"))?;

    let report = pipeline.dry_run(items, budget);
    let (selected, report) = match (&outcome, report) {
        (Ok(selected), Ok(report)) => (selected, report),
        (Err(error), Err(dry)) => {
            ensure(*error == dry, || format!("run: {error}, dry run: {dry}"))?;
            let contract = matches!(error, CupelError::Contract { .. });
            return ensure(!contract, || format!("a contract was broken: {error}"));
        }
        (run, dry) => return Err(format!("run: {run:?}, dry run: {dry:?}")),
    };
    let included: Vec<ContextItem> = report.included.iter().map(|i| i.item.clone()).collect();
    ensure(positions == Ok(self::positions(items, &included)), || "run and dry run".to_owned())?;

    // Every candidate is in the report, and as often as it was given.
    let excluded = report.excluded.iter().map(|e| e.item.clone());
    let mut reported: Vec<ContextItem> = included.iter().cloned().chain(excluded).collect();
    ensure(report.total_candidates == items.len(), || "the number of candidates".to_owned())?;
    for item in items {
        let found = reported.iter().position(|other| ContextItem::same(other, item));
        let Some(found) = found else { return Err(format!("not in the report: {item:?}")) };
        reported.swap_remove(found);
    }
    ensure(reported.is_empty(), || format!("reported twice: {reported:?}"))?;
    let reserved = report.excluded.iter().find(|excluded| {
        use ExclusionReason as R;
        matches!(
            excluded.reason,
            R::ScoredTooLow { .. }
                | R::QuotaCapExceeded { .. }
                | R::QuotaRequireDisplaced { .. }
                | R::Filtered { .. }
                | R::Unknown { .. }
        )
    });
    ensure(reserved.is_none(), || format!("a reserved reason: {reserved:?}"))?;
    within_the_budget(pipeline, items, selected, budget)
}

fn within_the_budget(
    pipeline: &Pipeline,
    items: &[ContextItem],
    selected: &[ContextItem],
    budget: &ContextBudget,
) -> Result<(), String> {
    let sum = |items: &mut dyn Iterator<Item = &ContextItem>| -> i128 {
        items.map(|item| i128::from(item.tokens())).sum()
    };
    let is_pinned = |item: &&ContextItem| item.pinned() && item.tokens() >= 0;
    let (total, pinned) = (sum(&mut selected.iter()), sum(&mut items.iter().filter(is_pinned)));
    let pins = selected.iter().filter(is_pinned).count();
    ensure(pins == items.iter().filter(is_pinned).count(), || "a pin is missing".to_owned())?;
    let ceiling = i128::from(budget.max_tokens()) - i128::from(budget.output_reserve());
    ensure(total <= ceiling, || format!("{total} tokens, ceiling {ceiling}"))?;
    let target = match pipeline.overflow_strategy() {
        OverflowStrategy::Throw => i128::from(budget.target_tokens()),
        OverflowStrategy::Truncate => i128::from(budget.target_tokens()).max(pinned),
        OverflowStrategy::Proceed => ceiling,
    };
    ensure(total <= target, || format!("{total} tokens, target {target}"))
}

/// Positions of the selected items; for an item that was given twice, the first ones.
fn positions(items: &[ContextItem], selected: &[ContextItem]) -> Vec<usize> {
    let mut used = vec![false; items.len()];
    let mut position = |item: &ContextItem| {
        let at = (0..items.len()).find(|&at| !used[at] && ContextItem::same(&items[at], item));
        if let Some(at) = at {
            used[at] = true;
        }
        at.unwrap_or(usize::MAX)
    };
    selected.iter().map(&mut position).collect()
}

/// Equal items in other memory; one that was given twice stays one item.
fn copies(items: &[ContextItem]) -> Vec<ContextItem> {
    let mut known: HashMap<usize, ContextItem> = HashMap::new();
    let first = |item: &ContextItem| items.iter().position(|other| ContextItem::same(other, item));
    items
        .iter()
        .map(|item| {
            let copy = || item.to_builder().build().unwrap();
            known.entry(first(item).unwrap()).or_insert_with(copy).clone()
        })
        .collect()
}
