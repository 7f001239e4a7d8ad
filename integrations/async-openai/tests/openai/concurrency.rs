//! Two hundred calls at once, each with a conversation of its own.

use cupel_async_openai::ChatService;
use serde_json::json;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{
    adapter, assistant, builder, chat, client, selecting_client, system, text_of, user, words,
};
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;

/// Answers with the question.
async fn echo() -> LocalServer {
    LocalServer::start(|asked| async move {
        let messages = asked.json["messages"].as_array().unwrap();
        Reply::Text(messages.last().unwrap()["content"].as_str().unwrap().to_owned())
    })
    .await
}

fn request(number: usize) -> async_openai::types::chat::CreateChatCompletionRequest {
    let mut messages = vec![system("Answer with the question.")];
    messages.extend((0..10).map(|turn| assistant(&words(number * 10 + turn, 60))));
    messages.push(user(&format!("question {number}")));
    chat(json!({"model": "test-300", "messages": messages}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_typed_calls() {
    let server = echo().await;
    let layer = builder(adapter("test-300")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let calls = (0..200).map(|number| tokio::spawn(service.clone().oneshot(request(number))));
    for (number, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        let answer = call.await.unwrap().unwrap();
        assert_eq!(text_of(&answer), format!("question {number}"));
    }
    let arrived = server.arrived();
    assert_eq!(arrived.len(), 200);
    assert!(arrived.iter().all(|one| one.refused.is_none()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_through_one_client() {
    let server = echo().await;
    let client = selecting_client(server.url(), adapter("test-300"));
    let calls = (0..200).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { client.chat().create(request(number)).await })
    });
    for (number, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        let answer = call.await.unwrap().unwrap();
        assert_eq!(text_of(&answer), format!("question {number}"));
    }
    assert_eq!(server.arrived().len(), 200);
}
