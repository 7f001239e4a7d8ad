//! A server on 127.0.0.1 that speaks OpenAI's two APIs and Anthropic's, and is as strict as they are.
//!
//! What it answers is up to a function, so that the example can think and the tests can fail. What
//! it takes is not: schema, roles, the pairing of calls and results, and the tokens of the whole
//! request, counted with another tokenizer than the library's.

pub mod answer;
pub mod messages;
pub mod strict;
pub mod tokens;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use answer::Reply;

/// A request as the model sees it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub json: Value,
    /// Number of requests before this one.
    pub earlier: usize,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub method: String,
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Why it was not taken.
    pub refused: Option<String>,
}

type Answer = Pin<Box<dyn Future<Output = Reply> + Send>>;
type Model = Arc<dyn Fn(Asked) -> Answer + Send + Sync>;

#[derive(Clone)]
struct Shared {
    model: Model,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    /// The prompt cache of the Messages API.
    memory: Arc<Mutex<messages::caches::Memory>>,
}

/// A running server; it stops when this is dropped.
pub struct LocalServer {
    url: String,
    shared: Shared,
    task: JoinHandle<()>,
}

impl LocalServer {
    /// Starts a server whose answers this function gives.
    pub async fn start<F>(model: impl Fn(Asked) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let model: Model = Arc::new(move |asked| Box::pin(model(asked)));
        let shared = Shared { model, arrived: Arc::default(), memory: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("a bound port"));
        // The end of an answer would wait for the client to confirm its beginning.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let app = Router::new().fallback(handle).with_state(shared.clone());
        let task = tokio::spawn(async move {
            axum::serve(listener, app).await.expect("a server that runs");
        });
        Self { url, shared, task }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Everything that has arrived.
    pub fn arrived(&self) -> Vec<Arrived> {
        self.shared.arrived().clone()
    }

    /// Forgets what has arrived, and returns it.
    pub fn take_arrived(&self) -> Vec<Arrived> {
        std::mem::take(&mut *self.shared.arrived())
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn arrived(&self) -> MutexGuard<'_, Vec<Arrived>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn handle(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = match axum::body::to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => return problem(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let path = parts.uri.path().trim_start_matches("/v1").to_owned();
    if parts.method == "POST" && path.starts_with("/messages") {
        return handle_messages(&shared, parts, path, body).await;
    }
    let is_selectable =
        parts.method == "POST" && matches!(path.as_str(), "/chat/completions" | "/responses");
    let checked = if is_selectable { strict::check(&path, &body) } else { Ok(Value::Null) };
    let arrived = Arrived {
        method: parts.method.to_string(),
        path: path.clone(),
        query: parts.uri.query().map(ToOwned::to_owned),
        headers: parts.headers,
        body,
        refused: checked.as_ref().err().cloned(),
    };
    let earlier = {
        let mut all = shared.arrived();
        all.push(arrived);
        all.len() - 1
    };
    match checked {
        Err(why) => problem(StatusCode::BAD_REQUEST, &why),
        Ok(Value::Null) => Response::new(Body::from("{}")),
        Ok(json) => {
            let asked = Asked { path, json, earlier };
            answer::respond(&asked, (shared.model)(asked.clone()).await)
        }
    }
}

/// `/messages` and `/messages/count_tokens`.
async fn handle_messages(shared: &Shared, parts: Parts, path: String, body: Bytes) -> Response {
    let beta = parts.headers.get_all("anthropic-beta").iter();
    let beta: Vec<&str> = beta.filter_map(|value| value.to_str().ok()).collect();
    let beta = beta.join(",");
    let checked = match path.as_str() {
        "/messages" => messages::check(&body, &beta),
        _ => messages::check_count(&body, &beta),
    };
    let arrived = Arrived {
        method: parts.method.to_string(),
        path: path.clone(),
        query: parts.uri.query().map(ToOwned::to_owned),
        headers: parts.headers,
        body,
        refused: checked.as_ref().err().map(|refused| refused.message.clone()),
    };
    let earlier = {
        let mut all = shared.arrived();
        all.push(arrived);
        all.len() - 1
    };
    match checked {
        Err(refused) => messages::answer::problem(&refused),
        Ok(json) if path != "/messages" => messages::answer::counted(&json),
        Ok(json) => {
            let memory = shared.memory.lock();
            let usage = memory.unwrap_or_else(PoisonError::into_inner).serve(&json);
            let asked = Asked { path, json, earlier };
            let reply = (shared.model)(asked.clone()).await;
            messages::answer::respond(&asked, reply, usage)
        }
    }
}

/// An error as the API words it.
fn problem(status: StatusCode, message: &str) -> Response {
    let error = json!({"error": {
        "message": message, "type": "invalid_request_error", "param": null, "code": null,
    }});
    let mut response = Response::new(Body::from(error.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", "application/json".parse().expect("a header"));
    response
}
