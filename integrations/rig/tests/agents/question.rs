//! Question of an agent, in a stack and in a hook, whole and streamed.

use cupel::Policy;
use cupel::layer::CupelLayer;
use cupel_rig::{AgentCall, RigAdapter};
use rig_core::message::{AssistantContent, Message};
use serde_json::json;

use crate::run::{ALL, Mode, Seen, Way, agent, budget, finish, results};
use crate::support::model::{LocalModel, call, local};
use crate::support::words;
use cupel_dev_servers::questions::{ANSWER, Listener, QUESTION, talk};

fn layer(policy: Policy) -> CupelLayer<AgentCall, RigAdapter> {
    CupelLayer::builder()
        .adapter(RigAdapter::new().counter(words()))
        .policy(policy)
        .budget(budget(500))
        .build()
        .unwrap()
}

/// Reads a page, then answers.
fn reader() -> LocalModel {
    local(600, |request| {
        if results(request).is_empty() {
            vec![call("c1", "read_page", json!({ "page": 1 }))]
        } else {
            vec![AssistantContent::text("It is there.")]
        }
    })
}

fn history() -> Vec<Message> {
    let message = |(at, text): (usize, String)| match at % 2 {
        0 => Message::user(text),
        _ => Message::assistant(text),
    };
    talk().into_iter().enumerate().map(message).collect()
}

/// Every request that is sent, as JSON.
async fn run(way: Way, mode: Mode, policy: Policy, prompt: &str) -> Vec<String> {
    let seen = Seen::default();
    let agent = agent(way, reader(), layer(policy), &seen);
    finish(agent.prompt(prompt).history(history()).max_turns(4), mode).await.unwrap();
    let sent = seen.sent.all();
    sent.iter().map(|request| serde_json::to_string(&request.chat_history).unwrap()).collect()
}

#[tokio::test]
async fn the_question_is_the_prompt_and_the_work_since_is_beside_it() {
    for (way, mode) in ALL {
        let listener = Listener::default();
        run(way, mode, listener.on(Policy::tool_use().without_plan()), QUESTION).await;
        let heard = listener.take();
        let [first, second] = &heard[..] else { panic!("{way:?} {mode:?}: {} calls", heard.len()) };
        assert_eq!((first.text.as_str(), first.work.as_deref()), (QUESTION, None), "{way:?}");
        assert_eq!(second.text, QUESTION, "{way:?} {mode:?}");
        let work = second.work.as_deref().unwrap();
        assert!(work.contains("read_page"), "{way:?} {mode:?}: {work}");
    }
}

#[tokio::test]
async fn message_12_of_200_that_has_the_answer_is_sent_on_every_call() {
    for (way, mode) in ALL {
        for policy in [Policy::chat(), Policy::chat().without_plan()] {
            let sent = run(way, mode, policy, QUESTION).await;
            assert!(sent.len() == 2 && sent.iter().all(|sent| sent.contains(ANSWER)), "{sent:?}");
        }
    }
}
