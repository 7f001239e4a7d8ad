//! The smallest budget that selects an item, exactly.

use super::simulation::{budget_of, check_search};
use crate::error::CupelError;
use crate::model::ContextItem;
use crate::pipeline::{Pipeline, Simulation};

impl Pipeline {
    /// The smallest budget under which a dry run selects `target` from `items`, or none up to
    /// `search_ceiling`.
    ///
    /// Budgets are those whose maximum and target are equal. A larger one need not select the item
    /// too: a greedy slicer gives it up for a denser one that only then fits. A budget under which
    /// the run fails does not select it.
    ///
    /// Scoring, deduplication and sorting happen once, whatever the slicer. For a slicer that goes
    /// through the items once ([`SlicerFacts::streams`](crate::slicer::SlicerFacts::streams), as
    /// [`GreedySlice`](crate::GreedySlice) does) one more pass computes the answer. With any other
    /// slicer, budgets are tried one by one from the item's own tokens on, in steps of its
    /// [`granularity`](crate::slicer::SlicerFacts::granularity): as many selections as there are
    /// steps up to the answer or the ceiling.
    ///
    /// ```
    /// use cupel::{ContextItem, GreedySlice, Pipeline, ReflexiveScorer, UShapedPlacer};
    ///
    /// let pipeline = Pipeline::builder()
    ///     .scorer(ReflexiveScorer)
    ///     .slicer(GreedySlice)
    ///     .placer(UShapedPlacer)
    ///     .build()?;
    /// let hint = |text, tokens, hint| {
    ///     ContextItem::builder(text, tokens).future_relevance_hint(hint).build()
    /// };
    /// // The first has more score per token: from 10 tokens on it leaves no room for the second,
    /// // until 15 hold both.
    /// let items = [hint("a", 10, 1.0)?, hint("b", 5, 0.2)?];
    /// assert_eq!(pipeline.smallest_budget_for(&items, &items[1], 1_000)?, Some(5));
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] when `target` is not one of `items` or `search_ceiling` is
    /// below its tokens; [`CupelError::Contract`] when a slicer or placer breaks its contract.
    pub fn smallest_budget_for(
        &self,
        items: &[ContextItem],
        target: &ContextItem,
        search_ceiling: i64,
    ) -> Result<Option<i64>, CupelError> {
        check_search(items, target, search_ceiling)?;
        if target.tokens() < 0 {
            return Ok(None); // excluded under every budget
        }
        let ranked = self.rank_once(items)?;
        let pinned = ranked.pinned_tokens();
        if pinned > i128::from(search_ceiling) {
            return Ok(None);
        }
        let pinned = pinned as i64;
        let sorted = ranked.sorted();
        let facts = self.slicer().facts();
        if !facts.streams {
            let simulation = self.simulate(&ranked);
            let step = facts.granularity.max(1);
            return first_selecting(&simulation, target, pinned, step, search_ceiling);
        }
        let room = if target.pinned() {
            Some(0)
        } else {
            let order = facts.order.positions(sorted).into_iter();
            let sizes: Vec<(i64, bool)> = order
                .filter_map(|position| sorted.get(position as usize))
                .map(|scored| (scored.tokens(), ContextItem::same(scored.item(), target)))
                .collect();
            least_room(&sizes)
        };
        let budget = room.and_then(|room| pinned.checked_add(room));
        Ok(budget.filter(|budget| *budget <= search_ceiling))
    }
}

/// The least room at which one pass over items in this order, taking whatever fits, takes one of
/// those that are marked.
///
/// Let `m` be the least room that will do behind some item of `t` tokens. In front of it, `m` still
/// does if the item does not fit it; otherwise the item is taken, and `m + t` are needed. No other
/// room is smaller: less than `m` leaves less than `m`, whether the item is taken or not.
fn least_room(sizes: &[(i64, bool)]) -> Option<i64> {
    let least_before = |position: usize, tokens: i64| {
        let before = sizes.iter().take(position).rev();
        before.fold(
            tokens,
            |least, &(tokens, _)| {
                if tokens <= least { least.saturating_add(tokens) } else { least }
            },
        )
    };
    let marked = sizes.iter().enumerate().filter(|(_, (_, marked))| *marked);
    // Slicers take nothing, and free items neither, at a target of 0.
    marked.map(|(position, (tokens, _))| least_before(position, *tokens).max(1)).min()
}

/// Tries one budget after another.
fn first_selecting(
    simulation: &Simulation<'_>,
    target: &ContextItem,
    pinned: i64,
    step: i64,
    ceiling: i64,
) -> Result<Option<i64>, CupelError> {
    let mut room = if target.pinned() { 0 } else { target.tokens().max(1) };
    loop {
        let Some(budget) = pinned.checked_add(room).filter(|budget| *budget <= ceiling) else {
            return Ok(None);
        };
        if selects(simulation, target, budget)? {
            return Ok(Some(budget));
        }
        room = match room {
            0 => 1,
            room => (room / step).saturating_add(1).saturating_mul(step),
        };
    }
}

fn selects(
    simulation: &Simulation<'_>,
    target: &ContextItem,
    tokens: i64,
) -> Result<bool, CupelError> {
    match simulation.select(&budget_of(tokens)?) {
        Ok(selected) => Ok(selected.iter().any(|s| ContextItem::same(s.item(), target))),
        // A slicer or placer that breaks its contract would be wrong at every budget.
        Err(error @ CupelError::Contract { .. }) => Err(error),
        Err(_) => Ok(false),
    }
}
