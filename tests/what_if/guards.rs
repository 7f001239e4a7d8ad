//! Refusals of budget simulation, with their messages.

use std::sync::Arc;

use cupel::placer::UShapedPlacer;
use cupel::slicer::{CountConstrainedKnapsackSlice, KnapsackSlice, ScarcityBehavior, SliceResult};
use cupel::slicer::{Monotonicity, SlicerFacts};
use cupel::{
    ContextBudget, ContextItem, CupelError, GreedySlice, Pipeline, ReflexiveScorer, ScoredItem,
    Slicer,
};

use crate::arbitrary::{count_quota, quota};

const MARGINAL: &str = "GetMarginalItems requires monotonic item inclusion. QuotaSlice produces \
non-monotonic inclusion as budget changes shift percentage allocations.";

const MIN_BUDGET: &str = "FindMinBudgetFor requires monotonic item inclusion. QuotaSlice and \
CountQuotaSlice produce non-monotonic inclusion as budget changes shift allocations. Use a \
GreedySlice or KnapsackSlice inner slicer for budget simulation.";

fn pipeline(slicer: impl Slicer + 'static) -> Pipeline {
    let pipeline = Pipeline::builder().scorer(ReflexiveScorer).placer(UShapedPlacer);
    pipeline.slicer(slicer).build().unwrap()
}

fn item(text: &str, tokens: i64) -> ContextItem {
    ContextItem::builder(text, tokens).future_relevance_hint(0.5).build().unwrap()
}

fn items() -> [ContextItem; 2] {
    [item("a", 10), item("b", 20)]
}

fn budget(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

/// Answers to both questions: the marginal items, and the smallest budget.
fn ask(slicer: impl Slicer + 'static) -> (Result<usize, String>, Result<Option<i64>, String>) {
    let (pipeline, items) = (pipeline(slicer), items());
    let marginal = pipeline.get_marginal_items(&items, &budget(100), 10);
    let smallest = pipeline.find_min_budget_for(&items, &items[0], 100);
    let text = |error: CupelError| match error {
        CupelError::PipelineConfig(text) => text,
        other => panic!("not a refusal: {other}"),
    };
    (marginal.map(|items| items.len()).map_err(text), smallest.map_err(text))
}

#[test]
fn greedy_and_knapsack_are_accepted() {
    assert_eq!(ask(GreedySlice), (Ok(0), Ok(Some(11))));
    assert_eq!(ask(KnapsackSlice::new(1).unwrap()), (Ok(0), Ok(Some(11))));
}

#[test]
fn quota_slice_is_refused_by_both() {
    let refused = (Err(MARGINAL.to_owned()), Err(MIN_BUDGET.to_owned()));
    assert_eq!(ask(quota()), refused);
    // Whatever the handle.
    let shared: Arc<dyn Slicer> = Arc::new(quota());
    assert_eq!(ask(shared), refused);
    assert_eq!(ask(Box::new(quota())), refused);
}

#[test]
fn count_quotas_are_refused_by_the_search_only() {
    let (marginal, smallest) = ask(count_quota());
    assert!(marginal.is_ok());
    assert_eq!(smallest, Err(MIN_BUDGET.to_owned()));

    let knapsack = KnapsackSlice::new(10).unwrap();
    let counted = CountConstrainedKnapsackSlice::new(vec![], knapsack, ScarcityBehavior::Degrade);
    let (marginal, smallest) = ask(counted.unwrap());
    assert!(marginal.is_ok());
    assert_eq!(smallest, Err(MIN_BUDGET.to_owned()));
}

/// Takes everything that fits, in order of score.
struct FirstFit(Monotonicity);

impl Slicer for FirstFit {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let mut left = budget.target_tokens();
        let mut fits = |position: &usize| {
            let tokens = items[*position].tokens();
            let fits = tokens <= left;
            left -= if fits { tokens } else { 0 };
            fits
        };
        Ok(SliceResult::from(
            (0..items.len()).filter(|position| fits(position)).collect::<Vec<_>>(),
        ))
    }

    fn facts(&self) -> SlicerFacts {
        SlicerFacts::default().with_monotonicity(self.0)
    }
}

#[test]
fn a_slicer_of_ones_own_says_that_it_is_monotonic_or_is_refused() {
    assert_eq!(ask(FirstFit(Monotonicity::Monotonic)), (Ok(0), Ok(Some(11))));
    let undeclared = "requires monotonic item inclusion, and FirstFit does not say whether its own \
                      is (set SlicerFacts::monotonicity if it is)";
    assert_eq!(
        ask(FirstFit(Monotonicity::Undeclared)),
        (
            Err(format!("GetMarginalItems {undeclared}")),
            Err(format!("FindMinBudgetFor {undeclared}"))
        )
    );
    let not = "requires monotonic item inclusion, and FirstFit says that its own is not";
    assert_eq!(
        ask(FirstFit(Monotonicity::NonMonotonic)),
        (Err(format!("GetMarginalItems {not}")), Err(format!("FindMinBudgetFor {not}")))
    );
}

/// A slicer that says nothing about itself.
struct Silent;

impl Slicer for Silent {
    fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<SliceResult, CupelError> {
        Ok(SliceResult::default())
    }
}

#[test]
fn silence_is_not_consent() {
    let (marginal, smallest) = ask(Silent);
    assert!(marginal.unwrap_err().contains("Silent does not say"));
    assert!(smallest.unwrap_err().contains("Silent does not say"));
}

#[test]
fn the_target_must_be_one_of_the_items_themselves() {
    let items = items();
    let equal = item("a", 10);
    assert_eq!(equal, items[0]);
    let error = pipeline(GreedySlice).find_min_budget_for(&items, &equal, 100).unwrap_err();
    let expected = "targetItem must be an element of items: pass one of `items` as `target`; a \
                    copy with equal fields is another item";
    assert_eq!(error, CupelError::PipelineConfig(expected.to_owned()));
    // A handle to the same item is the item.
    let handle = items[0].clone();
    assert_eq!(pipeline(GreedySlice).find_min_budget_for(&items, &handle, 100), Ok(Some(11)));
}

#[test]
fn the_ceiling_must_hold_the_target() {
    let items = items();
    let error = pipeline(GreedySlice).find_min_budget_for(&items, &items[1], 19).unwrap_err();
    assert_eq!(
        error.to_string(),
        "searchCeiling must be >= targetItem.Tokens: got 19, and the item has 20; raise \
         `search_ceiling`"
    );
    assert_eq!(pipeline(GreedySlice).find_min_budget_for(&items, &items[1], 20), Ok(None));
}

#[test]
fn the_guard_comes_before_the_preconditions() {
    let stranger = item("stranger", 1);
    let error = pipeline(quota()).find_min_budget_for(&items(), &stranger, 0).unwrap_err();
    assert_eq!(error.to_string(), MIN_BUDGET);
}

#[test]
fn the_slack_must_leave_a_budget() {
    let marginal = |slack| pipeline(GreedySlice).get_marginal_items(&items(), &budget(100), slack);
    assert_eq!(marginal(-1).unwrap_err().to_string(), "slackTokens must be at least 0, got -1");
    assert_eq!(
        marginal(101).unwrap_err().to_string(),
        "slackTokens of 101 leave no valid budget: invalid budget: maxTokens must be at least 0, \
         got -1"
    );
    assert!(marginal(i64::MAX).is_err());
    assert!(marginal(0).unwrap().is_empty());
    assert_eq!(marginal(100).unwrap().len(), 2);
}
