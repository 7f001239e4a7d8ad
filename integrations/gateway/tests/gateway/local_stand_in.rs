//! Stand-ins that refuse, count and tell their window as servers of local models and the two vendors do.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::raw::{RawUpstream, read_request};

/// Server that a stand-in answers like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    LlamaCpp,
    /// A version without routes that count whole requests.
    OldLlamaCpp,
    Vllm,
    /// vLLM that stops counting after its window.
    VllmThatStops,
    Ollama,
    OpenAi,
    Anthropic,
}

/// Tokens of a request as the stand-ins count them: more than there are.
pub(crate) fn tokens(body: &Value) -> i64 {
    let parts = ["messages", "input", "system", "instructions", "tools"];
    let bytes: usize = parts.iter().map(|part| body[part].to_string().len()).sum();
    i64::try_from(bytes / 3).unwrap()
}

/// A server with a window that keeps what it was asked.
pub(crate) struct StandIn {
    pub(crate) url: String,
    /// Paths of requests, and the tokens of those that are counted or refused.
    arrived: Arc<Mutex<Vec<(String, i64)>>>,
    last: Arc<Mutex<Value>>,
    _server: RawUpstream,
}

impl StandIn {
    pub(crate) async fn start(kind: Kind, window: i64) -> Self {
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let last = Arc::new(Mutex::new(Value::Null));
        let (log, latest) = (Arc::clone(&arrived), Arc::clone(&last));
        let server = RawUpstream::start(move |mut stream| {
            let (log, latest) = (Arc::clone(&log), Arc::clone(&latest));
            async move {
                let (head, body) = read_request(&mut stream).await;
                let path = head.split(' ').nth(1).unwrap().to_owned();
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                log.lock().unwrap().push((path.clone(), tokens(&body)));
                let (status, answer) = reply(kind, window, &path, &body);
                *latest.lock().unwrap() = body;
                let answer = answer.to_string();
                // In chunks, as some servers send their errors.
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\n\
                     Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{answer}\r\n0\r\n\r\n",
                    answer.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        })
        .await;
        Self { url: server.url.clone(), arrived, last, _server: server }
    }

    pub(crate) fn take_arrived(&self) -> Vec<(String, i64)> {
        std::mem::take(&mut self.arrived.lock().unwrap())
    }

    /// Body of the last request.
    pub(crate) fn last_body(&self) -> Value {
        self.last.lock().unwrap().clone()
    }

    /// Paths of the requests since the last time.
    pub(crate) fn take_paths(&self) -> Vec<String> {
        self.take_arrived().into_iter().map(|(path, _)| path).collect()
    }
}

fn reply(kind: Kind, window: i64, path: &str, body: &Value) -> (u16, Value) {
    let count = tokens(body);
    let answer = body["max_tokens"].as_i64().or(body["max_completion_tokens"].as_i64());
    let answer = answer.or(body["max_output_tokens"].as_i64()).unwrap_or(0);
    let none = (404, json!({"error": "404 page not found"}));
    let is_llama = matches!(kind, Kind::LlamaCpp | Kind::OldLlamaCpp);
    match path {
        "/v1/chat/completions" | "/v1/responses" | "/v1/messages" if count + answer > window => {
            refusal(kind, window, count, answer)
        }
        "/v1/chat/completions" | "/v1/responses" | "/v1/messages" => {
            (200, json!({"id": "1", "usage": {"prompt_tokens": count}}))
        }
        "/v1/chat/completions/input_tokens" if kind == Kind::LlamaCpp => {
            (200, json!({"input_tokens": count, "object": "response.input_tokens"}))
        }
        "/v1/responses/input_tokens" if matches!(kind, Kind::LlamaCpp | Kind::OpenAi) => {
            // OpenAI refuses fields that it does not know there.
            match body.get("max_output_tokens").or(body.get("stream")) {
                Some(_) => (400, json!({"error": {"message": "Unknown parameter."}})),
                None => (200, json!({"input_tokens": count, "object": "response.input_tokens"})),
            }
        }
        "/v1/messages/count_tokens" if matches!(kind, Kind::LlamaCpp | Kind::Anthropic) => {
            (200, json!({"input_tokens": count}))
        }
        "/tokenize" if matches!(kind, Kind::Vllm | Kind::VllmThatStops) => {
            (200, json!({"count": count, "max_model_len": window, "tokens": []}))
        }
        "/apply-template" if is_llama => (200, json!({"prompt": "x".repeat(count as usize)})),
        "/tokenize" if is_llama => {
            let text = body["content"].as_str().unwrap_or_default();
            (200, json!({"tokens": vec![7; text.len()]}))
        }
        "/v1/models" if kind == Kind::LlamaCpp => (
            200,
            json!({"object": "list", "data": [{"id": "/models/smollm2.gguf",
                "meta": {"n_ctx": window, "n_ctx_train": 8192}}]}),
        ),
        "/v1/models" if kind == Kind::Vllm => (
            200,
            json!({"object": "list", "data": [
            {"id": "qwen3", "max_model_len": window}, {"id": "other", "max_model_len": 99_000}]}),
        ),
        "/v1/models" => (200, json!({"object": "list", "data": [{"id": "qwen3"}]})),
        "/props" if kind == Kind::OldLlamaCpp => {
            (200, json!({"default_generation_settings": {"n_ctx": window}}))
        }
        "/api/ps" if kind == Kind::Ollama => {
            (200, json!({"models": [{"name": "qwen3:latest", "context_length": window}]}))
        }
        _ => none,
    }
}

/// Refuses a request as the server does.
fn refusal(kind: Kind, window: i64, count: i64, answer: i64) -> (u16, Value) {
    let of = |message: String, code: Value, kind: &str| {
        (400, json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
    };
    match kind {
        Kind::LlamaCpp | Kind::OldLlamaCpp => (
            400,
            json!({"error": {"code": 400,
            "message": format!("request ({count} tokens) exceeds the available context size ({window} tokens), try increasing it"),
            "type": "exceed_context_size_error", "n_prompt_tokens": count, "n_ctx": window}}),
        ),
        Kind::Vllm => of(
            format!(
                "This model's maximum context length is {window} tokens. However, you requested {} tokens ({count} in the messages, {answer} in the completion). Please reduce the length of the messages or completion.",
                count + answer
            ),
            json!(400),
            "BadRequestError",
        ),
        Kind::VllmThatStops => of(
            format!(
                "This model's maximum context length is {window} tokens. However, your request has {} input tokens. Please reduce the length of the input messages.",
                window + 1
            ),
            json!(400),
            "BadRequestError",
        ),
        Kind::Ollama => of(
            "the input length exceeds the context length".to_owned(),
            json!(null),
            "invalid_request_error",
        ),
        Kind::OpenAi => of(
            format!(
                "This model's maximum context length is {window} tokens. However, your messages resulted in {count} tokens. Please reduce the length of the messages."
            ),
            json!("context_length_exceeded"),
            "invalid_request_error",
        ),
        Kind::Anthropic => (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": format!("prompt is too long: {count} tokens > {window} maximum")}}),
        ),
    }
}
