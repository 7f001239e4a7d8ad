//! A content that is a string stays one: servers and templates that take only strings refuse parts.

use cupel::Policy;
use cupel_json::Endpoint;
use serde_json::{Value, json};

use crate::support::{ENDPOINTS, Settings, long, request};

const QUESTION: &str = "Which item was blue?";

#[test]
fn a_question_stays_one_string_when_something_is_recalled() {
    for endpoint in ENDPOINTS {
        let fitter = Settings::new(Policy::chat(), 4_000).build();
        let (sent, selection) = fitter.messages(endpoint, &request(endpoint, &long(QUESTION)));
        assert!(selection.plan.is_some_and(|plan| plan.recalled_tokens > 0), "{endpoint:?}");
        let asked = sent.last().unwrap()["content"].as_str().expect("a string");
        assert!(asked.starts_with("<recalled>"), "{endpoint:?}: {asked}");
        assert!(asked.ends_with(&format!("</recalled>\n\n{QUESTION}")), "{endpoint:?}: {asked}");
        let strings = sent.iter().filter(|message| message["content"].is_string()).count();
        // Before the question one message of Anthropic's carries a mark of the cache.
        let marked = usize::from(endpoint == Endpoint::Messages) * 2;
        assert!(strings + marked >= sent.len(), "{endpoint:?}: {strings} of {}", sent.len());
    }
}

#[test]
fn an_input_that_is_a_string_stays_one_when_a_source_gives_something() {
    let documents = vec!["The blue item is a jug.".to_owned()];
    let fitter = Settings { documents, ..Settings::new(Policy::chat(), 4_000) }.build();
    let body = json!({"model": "test", "input": QUESTION, "user": "u"});
    let (sent, _) = fitter.send(Endpoint::Responses, &body.to_string());
    let mut sent: Value = serde_json::from_str(&sent).unwrap();
    let input = sent["input"].take();
    let input = input.as_str().expect("a string");
    assert!(input.contains("a jug") && input.ends_with(QUESTION), "{input}");
    assert_eq!(sent["user"], "u");
}

#[test]
fn a_question_that_a_loop_of_tools_marks_is_the_same_parts_in_all_its_calls() {
    let mut messages = long(QUESTION);
    let body = |messages: &[Value]| {
        let mut body = request(Endpoint::Messages, messages);
        body["tools"] = json!([{"name": "look", "input_schema": {"type": "object"}}]);
        body
    };
    let fitter = Settings::new(Policy::chat(), 4_000).build();
    let (first, _) = fitter.messages(Endpoint::Messages, &body(&messages));
    let mut asked = first.last().unwrap().clone();
    let mark = asked["content"][1].as_object_mut().unwrap().remove("cache_control");
    assert!(mark.is_some(), "{asked}");
    messages.extend([
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "A jug."}]}),
    ]);
    let (second, _) = fitter.messages(Endpoint::Messages, &body(&messages));
    assert_eq!(second[second.len() - 3], asked);
}
