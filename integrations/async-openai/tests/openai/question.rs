//! The question of the adapter and its effects, in both APIs at both levels.

use cupel::Policy;
use cupel::model::TurnPlan;
use cupel_async_openai::{ChatService, ResponsesService};
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt};

use crate::bodies::post;
use crate::support::{
    adapter, assistant, builder, calling, chat, client, ok_server, response, tool, user,
};
use cupel_dev_servers::questions::{ANSWER, Listener, QUESTION, talk};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Chat,
    ChatBody,
    Responses,
    ResponsesBody,
}

const ALL: [Way; 4] = [Way::Chat, Way::ChatBody, Way::Responses, Way::ResponsesBody];

impl Way {
    fn is_chat(self) -> bool {
        matches!(self, Self::Chat | Self::ChatBody)
    }

    /// A call of a tool, and its result.
    fn step(self, id: &str, result: &str) -> [Value; 2] {
        if self.is_chat() {
            return [calling(&[id]), tool(id, result)];
        }
        [
            json!({"type": "function_call", "call_id": id, "name": "look_up",
                "arguments": "{\"key\":1}"}),
            json!({"type": "function_call_output", "call_id": id, "output": result}),
        ]
    }
}

/// The body that arrives of these messages, in a window of so many tokens.
async fn send(way: Way, policy: Policy, window: usize, messages: Vec<Value>) -> String {
    let server = ok_server().await;
    let model = format!("test-{window}");
    let field = if way.is_chat() { "messages" } else { "input" };
    let json = json!({"model": model, field: messages});
    let adapter = adapter(&model);
    match way {
        Way::Chat => {
            let layer = builder(adapter).policy(policy).build().unwrap();
            let service = ChatService::new(client(server.url()));
            let service = ServiceBuilder::new().layer(layer).service(service);
            service.oneshot(chat(json)).await.unwrap();
        }
        Way::Responses => {
            let layer = builder(adapter).policy(policy).build().unwrap();
            let service = ResponsesService::new(client(server.url()));
            let service = ServiceBuilder::new().layer(layer).service(service);
            service.oneshot(response(json)).await.unwrap();
        }
        Way::ChatBody | Way::ResponsesBody => {
            let layer = builder(adapter).policy(policy).build().unwrap();
            let path = if way.is_chat() { "/chat/completions" } else { "/responses" };
            post(&server, path, json.to_string(), layer).await.unwrap();
        }
    }
    let arrived = server.take_arrived();
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].refused, None, "{way:?}");
    String::from_utf8(arrived[0].body.to_vec()).unwrap()
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

#[tokio::test]
async fn the_question_is_the_users_last_words_and_the_work_since_is_beside_it() {
    for way in ALL {
        let listener = Listener::default();
        let mut messages = vec![user("Good morning."), assistant("Hello."), user(QUESTION)];
        messages.extend(way.step("a", "no key on the hook"));
        let policy = listener.on(Policy::chat().without_plan());
        send(way, policy, 4_000, messages).await;
        let [heard] = &listener.take()[..] else { panic!("{way:?}: not asked once") };
        assert_eq!(heard.text, QUESTION, "{way:?}");
        let work = heard.work.as_deref().unwrap();
        assert!(work.contains("look_up") && work.contains("no key on the hook"), "{way:?}: {work}");
        // Whole texts, without the number and the role that reports put in front.
        assert!(heard.candidates.contains(&"Good morning.".to_owned()), "{way:?}: {heard:?}");
        assert!(heard.candidates.contains(&"Hello.".to_owned()), "{way:?}: {heard:?}");
    }
}

#[tokio::test]
async fn in_a_planned_turn_only_the_users_last_words_count() {
    for way in ALL {
        let listener = Listener::default();
        let mut messages = long(QUESTION);
        messages.extend(way.step("a", "no key on the hook"));
        let policy = listener.on(Policy::chat().with_plan(TurnPlan::new()));
        send(way, policy, 1_200, messages).await;
        let [heard] = &listener.take()[..] else { panic!("{way:?}: not asked once") };
        assert_eq!((heard.text.as_str(), heard.work.as_deref()), (QUESTION, None), "{way:?}");
        assert!(heard.candidates.contains(&ANSWER.to_owned()), "{way:?}: {heard:?}");
    }
}

#[tokio::test]
async fn message_12_of_200_that_has_the_answer_is_sent() {
    let plans = [Policy::chat(), Policy::chat().without_plan()];
    for way in ALL {
        for policy in plans.clone().into_iter().chain([Policy::chat().with_plan(TurnPlan::new())]) {
            let body = send(way, policy, 1_200, long(QUESTION)).await;
            assert!(body.contains(ANSWER), "{way:?}: {body}");
        }
        let without = Policy::chat().without_plan().without_relevance();
        let body = send(way, without, 1_200, long(QUESTION)).await;
        assert!(!body.contains(ANSWER), "{way:?}: the test would pass without relevance");
    }
}

/// A long conversation in which the user never says a word to go by.
fn uninformative() -> Vec<Value> {
    let mut messages = long("Yes, go on!");
    messages.iter_mut().step_by(2).for_each(|message| *message = user("Yes, go on!"));
    messages
}

#[tokio::test]
async fn a_question_without_informative_words_changes_nothing() {
    for way in ALL {
        for plain in [Policy::chat().without_plan(), Policy::chat().with_plan(TurnPlan::new())] {
            let asked = send(way, plain.clone(), 1_200, uninformative()).await;
            let without = send(way, plain.without_relevance(), 1_200, uninformative()).await;
            assert_eq!(asked, without, "{way:?}");
        }
    }
}
