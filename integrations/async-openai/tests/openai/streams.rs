//! Streamed answers: unbuffered, cut off, malformed; always one selection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::types::responses::ResponseStreamEvent;
use axum::body::Bytes;
use cupel::layer::Selection;
use cupel_async_openai::{ChatService, ResponsesService, Streaming};
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::json;
use tokio::sync::mpsc;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{adapter, builder, chat, client, response, selecting_client, user, words};
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::{Reply, chat_event, done, response_event};

/// A server that sends what it is given, when it is given it.
async fn gated() -> (LocalServer, mpsc::UnboundedSender<Bytes>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let receiver = Arc::new(std::sync::Mutex::new(Some(receiver)));
    let server = LocalServer::start(move |_| {
        let receiver: mpsc::UnboundedReceiver<Bytes> = receiver.lock().unwrap().take().unwrap();
        let events: BoxStream<'static, Bytes> = stream::unfold(receiver, |mut receiver| async {
            receiver.recv().await.map(|event| (event, receiver))
        })
        .boxed();
        async { Reply::Events(events) }
    })
    .await;
    (server, sender)
}

fn messages() -> serde_json::Value {
    let mut messages: Vec<_> = (0..20).map(|number| user(&words(number, 60))).collect();
    messages.push(user("the question"));
    messages.into()
}

/// Runs a future that must not wait for the server. A test that would wait for ever fails instead.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), future).await.expect("it did not come at once")
}

#[tokio::test]
async fn chunks_of_a_chat_arrive_before_the_stream_ends() {
    let (server, events) = gated().await;
    let selections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&selections);
    let layer = builder(adapter("test-400"))
        .on_selection(move |_: &Selection| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request = chat(json!({"model": "test-400", "messages": messages()}));

    events.send(chat_event("first")).unwrap();
    let mut stream = soon(service.oneshot(Streaming(request))).await.unwrap();
    for word in ["first", "second"] {
        let chunk = soon(stream.next()).await;
        assert_eq!(chunk.unwrap().unwrap().choices[0].delta.content.as_deref(), Some(word));
        // Only now does the server go on.
        events.send(chat_event("second")).unwrap();
    }
    events.send(done()).unwrap();
    while let Some(chunk) = stream.next().await {
        chunk.unwrap();
    }
    assert_eq!(selections.load(Ordering::Relaxed), 1);
    assert_eq!(server.arrived()[0].refused, None);
}

#[tokio::test]
async fn chunks_of_a_response_arrive_before_the_stream_ends() {
    let (server, events) = gated().await;
    let layer = builder(adapter("test-400")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ResponsesService::new(client(server.url())));
    let request = response(json!({"model": "test-400", "input": "Say something."}));

    events.send(response_event("first")).unwrap();
    let mut stream = soon(service.oneshot(Streaming(request))).await.unwrap();
    let event = soon(stream.next()).await;
    let ResponseStreamEvent::ResponseOutputTextDelta(delta) = event.unwrap().unwrap() else {
        panic!("another event");
    };
    assert_eq!(delta.delta, "first");
    drop(events);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn chunks_arrive_through_the_http_layer_before_the_stream_ends() {
    let (server, events) = gated().await;
    let client = selecting_client(server.url(), adapter("test-400"));
    let request = chat(json!({"model": "test-400", "messages": messages()}));

    events.send(chat_event("first")).unwrap();
    let mut stream = soon(client.chat().create_stream(request)).await.unwrap();
    let chunk = soon(stream.next()).await;
    assert_eq!(chunk.unwrap().unwrap().choices[0].delta.content.as_deref(), Some("first"));
    assert_eq!(server.arrived()[0].refused, None);
}

#[tokio::test]
async fn a_stream_that_is_dropped_hangs_up() {
    let (server, events) = gated().await;
    let layer = builder(adapter("test-400")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request = chat(json!({"model": "test-400", "messages": messages()}));
    events.send(chat_event("first")).unwrap();
    let mut stream = soon(service.oneshot(Streaming(request))).await.unwrap();
    stream.next().await.unwrap().unwrap();
    assert!(!events.is_closed());
    drop(stream);
    // The server's end of the body goes when the connection does.
    soon(events.closed()).await;
}

#[tokio::test]
async fn malformed_events_are_errors_of_the_stream() {
    type CacheExpectation = fn(&OpenAIError) -> bool;
    let cases: [(&'static [u8], CacheExpectation); 2] = [
        (b"data: {\"id\": 7\n\n", |error| matches!(error, OpenAIError::JSONDeserialize(..))),
        (b"data: \xFF\xFE\n\n", |error| matches!(error, OpenAIError::StreamError(_))),
    ];
    for (bytes, is_expected) in cases {
        let server = LocalServer::start(move |_| async move {
            let events = [chat_event("fine"), Bytes::from_static(bytes)];
            Reply::Events(stream::iter(events).boxed())
        })
        .await;
        let layer = builder(adapter("test-400")).build().unwrap();
        let service =
            ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
        let request = chat(json!({"model": "test-400", "messages": messages()}));
        let mut stream = soon(service.oneshot(Streaming(request))).await.unwrap();
        assert!(stream.next().await.unwrap().is_ok());
        let error = stream.next().await.unwrap().unwrap_err();
        assert!(is_expected(&error), "{error:?}");
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test]
async fn a_stream_is_asked_for_whatever_the_request_says() {
    let server = LocalServer::start(|_| async { Reply::Text("a b c".to_owned()) }).await;
    let layer = builder(adapter("test-400")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request = chat(json!({"model": "test-400", "messages": messages(), "stream": false}));
    let chunks = soon(service.oneshot(Streaming(request))).await.unwrap().collect::<Vec<_>>().await;
    // Three words, and the end.
    assert_eq!(chunks.len(), 4);
}
