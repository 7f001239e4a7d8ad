//! The question of the adapter and its effects.

use cupel::Policy;
use serde_json::{Value, json};

use crate::support::{layer, planned, scored, send};
use cupel_dev_servers::questions::{ANSWER, Listener, QUESTION, talk};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

/// A call of a tool, and its result.
fn step(id: &str, result: &str) -> [Value; 2] {
    let call = json!({"type": "tool_use", "id": id, "name": "look_up", "input": {"key": 1}});
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": result});
    [json!({"role": "assistant", "content": [call]}), json!({"role": "user", "content": [result]})]
}

/// The body that is sent of these messages.
fn body(policy: Policy, window: i64, messages: &[Value]) -> String {
    let body = json!({"model": format!("test-{window}"), "max_tokens": 50, "messages": messages});
    let (sent, _) = send(&layer(window, policy), &body.to_string()).unwrap();
    sent.json().to_owned()
}

/// The long conversation, and one more message of the user's.
fn long(question: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = (0..)
        .zip(talk())
        .map(|(at, text)| if at % 2 == 0 { user(&text) } else { assistant(&text) })
        .collect();
    messages.push(user(question));
    messages
}

#[test]
fn the_question_is_the_users_last_words_and_the_work_since_is_beside_it() {
    let listener = Listener::default();
    let mut messages = vec![user("Good morning."), assistant("Hello."), user(QUESTION)];
    // A result of a tool is in a message of the user's, and is not what the user says.
    messages.extend(step("a", "no key on the hook"));
    body(listener.on(scored()), 4_000, &messages);
    let [heard] = &listener.take()[..] else { panic!("not asked once") };
    assert_eq!(heard.text, QUESTION);
    let work = heard.work.as_deref().unwrap();
    assert!(work.contains("look_up") && work.contains("no key on the hook"), "{work}");
    assert!(heard.candidates.iter().any(|text| text.contains("Good morning.")), "{heard:?}");
    assert!(!heard.candidates.iter().any(|text| text.contains("[0]")), "{heard:?}");
}

#[test]
fn in_a_planned_turn_only_the_users_last_words_count() {
    let listener = Listener::default();
    let mut messages = long(QUESTION);
    messages.extend(step("a", "no key on the hook"));
    body(listener.on(planned()), 1_500, &messages);
    let [heard] = &listener.take()[..] else { panic!("not asked once") };
    assert_eq!((heard.text.as_str(), heard.work.as_deref()), (QUESTION, None));
    assert!(heard.candidates.iter().any(|text| text.contains(ANSWER)), "{heard:?}");
}

#[test]
fn message_12_of_200_that_has_the_answer_is_sent() {
    for policy in [Policy::chat(), scored(), planned()] {
        let body = body(policy, 1_500, &long(QUESTION));
        assert!(body.contains(ANSWER), "{body}");
    }
    let without = body(scored().without_relevance(), 1_500, &long(QUESTION));
    assert!(!without.contains(ANSWER), "the test would pass without relevance");
}

/// A long conversation in which the user never says a word to go by.
fn uninformative() -> Vec<Value> {
    let mut messages = long("Yes, go on!");
    messages.iter_mut().step_by(2).for_each(|message| *message = user("Yes, go on!"));
    messages
}

#[test]
fn a_question_without_informative_words_changes_nothing() {
    for policy in [scored(), planned()] {
        let messages = uninformative();
        let asked = body(policy.clone(), 1_500, &messages);
        assert_eq!(asked, body(policy.without_relevance(), 1_500, &messages));
    }
}
