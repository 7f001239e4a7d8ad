//! How a model's window is looked up for a request.

use crate::models::Models;

/// A budget by the request's model and output limit; [`OpenAiAdapter::window`] makes one.
///
/// The answer gets `max_completion_tokens` (or `max_tokens`, or `max_output_tokens`) of the
/// window. When the request sets none it gets 4,096 tokens or a quarter of the window, whichever is
/// less.
///
/// ```
/// use cupel::layer::BudgetProvider;
/// use cupel_json::{Endpoint, JsonBody, OpenAiAdapter};
///
/// let json = r#"{"model": "gpt-4o", "max_output_tokens": 2000, "input": "Hi"}"#;
/// let request = JsonBody::parse(Endpoint::Responses, json).unwrap();
/// let budget = OpenAiAdapter::new().window().budget(&request)?;
/// assert_eq!((budget.max_tokens(), budget.target_tokens()), (128_000, 126_000));
/// # Ok::<(), cupel::gather::BoxError>(())
/// ```
///
/// [`OpenAiAdapter::window`]: crate::OpenAiAdapter::window
pub type ModelWindow = cupel::layer::ModelWindow<Models>;

#[cfg(test)]
mod tests {
    use cupel::ContextBudget;
    use cupel::gather::BoxError;
    use cupel::layer::BudgetProvider;
    use cupel::tokens::Encoding;

    use super::*;
    use crate::{Endpoint, JsonBody, Model};

    fn chat(model: &str, output: Option<u32>) -> JsonBody {
        let limit = output.map_or("null".to_owned(), |limit| limit.to_string());
        let json =
            format!(r#"{{"model":"{model}","max_completion_tokens":{limit},"messages":[]}}"#);
        JsonBody::parse(Endpoint::Chat, json).unwrap()
    }

    #[test]
    fn the_answer_comes_off_the_window() {
        let window = ModelWindow::new(Models::new()).default_output(100);
        let target = |budget: Result<ContextBudget, BoxError>| budget.unwrap().target_tokens();
        assert_eq!(target(window.budget(&chat("gpt-4", Some(192)))), 8_000);
        assert_eq!(target(window.budget(&chat("gpt-4", None))), 8_092);
        let older = r#"{"model":"gpt-4","max_tokens":92,"messages":[]}"#;
        let older = JsonBody::parse(Endpoint::Chat, older).unwrap();
        assert_eq!(target(window.budget(&older)), 8_100);
        assert_eq!(target(window.clone().at_most(1_000).budget(&chat("gpt-4", None))), 900);
        // A default must not take all of a small window.
        assert_eq!(
            target(ModelWindow::new(Models::new()).at_most(1_000).budget(&chat("gpt-4", None))),
            750
        );
        let small = Models::new().with("small", Model::new(2_048, Encoding::O200k));
        assert_eq!(target(ModelWindow::new(small).budget(&chat("small", None))), 1_536);
        // Of 400,000 tokens no more than 272,000 may be prompt.
        assert_eq!(target(window.budget(&chat("gpt-5", Some(1_000)))), 272_000);
    }

    #[test]
    fn a_margin_is_passed_on() {
        let margin = |window: ModelWindow| {
            window.budget(&chat("gpt-4", None)).unwrap().estimation_safety_margin_percent()
        };
        assert_eq!(margin(ModelWindow::new(Models::new())), 0.0);
        assert_eq!(margin(ModelWindow::new(Models::new()).safety_margin_percent(7.5)), 7.5);
        let wrong = ModelWindow::new(Models::new()).safety_margin_percent(-1.0);
        assert!(wrong.budget(&chat("gpt-4", None)).is_err());
    }

    #[test]
    fn a_limit_in_a_body_is_read_however_it_is_written() {
        let budget = |endpoint, limit: &str| {
            let json = format!(r#"{{"model":"gpt-4","messages":[],"input":[],{limit}}}"#);
            ModelWindow::new(Models::new()).budget(&JsonBody::parse(endpoint, json).unwrap())
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
        let window = ModelWindow::new(Models::new());
        let error = |request: &JsonBody| window.budget(request).unwrap_err().to_string();
        assert!(error(&chat("gpt-99", None)).contains("\"gpt-99\""));
        assert!(error(&chat("gpt-4", Some(9_000))).contains("the request allows an answer of 9000 tokens, expected less than the model's window of 8192"));
        let known =
            ModelWindow::new(Models::new().with("gpt-99", Model::new(50_000, Encoding::O200k)));
        assert!(known.budget(&chat("gpt-99", None)).is_ok());
    }
}
