//! A budget in tokens of ours, where the model's own are known to be more or fewer.

use cupel::ContextBudget;
use cupel::gather::BoxError;
use cupel::layer::{BudgetOrigin, BudgetProvider};
use cupel_json::JsonBody;

use crate::tenant::Caller;

/// The model's window, with one token of ours taken for `factor` of the model's, and for more where
/// the model's own count of this request has shown it.
#[derive(Debug)]
pub(super) struct Calibrated<W> {
    pub(super) window: W,
    pub(super) factor: f64,
}

impl<W> Calibrated<W> {
    fn in_our_tokens(factor: f64, budget: &ContextBudget) -> Result<ContextBudget, BoxError> {
        let answer = budget.output_reserve();
        let prompt = budget.max_tokens().saturating_sub(answer);
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
        let prompt = (prompt as f64 / factor).floor() as i64;
        let budget = ContextBudget::builder(prompt.saturating_add(answer))
            .output_reserve(answer)
            .estimation_safety_margin_percent(budget.estimation_safety_margin_percent())
            .build()?;
        Ok(budget)
    }
}

impl<W: BudgetProvider<JsonBody>> BudgetProvider<JsonBody> for Calibrated<W> {
    fn budget(&self, request: &JsonBody) -> Result<ContextBudget, BoxError> {
        self.budget_and_origin(request).map(|(budget, _)| budget)
    }

    fn budget_and_origin(
        &self,
        request: &JsonBody,
    ) -> Result<(ContextBudget, BudgetOrigin), BoxError> {
        let (budget, origin) = self.window.budget_and_origin(request)?;
        let counted = request.carrier::<Caller>().and_then(|caller| caller.counted);
        let factor = self.factor * counted.map_or(1.0, f64::from);
        if factor == 1.0 {
            return Ok((budget, origin));
        }
        Ok((Self::in_our_tokens(factor, &budget)?, origin))
    }
}

#[cfg(test)]
mod tests {
    use cupel_json::{Endpoint, ModelWindow, Models};

    use super::*;

    #[test]
    fn the_prompt_shrinks_by_the_factor_and_the_answer_does_not() {
        let json = r#"{"model":"gpt-4","max_tokens":192,"messages":[]}"#;
        let body = JsonBody::parse(Endpoint::Chat, json).unwrap();
        let target = |factor| {
            let window = ModelWindow::new(Models::new());
            let budget = Calibrated { window, factor }.budget(&body).unwrap();
            (budget.target_tokens(), budget.output_reserve())
        };
        assert_eq!(target(1.0), (8_000, 192));
        assert_eq!(target(1.25), (6_400, 192));
        assert_eq!(target(0.8), (10_000, 192));
    }
}
