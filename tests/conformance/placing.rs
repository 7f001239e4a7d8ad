//! Placing vectors: one placer, scored items, their order.

use cupel::ScoredItem;

use super::build::items;
use super::document::View;
use super::run::{Test, same_list};
use super::slicers::placer;

pub(crate) fn run(test: &Test<'_>, root: &View<'_>) -> Result<(), String> {
    let placer = placer(test.view.required("placer", test.view.string("placer")?)?)?;
    let views = root.tables("items")?;
    let Some(items) = test.built(items(&views))? else {
        return Ok(());
    };
    let mut scored = Vec::new();
    for (view, item) in views.iter().zip(&items) {
        scored.push(ScoredItem::new(item, view.required("score", view.float("score")?)?));
    }
    let expected = root.required("expected", root.table("expected")?)?;
    let expected = expected.required("ordered_contents", expected.strings("ordered_contents")?)?;

    let order = placer.place(&scored);
    let placed: Option<Vec<&str>> = order
        .iter()
        .map(|&position| items.get(position).map(cupel::ContextItem::content))
        .collect();
    let placed = placed.ok_or_else(|| format!("positions out of range: {order:?}"))?;
    same_list("order", &expected, &placed)
}
