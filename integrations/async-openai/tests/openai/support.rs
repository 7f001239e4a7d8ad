//! Clients and layers for the tests.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::ReqwestService;
use async_openai::types::chat::{CreateChatCompletionRequest, CreateChatCompletionResponse};
use async_openai::types::responses::CreateResponse;
use cupel::Policy;
use cupel::layer::{CupelLayer, CupelLayerBuilder, Selection};
use cupel::tokens::Encoding;
use cupel_async_openai::{Endpoint, HttpLayer, JsonBody, Model, Models, OpenAiAdapter, Request};
use serde_json::{Value, json};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use cupel_dev_servers::local_server::LocalServer;
use cupel_dev_servers::local_server::answer::Reply;

pub(crate) fn http_client() -> reqwest::Client {
    // A proxy of the machine's has no business with 127.0.0.1.
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub(crate) fn config(url: &str) -> OpenAIConfig {
    OpenAIConfig::new().with_api_base(url).with_api_key("none")
}

/// A client as it comes.
pub(crate) fn client(url: &str) -> Client<OpenAIConfig> {
    Client::with_config(config(url)).with_http_client(http_client())
}

/// A client with the layer below it.
pub(crate) fn selecting_client(url: &str, adapter: OpenAiAdapter) -> Client<OpenAIConfig> {
    let layer = HttpLayer::new(builder::<JsonBody>(adapter).build().unwrap());
    let service = ServiceBuilder::new().layer(layer).service(ReqwestService::new(http_client()));
    client(url).with_http_service(service)
}

/// Knows the models `test-…`, whose window is in the name.
pub(crate) fn adapter(model: &str) -> OpenAiAdapter {
    let mut models = Models::new();
    let window = model.strip_prefix("test-").or(model.strip_prefix("other-"));
    if let Some(window) = window {
        models = models.with(model, Model::new(window.parse().unwrap(), Encoding::O200k));
    }
    OpenAiAdapter::new().models(models)
}

pub(crate) fn builder<R: Request + 'static>(
    adapter: OpenAiAdapter,
) -> CupelLayerBuilder<R, OpenAiAdapter> {
    let budget = adapter.window().default_output(0);
    CupelLayer::builder().budget(budget).adapter(adapter).policy(Policy::chat().without_plan())
}

pub(crate) fn chat(mut json: Value) -> CreateChatCompletionRequest {
    for message in json["messages"].as_array_mut().unwrap() {
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten().filter_map(Value::as_object_mut) {
            // As async-openai 0.43 spells it.
            if let Some(custom) = call.remove("custom") {
                call.insert("custom_tool".to_owned(), custom);
            }
        }
    }
    serde_json::from_value(json).unwrap()
}

pub(crate) fn response(json: Value) -> CreateResponse {
    serde_json::from_value(json).unwrap()
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

pub(crate) fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

/// An assistant message that calls `look_up` with these ids.
pub(crate) fn calling(ids: &[&str]) -> Value {
    let call = |id: &&str| {
        json!({"id": id, "type": "function",
            "function": {"name": "look_up", "arguments": "{\"key\":1}"}})
    };
    json!({"role": "assistant", "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
}

pub(crate) fn tool(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A text of about so many tokens, different for each seed.
pub(crate) fn words(seed: usize, tokens: usize) -> String {
    (0..tokens)
        .map(|index| format!("w{} ", (seed * 31 + index) % 97))
        .take(tokens.div_ceil(3))
        .collect()
}

/// A server that says "ok" to everything it takes.
pub(crate) async fn ok_server() -> LocalServer {
    LocalServer::start(|_| async { Reply::Text("ok".to_owned()) }).await
}

/// Selects in a body. The wrapped service is no server: it takes messages of every kind.
pub(crate) async fn select(
    endpoint: Endpoint,
    adapter: OpenAiAdapter,
    request: &Value,
) -> (Vec<Value>, Selection) {
    let layer = builder(adapter).build().unwrap();
    let inner = service_fn(|body: JsonBody| async move {
        Ok::<_, std::convert::Infallible>(body.json().to_owned())
    });
    let mut service = ServiceBuilder::new().layer(layer.with_report()).service(inner);
    let body = JsonBody::parse(endpoint, request.to_string()).unwrap();
    let call = service.ready().await.unwrap().call(body);
    let (sent, selection) = call.await.unwrap();
    let messages = messages_of(sent.as_bytes());
    (messages.iter().map(|one| serde_json::from_str(one).unwrap()).collect(), selection)
}

/// The messages of the only request that arrived, as they were written.
pub(crate) fn sent(server: &LocalServer) -> Vec<String> {
    let arrived = server.take_arrived();
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    assert_eq!(arrived[0].refused, None);
    messages_of(&arrived[0].body)
}

/// The messages or items of a body, as they were written.
pub(crate) fn messages_of(body: &[u8]) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Body<'a> {
        #[serde(borrow, alias = "input")]
        messages: Vec<&'a serde_json::value::RawValue>,
    }
    let body: Body<'_> = serde_json::from_slice(body).unwrap();
    body.messages.iter().map(|raw| raw.get().to_owned()).collect()
}

/// The contents of messages.
pub(crate) fn contents(messages: &[String]) -> Vec<String> {
    let content = |message: &String| {
        let message: Value = serde_json::from_str(message).unwrap();
        message["content"].as_str().unwrap_or_default().to_owned()
    };
    messages.iter().map(content).collect()
}

pub(crate) fn text_of(answer: &CreateChatCompletionResponse) -> &str {
    answer.choices[0].message.content.as_deref().unwrap()
}

pub(crate) fn status_of(error: &OpenAIError) -> u16 {
    match error {
        OpenAIError::ApiError(error) => error.status_code.as_u16(),
        other => panic!("not an answer of the API: {other:?}"),
    }
}
