//! Selections under many budgets, to see where a larger one stops being worth it.

use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ScoredItem};
use crate::pipeline::{Pipeline, Simulation};

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
