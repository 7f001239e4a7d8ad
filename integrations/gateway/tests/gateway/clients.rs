//! A real client in front: async-openai, with nothing but its base address changed.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use async_openai::types::responses::CreateResponse;
use futures::StreamExt;
use serde_json::json;

use crate::support::{Running, chat, http, in_front_of};
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;

fn client(gateway: &Running) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new().with_api_base(gateway.url("/v1")).with_api_key("sk-1");
    Client::with_config(config).with_http_client(http())
}

#[tokio::test]
async fn async_openai_needs_nothing_but_another_address() {
    let server = LocalServer::start(|asked| async move {
        match asked.json["messages"].as_array().map(Vec::len) {
            Some(1) => Reply::Calls(vec![("look_up".to_owned(), json!({"order": 3}))]),
            _ => Reply::Text("on day three".to_owned()),
        }
    })
    .await;
    let gateway = in_front_of(&server).await;
    let client = client(&gateway);
    let long: CreateChatCompletionRequest = serde_json::from_value(chat("test-900")).unwrap();
    let answer = client.chat().create(long.clone()).await.unwrap();
    assert_eq!(answer.choices[0].message.content.as_deref(), Some("on day three"));

    let mut stream = client.chat().create_stream(long).await.unwrap();
    let mut text = String::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.unwrap();
        text.extend(chunk.choices.iter().filter_map(|choice| choice.delta.content.clone()));
    }
    assert_eq!(text, "on day three");

    let short = json!({"model": "test-900", "messages": [{"role": "user", "content": "Where?"}]});
    let short: CreateChatCompletionRequest = serde_json::from_value(short).unwrap();
    let answer = client.chat().create(short).await.unwrap();
    assert!(answer.choices[0].message.tool_calls.is_some());

    let input = CreateResponse {
        model: Some("test-900".to_owned()),
        input: "Where is it?".into(),
        ..Default::default()
    };
    let mut stream = client.responses().create_stream(input).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    assert!(server.arrived().iter().all(|one| one.refused.is_none()));
    assert!(server.arrived().iter().all(|one| one.headers["authorization"] == "Bearer sk-1"));
}
