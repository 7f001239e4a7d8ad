//! Plans of requests that are not sent: what the selectors of a profile give without sources.

use std::fmt;
use std::sync::Arc;

use cupel::gather::BoxError;
use cupel::layer::BudgetProvider;
use cupel::{ContextBudget, Policy};
use cupel_audit::{PlannedRequest, Planner, PlannerSettings};
use cupel_json::Endpoint;

use crate::credentials::{Caller, CallerBody};

/// Plans requests as the selectors of a profile do. It asks nobody and does not wait.
pub(crate) struct DryPlanner {
    pub(super) planner: Planner,
    pub(super) policy: Policy,
    /// Settings of `planner`, for another process.
    pub(super) settings: PlannerSettings,
    pub(super) openai: Arc<dyn BudgetProvider<CallerBody>>,
    pub(super) messages: Arc<dyn BudgetProvider<CallerBody>>,
}

impl DryPlanner {
    /// Returns the budget of a request, and the window on which its grid depends if it is another one.
    ///
    /// # Errors
    ///
    /// Returns why there is none.
    pub(crate) fn budget(
        &self,
        body: &CallerBody,
    ) -> Result<(ContextBudget, Option<i64>), BoxError> {
        let (budget, origin) = match body.endpoint() {
            Endpoint::Messages => self.messages.budget_and_origin(body),
            _ => self.openai.budget_and_origin(body),
        }?;
        Ok((budget, origin.grid_window))
    }

    /// Plans a request.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be fitted.
    pub(crate) fn plan(&self, body: CallerBody) -> Result<PlannedRequest<Caller>, String> {
        let (budget, grid_window) = self.budget(&body).map_err(|error| error.to_string())?;
        self.planner.clone().grid_window(grid_window).plan(body, &self.policy, &budget)
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn settings(&self) -> &PlannerSettings {
        &self.settings
    }
}

impl fmt::Debug for DryPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DryPlanner").finish_non_exhaustive()
    }
}
