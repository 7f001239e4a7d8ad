//! Selections under other budgets: the items that tokens buy, and the budget that an item needs.

use std::collections::{HashMap, HashSet};

use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem};
use crate::pipeline::Pipeline;
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
pub(super) fn check_search(
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
pub(super) fn budget_of(tokens: i64) -> Result<ContextBudget, CupelError> {
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
