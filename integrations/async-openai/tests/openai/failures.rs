//! Servers that fail, refuse, hang or vanish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_openai::error::OpenAIError;
use async_openai::middleware::retry::OpenAIRetryLayer;
use async_openai::middleware::{HttpRequestFactory, ReqwestService};
use async_openai::types::chat::CreateChatCompletionRequest;
use cupel::Policy;
use cupel::layer::{BudgetProvider as _, ContextError, CupelLayer, Error, Selection};
use cupel_async_openai::{ChatService, HttpLayer, JsonBody, OpenAiAdapter};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{
    adapter, assistant, builder, calling, chat, client, config, http_client, ok_server, status_of,
    system, text_of, tool, user, words,
};
use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;

fn long_request() -> CreateChatCompletionRequest {
    let mut messages: Vec<_> = (0..20).map(|number| assistant(&words(number, 60))).collect();
    messages.push(user("the question"));
    chat(json!({"model": "test-400", "messages": messages}))
}

/// Fails with these statuses, one after the other, and then answers.
async fn failing(statuses: &'static [u16]) -> LocalServer {
    LocalServer::start(move |asked| async move {
        match statuses.get(asked.earlier) {
            Some(status) => Reply::Status(*status, format!("{status}, try again")),
            None => Reply::Text("at last".to_owned()),
        }
    })
    .await
}

fn counted() -> (Arc<AtomicUsize>, impl Fn(&Selection) + Send + Sync + 'static) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    (count, move |_: &Selection| {
        counter.fetch_add(1, Ordering::Relaxed);
    })
}

#[tokio::test]
async fn a_retry_below_the_http_layer_replays_the_same_selection() {
    let server = failing(&[429, 500]).await;
    let (selections, hook) = counted();
    let layer = builder::<JsonBody>(adapter("test-400")).on_selection(hook).build().unwrap();
    let service = ServiceBuilder::new()
        .layer(HttpLayer::new(layer))
        .layer(OpenAIRetryLayer::new(2))
        .service(ReqwestService::new(http_client()));
    let client = client(server.url()).with_http_service(service);

    let answer = client.chat().create(long_request()).await.unwrap();
    assert_eq!(text_of(&answer), "at last");
    let arrived = server.arrived();
    assert_eq!(arrived.len(), 3);
    assert!(arrived.iter().all(|one| one.body == arrived[0].body && one.refused.is_none()));
    assert_eq!(selections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn headers_and_query_are_the_callers_on_every_attempt() {
    let server = failing(&[429, 500]).await;
    let http = http_client();
    let url = format!("{}/chat/completions?api-version=2024-10-21&x=%20", server.url());
    let body = serde_json::to_string(&long_request()).unwrap();
    let length = body.len();
    let build = move || {
        let request = http.post(&url).bearer_auth("sk-1").header("x-trace", "t \u{e9}");
        let request = request.header("x-trace", "second").body(body.clone());
        request.timeout(Duration::from_secs(9)).build().unwrap()
    };

    // As it goes out without the layer. The server has no room for it.
    http_client().execute(build()).await.unwrap();
    let plain = server.take_arrived().remove(0);
    assert_eq!(plain.query.as_deref(), Some("api-version=2024-10-21&x=%20"));
    assert_eq!(plain.headers["authorization"], "Bearer sk-1");
    assert_eq!(plain.headers.get_all("x-trace").iter().count(), 2);

    let layer = builder::<JsonBody>(adapter("test-400")).build().unwrap();
    let service = ServiceBuilder::new()
        .layer(HttpLayer::new(layer))
        .layer(OpenAIRetryLayer::new(2))
        .service(ReqwestService::new(http_client()));
    let factory = HttpRequestFactory::new(move || std::future::ready(Ok(build())));
    assert_eq!(service.oneshot(factory).await.unwrap().status(), 200);
    let arrived = server.take_arrived();
    assert_eq!(arrived.len(), 3);
    for one in arrived {
        assert!(one.body.len() < length, "nothing was dropped");
        assert_eq!((&one.method, &one.path), (&plain.method, &plain.path));
        assert_eq!(one.query, plain.query);
        let mut expected = plain.headers.clone();
        expected.insert("content-length", one.body.len().into());
        assert_eq!(one.headers, expected);
    }
}

#[tokio::test]
async fn a_timeout_of_the_request_outlives_the_selection() {
    let server = LocalServer::start(|_| std::future::pending::<Reply>()).await;
    let layer = builder::<JsonBody>(adapter("test-400")).build().unwrap();
    let service = ServiceBuilder::new()
        .layer(HttpLayer::new(layer))
        .service(ReqwestService::new(http_client()));
    let url = format!("{}/chat/completions", server.url());
    let body = serde_json::to_string(&long_request()).unwrap();
    let factory = HttpRequestFactory::new(move || {
        let request = http_client().post(&url).timeout(Duration::from_millis(150));
        std::future::ready(Ok(request.body(body.clone()).build().unwrap()))
    });
    let call = tokio::time::timeout(Duration::from_secs(5), service.oneshot(factory));
    let error = call.await.expect("no timeout").unwrap_err();
    assert!(matches!(error, OpenAIError::Reqwest(error) if error.is_timeout()));
    assert_eq!(server.arrived().len(), 1);
}

#[tokio::test]
async fn the_clients_own_retry_replays_the_same_selection() {
    let server = failing(&[500, 429]).await;
    let (selections, hook) = counted();
    let layer = builder(adapter("test-400")).on_selection(hook).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));

    let answer = service.oneshot(long_request()).await.unwrap();
    assert_eq!(text_of(&answer), "at last");
    let arrived = server.arrived();
    assert_eq!(arrived.len(), 3);
    assert!(arrived.iter().all(|one| one.body == arrived[0].body && one.refused.is_none()));
    assert_eq!(selections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_an_error_of_the_wrapped_service() {
    let server = failing(&[500; 9]).await;
    let layer = builder(adapter("test-400")).build().unwrap();
    let plain = client(server.url()).with_http_service(ReqwestService::new(http_client()));
    let service = ServiceBuilder::new().layer(layer).service(ChatService::new(plain));
    match service.oneshot(long_request()).await.unwrap_err() {
        Error::Inner(error) => assert_eq!(status_of(&error), 500),
        Error::Context(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_refused_connection_is_an_error_of_the_wrapped_service() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);

    let typed = builder(adapter("test-400")).build().unwrap();
    let plain = client(&url).with_http_service(ReqwestService::new(http_client()));
    let service = ServiceBuilder::new().layer(typed).service(ChatService::new(plain));
    let error = service.oneshot(long_request()).await.unwrap_err();
    assert!(matches!(error, Error::Inner(OpenAIError::Reqwest(error)) if error.is_connect()));

    let layer = builder::<JsonBody>(adapter("test-400")).build().unwrap();
    let below = ServiceBuilder::new()
        .layer(HttpLayer::new(layer))
        .service(ReqwestService::new(http_client()));
    let client = async_openai::Client::with_config(config(&url)).with_http_service(below);
    let error = client.chat().create(long_request()).await.unwrap_err();
    assert!(matches!(error, OpenAIError::Reqwest(error) if error.is_connect()));
}

#[tokio::test]
async fn a_timeout_above_ends_a_call_to_a_server_that_never_answers() {
    let server = LocalServer::start(|_| std::future::pending::<Reply>()).await;
    let layer = builder(adapter("test-400")).build().unwrap();
    let service = ServiceBuilder::new()
        .timeout(Duration::from_millis(150))
        .layer(layer)
        .service(ChatService::new(client(server.url())));
    let started = Instant::now();
    let error = service.oneshot(long_request()).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(server.arrived().len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_hangs_up() {
    let (hung_up, seen) = oneshot::channel::<()>();
    let hung_up = Arc::new(std::sync::Mutex::new(Some(hung_up)));
    let (asked, arrived) = tokio::sync::mpsc::unbounded_channel();
    let server = LocalServer::start(move |_| {
        // Dropped with the request, and only then.
        let guard = hung_up.lock().unwrap().take();
        asked.send(()).unwrap();
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Reply::Silence
        }
    })
    .await;
    let layer = builder(adapter("test-400")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let call = tokio::spawn(service.oneshot(long_request()));
    let mut arrived = arrived;
    arrived.recv().await.unwrap();
    call.abort();
    let gone = tokio::time::timeout(Duration::from_secs(5), seen).await;
    assert!(gone.expect("the server never noticed").is_err());
}

#[tokio::test]
async fn pinned_messages_that_do_not_fit_are_an_error_before_anything_is_sent() {
    let server = ok_server().await;
    let layer = builder(adapter("test-50")).build().unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request = chat(json!({"model": "test-50", "messages": [user(&words(1, 900))]}));
    let error = service.oneshot(request).await.unwrap_err();
    assert!(matches!(error, Error::Context(ContextError::Pinned { .. })), "{error}");
    assert!(server.arrived().is_empty());
}

#[tokio::test]
async fn an_error_about_room_says_what_takes_it_and_whose_limits_they_are() {
    let server = ok_server().await;
    let adapter = OpenAiAdapter::new();
    let layer = CupelLayer::builder()
        .budget(adapter.window().at_most(1_000))
        .adapter(adapter)
        .policy(Policy::chat().without_plan())
        .build()
        .unwrap();
    let service =
        ServiceBuilder::new().layer(layer).service(ChatService::new(client(server.url())));
    let request = |limit: Option<u32>| {
        let mut request = chat(json!({"model": "gpt-4o", "messages": [
            system(&words(1, 300)), user("the question"), calling(&["a"]),
            tool("a", &words(2, 900)),
        ]}));
        request.max_completion_tokens = limit;
        request
    };
    let error = |limit| {
        let call = service.clone().oneshot(request(limit));
        async { call.await.unwrap_err().to_string() }
    };
    let said = error(Some(500)).await;
    for part in [
        "of the limit set with at_most of 1000 tokens",
        "500 of them kept for the answer (set by the request)",
        "the largest: the result of tool \"look_up\" called in message 2 (",
        "the system prompt in message 0 (",
        "message 1 of the user (",
        "reserve less for the answer, or use a larger window",
    ] {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    assert!(!said.contains("w3"), "content in an error: {said}");
    assert!(error(None).await.contains("(set by the default)"));
}

#[tokio::test]
async fn an_unknown_model_is_an_error_that_says_how_to_add_it() {
    let adapter = OpenAiAdapter::new();
    let request = chat(json!({"model": "gpt-99", "messages": [user("hello")]}));
    let error = adapter.window().budget(&request).unwrap_err().to_string();
    let how = "OpenAiAdapter::models(Models::new().with(\"gpt-99\", Model::new(window, encoding)))";
    assert!(error.contains(how), "{error}");
}
