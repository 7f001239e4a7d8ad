//! If nothing can be selected, the run fails with the reason and the model is not called.

use cupel::Policy;
use cupel::layer::CupelLayer;
use cupel_rig::{AgentCall, RigAdapter};
use rig_core::message::AssistantContent;

use crate::run::{ALL, QUESTION, Seen, agent, budget, finish, layer, scoring};
use crate::support::model::{LocalModel, call, local};
use crate::support::words;

fn never_called() -> LocalModel {
    local(i64::MAX, |_| vec![AssistantContent::text("I should not have been asked.")])
}

#[tokio::test]
async fn a_window_too_small_for_the_tools_is_an_error_that_says_so() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let agent = agent(way, never_called(), layer(budget(3), &seen), &seen);
        let error = finish(agent.prompt(QUESTION).max_turns(2), mode).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("instructions, tools and formats take"), "{way:?} {mode:?}: {text}");
        assert!(seen.sent.all().is_empty());
    }
}

#[tokio::test]
async fn pins_that_do_not_fit_are_an_error_too() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let agent = agent(way, never_called(), layer(budget(25), &seen), &seen);
        let error = finish(agent.prompt(QUESTION).max_turns(2), mode).await.unwrap_err();
        assert!(error.to_string().contains("inned"), "{way:?} {mode:?}: {error}");
        assert!(seen.sent.all().is_empty());
    }
}

#[tokio::test]
async fn the_tool_whose_scored_result_does_not_fit_is_named_whatever_was_said_before() {
    let long = local(i64::MAX, |_| {
        let words = AssistantContent::text("word ".repeat(40));
        vec![words, call("c1", "read_page", serde_json::json!({ "page": 2 }))]
    });
    for (way, mode) in ALL {
        let seen = Seen::default();
        let agent = agent(way, long.clone(), scoring(budget(200), &seen), &seen);
        let error = finish(agent.prompt(QUESTION).max_turns(2), mode).await.unwrap_err();
        let text = error.to_string();
        let what = "the largest: the result of tool \"read_page\" called in message 2 (";
        assert!(text.contains(what), "{way:?} {mode:?}: {text}");
        assert!(text.contains("100 of them kept for the answer"), "{text}");
    }
}

#[tokio::test]
async fn an_unknown_model_is_named_with_what_to_set() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let adapter = RigAdapter::for_model("local/reader").counter(words());
        let layer = CupelLayer::<AgentCall, _>::builder()
            .budget(adapter.window())
            .adapter(adapter)
            .policy(Policy::chat())
            .build()
            .unwrap();
        let agent = agent(way, never_called(), layer, &seen);
        let error = finish(agent.prompt(QUESTION).max_turns(2), mode).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("\"local/reader\"") && text.contains("CatalogWindow::tokens(..)"),
            "{text}"
        );
    }
}
