//! Other Tower layers above and below.

use std::time::Duration;

use async_openai::middleware::ReqwestService;
use async_openai::types::chat::CreateChatCompletionRequest;
use cupel_async_openai::{ChatService, HttpLayer, JsonBody, ResponsesService, Streaming};
use futures::StreamExt;
use serde_json::json;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::support::{
    adapter, builder, chat, client, http_client, ok_server, response, sent, text_of, user,
};

fn request() -> CreateChatCompletionRequest {
    chat(json!({"model": "gpt-4o", "messages": [user("Hi")]}))
}

#[tokio::test]
async fn layers_above_and_below_a_typed_service() {
    let server = ok_server().await;
    let layer = builder(adapter("gpt-4o")).build().unwrap();
    let mut service = ServiceBuilder::new()
        .timeout(Duration::from_secs(5))
        .concurrency_limit(2)
        .layer(layer)
        .map_request(|mut request: CreateChatCompletionRequest| {
            request.temperature = Some(0.5);
            request
        })
        .concurrency_limit(2)
        .service(ChatService::new(client(server.url())));
    for _ in 0..3 {
        let answer = service.ready().await.unwrap().call(request()).await.unwrap();
        assert_eq!(text_of(&answer), "ok");
    }
    let body: serde_json::Value = serde_json::from_slice(&server.arrived()[0].body).unwrap();
    assert_eq!(body["temperature"], 0.5);
}

#[tokio::test]
async fn a_stack_can_be_boxed() {
    let server = ok_server().await;
    let layer = builder(adapter("gpt-4o")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let service = BoxCloneSyncService::new(service);
    let answer = service.clone().oneshot(request()).await.unwrap();
    assert_eq!(text_of(&answer), "ok");
}

#[tokio::test]
async fn the_selection_comes_back_beside_the_answer() {
    let server = ok_server().await;
    let layer = builder(adapter("gpt-4o")).build().unwrap();
    let mut service = ServiceBuilder::new()
        .layer(layer.with_report())
        .service(ChatService::new(client(server.url())));
    let call = service.ready().await.unwrap().call(request());
    let (answer, selection) = call.await.unwrap();
    assert_eq!(text_of(&answer), "ok");
    assert_eq!(selection.report.included.len(), 1);
    let counted: i64 = selection.report.included.iter().map(|one| one.item.tokens()).sum();
    let usage = answer.usage.unwrap();
    assert_eq!(counted + selection.fixed_tokens, i64::from(usage.prompt_tokens));
}

#[tokio::test]
async fn layers_above_and_below_the_http_layer() {
    let server = ok_server().await;
    let layer = builder::<JsonBody>(adapter("gpt-4o")).build().unwrap();
    let service = ServiceBuilder::new()
        .concurrency_limit(1)
        .layer(HttpLayer::new(layer))
        .concurrency_limit(1)
        .service(ReqwestService::new(http_client()));
    let client = client(server.url()).with_http_service(service);
    for _ in 0..3 {
        assert_eq!(text_of(&client.chat().create(request()).await.unwrap()), "ok");
        // Another endpoint needs the one permit as well.
        let _ = client.chat().delete("chatcmpl-1").await;
    }
    assert_eq!(server.arrived().len(), 6);
}

#[tokio::test]
async fn the_responses_api_unary_and_streaming() {
    let server = ok_server().await;
    let unary = builder(adapter("gpt-4o")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(unary).service(ResponsesService::new(client(server.url())));
    let request = response(json!({"model": "gpt-4o", "input": [user("Hi")]}));
    let answer = service.oneshot(request.clone()).await.unwrap();
    assert_eq!(answer.output_text().as_deref(), Some("ok"));
    assert_eq!(sent(&server).len(), 1);

    let streaming = builder(adapter("gpt-4o")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(streaming).service(ResponsesService::new(client(server.url())));
    let events = service.oneshot(Streaming(request)).await.unwrap().collect::<Vec<_>>().await;
    assert_eq!(events.len(), 1);
    assert!(events[0].is_ok());
}
