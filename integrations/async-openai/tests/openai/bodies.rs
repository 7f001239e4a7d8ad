//! The HTTP level: only messages are edited, and only those of the right endpoints.

use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::{HttpRequestFactory, ReqwestService};
use cupel::layer::CupelLayer;
use cupel_async_openai::{HttpLayer, JsonBody, OpenAiAdapter};
use serde_json::json;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{
    adapter, assistant, builder, chat, client, contents, http_client, messages_of, ok_server,
    selecting_client, user, words,
};
use cupel_dev_servers::local_server::LocalServer;

/// Posts a body through the layer, as the client would.
pub(crate) async fn post(
    server: &LocalServer,
    path: &str,
    body: String,
    layer: CupelLayer<JsonBody, OpenAiAdapter>,
) -> Result<reqwest::StatusCode, OpenAIError> {
    request(server, "POST", path, body, layer).await
}

async fn request(
    server: &LocalServer,
    method: &'static str,
    path: &str,
    body: String,
    layer: CupelLayer<JsonBody, OpenAiAdapter>,
) -> Result<reqwest::StatusCode, OpenAIError> {
    let http = http_client();
    let service = ServiceBuilder::new()
        .layer(HttpLayer::new(layer))
        .service(ReqwestService::new(http.clone()));
    let url = format!("{}{path}", server.url());
    let factory = HttpRequestFactory::new(move || {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = http.request(method, &url).body(body.clone()).build();
        async move { Ok(request?) }
    });
    Ok(service.oneshot(factory).await?.status())
}

fn layer(model: &str) -> CupelLayer<JsonBody, OpenAiAdapter> {
    builder(adapter(model)).build().unwrap()
}

/// A body no serializer of ours would write: odd spaces, odd numbers, odd order, unknown fields.
fn odd_body(window: usize) -> (String, Vec<String>) {
    let messages: Vec<String> = (0..6)
        .map(|number| {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            let text = words(number, 60);
            format!(
                "{{\"reasoning_content\" :\"th\\u006fughts {number}\" ,\n \"role\":\"{role}\",\
                 \"content\":\"{text}\", \"score\":1.0}}"
            )
        })
        .collect();
    let body = format!(
        "{{\n\t\"top_k\" : 7.00,\"messages\":[ {} ], \"zebra\":{{\"b\":1,\"a\":[ ]}},\
         \"model\":\"other-{window}\" ,\"stop\":\"\\u0041\"}}\n",
        messages.join(" ,\n ")
    );
    (body, messages)
}

#[tokio::test]
async fn a_body_that_fits_is_not_touched() {
    let server = ok_server().await;
    let (body, _) = odd_body(4_000);
    post(&server, "/chat/completions", body.clone(), layer("other-4000")).await.unwrap();
    let arrived = server.take_arrived();
    assert_eq!(arrived[0].refused, None);
    assert_eq!(arrived[0].body, body);
}

#[tokio::test]
async fn of_a_body_that_does_not_fit_only_the_list_changes() {
    let server = ok_server().await;
    let (body, written) = odd_body(150);
    post(&server, "/chat/completions", body.clone(), layer("other-150")).await.unwrap();
    let arrived = server.take_arrived();
    assert_eq!(arrived[0].refused, None);
    let sent = String::from_utf8(arrived[0].body.to_vec()).unwrap();
    let kept = messages_of(&arrived[0].body);
    assert!(kept.len() < written.len(), "nothing was dropped");
    assert!(kept.iter().all(|message| written.contains(message)));
    // Around the list everything is as it was.
    let (before, rest) = body.split_once("[ {\"reasoning").unwrap();
    let (_, after) = rest.rsplit_once("} ]").unwrap();
    assert_eq!(sent, format!("{before}[{}]{after}", kept.join(",")));
}

#[tokio::test]
async fn every_other_endpoint_passes_byte_for_byte() {
    let server = ok_server().await;
    let (body, _) = odd_body(150);
    let cases = [
        ("POST", "/embeddings"),
        ("POST", "/chat/completions/chatcmpl-1"),
        ("POST", "/responses/input_tokens"),
        ("POST", "/responses/compact"),
        ("PUT", "/chat/completions"),
        ("DELETE", "/responses"),
    ];
    for (method, path) in cases {
        request(&server, method, path, body.clone(), layer("other-150")).await.unwrap();
        let arrived = server.take_arrived();
        assert_eq!((arrived[0].method.as_str(), arrived[0].path.as_str()), (method, path));
        assert_eq!(arrived[0].body, body, "{method} {path}");
    }
}

#[tokio::test]
async fn what_is_no_request_of_the_api_is_left_to_the_server() {
    let server = ok_server().await;
    for body in ["", "not json", "[1]", "{}", "{\"messages\":3}", "{\"messages\":[{]}"] {
        let status =
            post(&server, "/chat/completions", body.to_owned(), layer("test-99")).await.unwrap();
        assert_eq!(status, 400);
        assert_eq!(server.take_arrived()[0].body, body);
    }
}

#[tokio::test]
async fn existing_code_gets_trimmed_contexts() {
    let server = ok_server().await;
    let mut messages: Vec<_> = (0..20).map(|number| user(&words(number, 60))).collect();
    messages.push(assistant("And?"));
    messages.push(user("the question"));
    let request = chat(json!({"model": "test-400", "messages": messages}));

    let plain = client(server.url()).chat().create(request.clone()).await;
    assert_eq!(crate::support::status_of(&plain.unwrap_err()), 400);
    server.take_arrived();

    let client = selecting_client(server.url(), adapter("test-400"));
    client.chat().create(request).await.unwrap();
    let sent = contents(&crate::support::sent(&server));
    assert_eq!(sent.last().unwrap(), "the question");
    assert!((3..20).contains(&sent.len()));
}

#[tokio::test]
async fn a_context_that_cannot_be_selected_is_an_error_of_the_client() {
    let server = ok_server().await;
    let client = selecting_client(server.url(), OpenAiAdapter::new());
    let request = |model: &str| chat(json!({"model": model, "messages": [user("Hi")]}));
    let error = client.chat().create(request("gpt-99")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("nothing is known about model \"gpt-99\""), "{text}");
    let OpenAIError::Boxed(boxed) = error else { panic!("not boxed: {error:?}") };
    assert!(boxed.downcast_ref::<cupel::layer::ContextError>().is_some());
    assert!(server.arrived().is_empty());

    client.chat().create(request("gpt-4o")).await.unwrap();
}

#[tokio::test]
async fn a_length_the_caller_has_set_is_corrected() {
    let server = ok_server().await;
    let (body, _) = odd_body(150);
    let http = http_client();
    let service = ServiceBuilder::new()
        .layer(HttpLayer::new(layer("other-150")))
        .service(ReqwestService::new(http.clone()));
    let url = format!("{}/chat/completions", server.url());
    let factory = HttpRequestFactory::new(move || {
        let length = body.len().to_string();
        let request = http.post(&url).header("content-length", length).body(body.clone()).build();
        async move { Ok(request?) }
    });
    // A server would wait for what a length promises.
    let answer = tokio::time::timeout(Duration::from_secs(5), service.oneshot(factory)).await;
    assert_eq!(answer.expect("a wrong length").unwrap().status(), 200);
}
