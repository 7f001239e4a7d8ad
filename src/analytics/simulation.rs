//! Selections under other budgets: the items that tokens buy, and the budget that an item needs.

use std::collections::{HashMap, HashSet};

use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};
use crate::pipeline::{Pipeline, Simulation};
use crate::slicer::{Monotonicity, QuotaUnit, Slicer};

const MARGINAL: &str = "GetMarginalItems requires monotonic item inclusion. QuotaSlice produces \
                        non-monotonic inclusion as budget changes shift percentage allocations.";
const MIN_BUDGET: &str = "FindMinBudgetFor requires monotonic item inclusion. QuotaSlice and \
                          CountQuotaSlice produce non-monotonic inclusion as budget changes shift \
                          allocations. Use a GreedySlice or KnapsackSlice inner slicer for budget \
                          simulation.";

/// Refuses a slicer that does not promise to keep its selection when the budget grows.
fn require_monotonic(method: &str, slicer: &dyn Slicer) -> Result<(), CupelError> {
    let says = match slicer.facts().monotonicity {
        Monotonicity::Monotonic => return Ok(()),
        Monotonicity::NonMonotonic => "says that its own is not",
        Monotonicity::Undeclared => {
            "does not say whether its own is (set SlicerFacts::monotonicity if it is)"
        }
    };
    Err(CupelError::PipelineConfig(format!(
        "{method} requires monotonic item inclusion, and {} {says}",
        slicer.name()
    )))
}

impl Pipeline {
    /// The items that the last `slack_tokens` of `budget` buy, in presentation order: selected
    /// with it, not selected when both its limits are that much lower.
    ///
    /// Items are told apart by identity. The reduced budget keeps the output reserve, the
    /// reserved slots and the safety margin.
    ///
    /// ```
    /// use cupel::{ContextBudget, ContextItem, Policy};
    ///
    /// let hint = |text, hint| ContextItem::builder(text, 40).future_relevance_hint(hint).build();
    /// let items = [hint("best", 0.9)?, hint("second", 0.5)?];
    /// let pipeline = Policy::rag().to_pipeline();
    /// let budget = ContextBudget::builder(80).build()?;
    /// let bought = pipeline.get_marginal_items(&items, &budget, 30)?;
    /// assert_eq!(bought[0].content(), "second");
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] when the slicer's inclusion is not known to be monotonic, or
    /// the slack is negative or leaves no valid budget; otherwise as [`Pipeline::run`].
    pub fn get_marginal_items(
        &self,
        items: &[ContextItem],
        budget: &ContextBudget,
        slack_tokens: i64,
    ) -> Result<Vec<ContextItem>, CupelError> {
        let slicer = &**self.slicer();
        let unit = slicer.facts().quota_unit;
        if unit == Some(QuotaUnit::Percent) {
            return Err(CupelError::PipelineConfig(MARGINAL.to_owned()));
        }
        // The specification lets count slicers pass here, though not below.
        if unit != Some(QuotaUnit::Items) {
            require_monotonic("GetMarginalItems", slicer)?;
        }
        let reduced = reduce(budget, slack_tokens)?;
        let ranked = self.rank_once(items)?;
        let simulation = self.simulate(&ranked);
        let without = simulation.select(&reduced)?;
        let without: HashSet<usize> = without.iter().map(|s| s.item().address()).collect();
        let with = simulation.place(budget)?;
        Ok(with.into_iter().filter(|item| !without.contains(&item.address())).cloned().collect())
    }

    /// A budget under which `target` is selected from `items`, found by halving, or none up to
    /// `search_ceiling`.
    ///
    /// This is the specification's search over budgets whose maximum and target are equal. It takes
    /// it that a larger budget selects no less, and it never tries its lower bound, the item's own
    /// tokens, so that what it finds suffices and need not be the smallest:
    /// [`smallest_budget_for`](Self::smallest_budget_for) is. A budget that does not even hold the
    /// pinned items counts as one that does not select the target. Scoring, deduplication and
    /// sorting happen once.
    ///
    /// ```
    /// use cupel::{ContextItem, Policy};
    ///
    /// let hint = |text, hint| ContextItem::builder(text, 40).future_relevance_hint(hint).build();
    /// let items = [hint("best", 0.9)?, hint("second", 0.5)?];
    /// let pipeline = Policy::rag().to_pipeline();
    /// assert_eq!(pipeline.find_min_budget_for(&items, &items[1], 1_000)?, Some(80));
    /// assert_eq!(pipeline.find_min_budget_for(&items, &items[1], 60)?, None);
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] when the slicer's inclusion is not known to be monotonic,
    /// `target` is not one of `items`, or `search_ceiling` is below its tokens; otherwise as
    /// [`Pipeline::run`].
    pub fn find_min_budget_for(
        &self,
        items: &[ContextItem],
        target: &ContextItem,
        search_ceiling: i64,
    ) -> Result<Option<i64>, CupelError> {
        let slicer = &**self.slicer();
        if slicer.facts().quota_unit.is_some() {
            return Err(CupelError::PipelineConfig(MIN_BUDGET.to_owned()));
        }
        require_monotonic("FindMinBudgetFor", slicer)?;
        check_search(items, target, search_ceiling)?;
        if target.tokens() < 0 {
            return Ok(None); // excluded under every budget
        }
        let ranked = self.rank_once(items)?;
        let simulation = self.simulate(&ranked);
        let selects = |tokens: i64| match simulation.select(&budget_of(tokens)?) {
            Ok(selected) => Ok(selected.iter().any(|s| ContextItem::same(s.item(), target))),
            Err(CupelError::PinnedExceedsBudget { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        let (mut low, mut high) = (target.tokens(), search_ceiling);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if selects(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(selects(high)?.then_some(high))
    }
}

/// Refuses a search that cannot have an answer.
fn check_search(
    items: &[ContextItem],
    target: &ContextItem,
    search_ceiling: i64,
) -> Result<(), CupelError> {
    if !items.iter().any(|item| ContextItem::same(item, target)) {
        let problem = "targetItem must be an element of items: pass one of `items` as `target`; a copy \
                       with equal fields is another item";
        return Err(CupelError::PipelineConfig(problem.to_owned()));
    }
    if search_ceiling < target.tokens() {
        return Err(CupelError::PipelineConfig(format!(
            "searchCeiling must be >= targetItem.Tokens: got {search_ceiling}, and the item has {}; \
             raise `search_ceiling`",
            target.tokens()
        )));
    }
    Ok(())
}

/// A budget of nothing but so many tokens.
fn budget_of(tokens: i64) -> Result<ContextBudget, CupelError> {
    ContextBudget::new(tokens, tokens, 0, HashMap::new(), 0.0)
}

fn reduce(budget: &ContextBudget, slack_tokens: i64) -> Result<ContextBudget, CupelError> {
    let problem = |text: String| CupelError::PipelineConfig(format!("slackTokens {text}"));
    if slack_tokens < 0 {
        return Err(problem(format!("must be at least 0, got {slack_tokens}")));
    }
    ContextBudget::new(
        budget.max_tokens().saturating_sub(slack_tokens),
        budget.target_tokens().saturating_sub(slack_tokens),
        budget.output_reserve(),
        budget.reserved_slots().clone(),
        budget.estimation_safety_margin_percent(),
    )
    .map_err(|error| problem(format!("of {slack_tokens} leave no valid budget: {error}")))
}

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
    /// use cupel::{ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
    /// use cupel::placer::UShapedPlacer;
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

/// Selection under one budget.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BudgetPoint {
    /// The budget.
    pub budget: ContextBudget,
    /// Tokens of the selection.
    pub tokens_used: i64,
    /// Items of the selection.
    pub items_included: usize,
    /// Their scores together; pinned items count 1.0 each.
    pub total_score: f64,
    /// Why this budget selects nothing, if a run under it would fail.
    pub failure: Option<CupelError>,
}

impl Pipeline {
    /// Selection from the same items under each of many budgets, in the order given.
    ///
    /// Scoring, deduplication and sorting happen once. A budget under which a run would fail, for
    /// example because it does not hold the pinned items, is a point with its failure.
    ///
    /// ```
    /// use cupel::{ContextBudget, ContextItem, Policy};
    ///
    /// let hint = |text, hint| ContextItem::builder(text, 40).future_relevance_hint(hint).build();
    /// let items = [hint("a", 0.9)?, hint("b", 0.5)?];
    /// let budgets = [40, 80, 120].map(|n| ContextBudget::builder(n).build().unwrap());
    /// let curve = Policy::rag().to_pipeline().budget_curve(&items, &budgets)?;
    /// let included: Vec<_> = curve.iter().map(|point| point.items_included).collect();
    /// assert_eq!(included, [1, 2, 2]); // 120 tokens buy nothing over 80
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] when there are too many items to select from.
    pub fn budget_curve(
        &self,
        items: &[ContextItem],
        budgets: &[ContextBudget],
    ) -> Result<Vec<BudgetPoint>, CupelError> {
        let ranked = self.rank_once(items)?;
        let simulation = self.simulate(&ranked);
        Ok(budgets.iter().map(|budget| point(&simulation, budget)).collect())
    }
}

fn point(simulation: &Simulation<'_>, budget: &ContextBudget) -> BudgetPoint {
    let (selected, failure) = match simulation.select(budget) {
        Ok(selected) => (selected, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    BudgetPoint {
        budget: budget.clone(),
        tokens_used: selected.iter().fold(0, |sum: i64, s| sum.saturating_add(s.tokens())),
        items_included: selected.len(),
        total_score: selected.iter().map(ScoredItem::score).sum(),
        failure,
    }
}
