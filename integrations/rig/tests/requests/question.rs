//! The question of the adapter and its effects, for a request without an agent.

use cupel::Policy;
use cupel::layer::CupelLayer;
use rig_core::completion::CompletionRequest;
use rig_core::message::Message;

use crate::select::{adapter, answers, calls, request, room};
use cupel_dev_servers::questions::{ANSWER, Listener, QUESTION, talk};

/// Sends a request, and returns the one that arrives.
async fn send(request: CompletionRequest, policy: Policy, tokens: i64) -> Vec<Message> {
    let layer = CupelLayer::builder().adapter(adapter()).policy(policy).budget(room(tokens));
    layer.build().unwrap().selector().select(request).await.unwrap().request.chat_history
}

/// The long conversation.
fn history() -> Vec<Message> {
    let message = |(at, text): (usize, String)| match at % 2 {
        0 => Message::user(text),
        _ => Message::assistant(text),
    };
    talk().into_iter().enumerate().map(message).collect()
}

/// The request of a prompt after a history, as rig puts it together.
fn prompted(history: Vec<Message>, prompt: &str) -> CompletionRequest {
    let mut request = CompletionRequest::new(prompt);
    request.chat_history.splice(0..0, history);
    request
}

fn says(sent: &[Message], text: &str) -> bool {
    serde_json::to_string(sent).unwrap().contains(text)
}

#[tokio::test]
async fn the_question_is_the_prompt_after_a_history() {
    let listener = Listener::default();
    let history = vec![Message::user("Good morning."), Message::assistant("Hello.")];
    let policy = listener.on(Policy::chat().without_plan());
    send(prompted(history, QUESTION), policy, 1_000).await;
    let [heard] = &listener.take()[..] else { panic!("not asked once") };
    assert_eq!((heard.text.as_str(), heard.work.as_deref()), (QUESTION, None));
    // Whole texts, without the number and the role that reports put in front.
    assert_eq!(heard.candidates, ["Good morning.\nHello.", QUESTION]);
}

#[tokio::test]
async fn the_work_since_the_question_is_beside_it() {
    let listener = Listener::default();
    let history = vec![
        Message::user("Good morning."),
        Message::assistant("Hello."),
        Message::user(QUESTION),
        calls(&["hook"]),
        answers(&["hook"], "no key here"),
    ];
    let policy = listener.on(Policy::chat().without_plan());
    send(request(history), policy, 1_000).await;
    let [heard] = &listener.take()[..] else { panic!("not asked once") };
    assert_eq!(heard.text, QUESTION);
    let work = heard.work.as_deref().unwrap();
    assert!(work.contains("look") && work.contains("no key here"), "{work}");
}

#[tokio::test]
async fn message_12_of_200_that_has_the_answer_is_sent() {
    for policy in [Policy::chat(), Policy::chat().without_plan()] {
        let sent = send(prompted(history(), QUESTION), policy, 500).await;
        assert!(says(&sent, ANSWER), "{sent:?}");
    }
    let without = Policy::chat().without_plan().without_relevance();
    let sent = send(prompted(history(), QUESTION), without, 500).await;
    assert!(!says(&sent, ANSWER), "the test would pass without relevance");
}

#[tokio::test]
async fn a_question_without_informative_words_changes_nothing() {
    let plain = Policy::chat().without_plan();
    let mut history = history();
    // The user never says a word to go by.
    history.iter_mut().step_by(2).for_each(|message| *message = Message::user("Yes, go on!"));
    let request = || prompted(history.clone(), "Yes, go on!");
    let asked = send(request(), plain.clone(), 500).await;
    assert_eq!(asked, send(request(), plain.without_relevance(), 500).await);
}
