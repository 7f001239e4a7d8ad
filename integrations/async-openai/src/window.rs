//! The budget of a request: its model's window, less what the answer may take.

use cupel::ContextBudget;
use cupel::gather::BoxError;
use cupel::layer::BudgetProvider;

use crate::models::Models;
use crate::request::Request;

/// A budget by the request's model and output limit.
///
/// The answer gets `max_completion_tokens` (or `max_tokens`, or `max_output_tokens`) of the
/// window. When the request sets none it gets a default, but no more than half the window.
///
/// ```
/// use async_openai::types::responses::CreateResponse;
/// use cupel::layer::BudgetProvider;
/// use cupel_async_openai::ModelWindow;
///
/// let request = CreateResponse {
///     model: Some("gpt-4o".into()),
///     max_output_tokens: Some(2_000),
///     ..Default::default()
/// };
/// let budget = ModelWindow::new().budget(&request)?;
/// assert_eq!((budget.max_tokens(), budget.target_tokens()), (128_000, 126_000));
/// # Ok::<(), cupel::gather::BoxError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ModelWindow {
    models: Models,
    default_output: i64,
    safety_margin_percent: f64,
    at_most: Option<i64>,
}

impl ModelWindow {
    /// What the answer gets when the request does not say.
    pub const DEFAULT_OUTPUT: i64 = 4_096;

    /// The built-in models, the default output, no safety margin.
    #[must_use]
    pub fn new() -> Self {
        Self {
            models: Models::new(),
            default_output: Self::DEFAULT_OUTPUT,
            safety_margin_percent: 0.0,
            at_most: None,
        }
    }

    /// Sets the models that are known.
    #[must_use]
    pub fn models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// Sets what the answer gets when the request does not say; half the window at most.
    #[must_use]
    pub fn default_output(mut self, tokens: i64) -> Self {
        self.default_output = tokens;
        self
    }

    /// Keeps so many percent of what is selected from free, because counts are not the provider's
    /// own.
    #[must_use]
    pub fn safety_margin_percent(mut self, percent: f64) -> Self {
        self.safety_margin_percent = percent;
        self
    }

    /// Uses no more than this many tokens for prompt and answer, however large the window is.
    #[must_use]
    pub fn at_most(mut self, tokens: i64) -> Self {
        self.at_most = Some(tokens);
        self
    }
}

impl Default for ModelWindow {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Request> BudgetProvider<R> for ModelWindow {
    fn budget(&self, request: &R) -> Result<ContextBudget, BoxError> {
        let model = self.models.of_request(request.model())?;
        let reserve = request.output_tokens()?.unwrap_or_else(|| {
            let window = self.at_most.map_or(model.window(), |most| most.min(model.window()));
            self.default_output.min(window / 2)
        });
        let window = model.window_with_reserve(reserve);
        let window = self.at_most.map_or(window, |most| window.min(most));
        if reserve >= window {
            let name = request.model().unwrap_or_default();
            let problem = format!(
                "the answer may take {reserve} tokens, which leaves nothing of the {window} that \
                 model {name:?} has for the request"
            );
            return Err(problem.into());
        }
        let budget = ContextBudget::builder(window)
            .output_reserve(reserve)
            .estimation_safety_margin_percent(self.safety_margin_percent)
            .build()?;
        Ok(budget)
    }
}

#[cfg(test)]
mod tests {
    use async_openai::types::chat::CreateChatCompletionRequest;
    use cupel::tokens::Encoding;

    use super::*;
    use crate::{Endpoint, JsonBody, Model, Streaming};

    fn chat(model: &str, output: Option<u32>) -> CreateChatCompletionRequest {
        let max_completion_tokens = output;
        CreateChatCompletionRequest {
            model: model.into(),
            max_completion_tokens,
            ..Default::default()
        }
    }

    #[test]
    fn the_answer_comes_off_the_window() {
        let window = ModelWindow::new().default_output(100);
        let target = |budget: Result<ContextBudget, BoxError>| budget.unwrap().target_tokens();
        assert_eq!(target(window.budget(&chat("gpt-4", Some(192)))), 8_000);
        assert_eq!(target(window.budget(&chat("gpt-4", None))), 8_092);
        assert_eq!(target(window.budget(&Streaming(chat("gpt-4", Some(192))))), 8_000);
        let older = r#"{"model":"gpt-4","max_tokens":92,"messages":[]}"#;
        let older = JsonBody::parse(Endpoint::Chat, older).unwrap();
        assert_eq!(target(window.budget(&older)), 8_100);
        assert_eq!(target(window.clone().at_most(1_000).budget(&chat("gpt-4", None))), 900);
        // A default must not take all of a small window.
        assert_eq!(target(ModelWindow::new().at_most(1_000).budget(&chat("gpt-4", None))), 500);
        let small = Models::new().with("small", Model::new(2_048, Encoding::O200k));
        assert_eq!(target(ModelWindow::new().models(small).budget(&chat("small", None))), 1_024);
        // Of 400,000 tokens no more than 272,000 may be prompt.
        assert_eq!(target(window.budget(&chat("gpt-5", Some(1_000)))), 272_000);
    }

    #[test]
    fn the_older_limit_counts_unless_the_newer_is_set() {
        #[expect(deprecated)]
        let older = |request| CreateChatCompletionRequest { max_tokens: Some(92), ..request };
        let target = |request| ModelWindow::new().budget(&request).unwrap().target_tokens();
        assert_eq!(target(older(chat("gpt-4", None))), 8_100);
        assert_eq!(target(older(chat("gpt-4", Some(192)))), 8_000);
    }

    #[test]
    fn a_margin_is_passed_on() {
        let margin = |window: ModelWindow| {
            window.budget(&chat("gpt-4", None)).unwrap().estimation_safety_margin_percent()
        };
        assert_eq!(margin(ModelWindow::new()), 0.0);
        assert_eq!(margin(ModelWindow::new().safety_margin_percent(7.5)), 7.5);
        let wrong = ModelWindow::new().safety_margin_percent(-1.0);
        assert!(wrong.budget(&chat("gpt-4", None)).is_err());
    }

    #[test]
    fn a_limit_in_a_body_is_read_however_it_is_written() {
        let budget = |endpoint, limit: &str| {
            let json = format!(r#"{{"model":"gpt-4","messages":[],"input":[],{limit}}}"#);
            ModelWindow::new().budget(&JsonBody::parse(endpoint, json).unwrap())
        };
        let target = |limit: &str| budget(Endpoint::Chat, limit).unwrap().target_tokens();
        assert_eq!(target(r#""max_tokens":192.0"#), 8_000);
        assert_eq!(target(r#""max_completion_tokens":1e3,"max_tokens":7"#), 7_192);
        for (endpoint, field) in [
            (Endpoint::Chat, "max_tokens"),
            (Endpoint::Chat, "max_completion_tokens"),
            (Endpoint::Responses, "max_output_tokens"),
        ] {
            let error = budget(endpoint, &format!(r#""{field}":-1"#)).unwrap_err().to_string();
            assert_eq!(error, format!("{field} is -1; it must not be negative"));
        }
    }

    #[test]
    fn an_unknown_model_and_an_answer_that_is_too_large_are_errors() {
        let window = ModelWindow::new();
        let error =
            |request: &CreateChatCompletionRequest| window.budget(request).unwrap_err().to_string();
        assert!(error(&chat("gpt-99", None)).contains("\"gpt-99\""));
        assert!(error(&chat("gpt-4", Some(9_000))).contains("the answer may take 9000 tokens"));
        let known = ModelWindow::new()
            .models(Models::new().with("gpt-99", Model::new(50_000, Encoding::O200k)));
        assert!(known.budget(&chat("gpt-99", None)).is_ok());
    }
}
