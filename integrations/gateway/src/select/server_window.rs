//! Windows of models that no setting and no table has, as the upstream tells them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::answer::visible;
use crate::config::Upstream;
use crate::proxy::UpstreamClient;

/// Longest list of models that is read.
const ANSWER_BYTES: usize = 4 << 20;

/// Time for which an answer is used.
const FRESH: Duration = Duration::from_secs(60);

/// Most models that are remembered. Clients choose the names, so there is a limit.
const MODELS: usize = 256;

/// Longest name of a model in logs.
const MODEL_CHARACTERS: usize = 80;

/// Places of the window in an entry of `/v1/models`: of llama.cpp, of vLLM, and of other servers.
const IN_LIST: [&str; 6] = [
    "/meta/n_ctx",
    "/max_model_len",
    "/loaded_context_length",
    "/context_length",
    "/context_window",
    "/max_context_length",
];

/// Windows of models, by upstream and model.
#[derive(Debug)]
pub(super) struct ServerWindows {
    client: UpstreamClient,
    time: Duration,
    known: Mutex<BTreeMap<(String, String), Told>>,
}

/// Window that an upstream told, or that it did not tell one.
#[derive(Debug, Clone, Copy)]
struct Told {
    window: Option<i64>,
    until: Instant,
}

impl ServerWindows {
    /// Asks for at most `time`.
    pub(super) fn new(client: UpstreamClient, time: Duration) -> Self {
        Self { client, time, known: Mutex::default() }
    }

    /// Returns the window of a model, if the upstream tells one. It is asked at most once a minute; with each
    /// request while it refuses everything, because it loads its model.
    pub(super) async fn window(
        &self,
        upstream: &Upstream,
        model: &str,
        client: &Parts,
    ) -> Option<i64> {
        if upstream.is_vendors() {
            return None;
        }
        let key = (upstream.name.clone(), model.to_owned());
        let before = self.known().get(&key).copied();
        if let Some(told) = before.filter(|told| Instant::now() < told.until) {
            return told.window;
        }
        let asked = timeout(self.time, self.ask(upstream, model, client)).await;
        // A server that is busy has the window that it had.
        let had = before.and_then(|told| told.window);
        let window = match asked {
            Ok(Ok(window)) => window.or(had),
            Ok(Err(NotReady)) => return had,
            Err(_) => had,
        };
        if before.is_none_or(|told| told.window != window) {
            log(upstream, model, window);
        }
        let mut known = self.known();
        if known.len() < MODELS || before.is_some() {
            known.insert(key, Told { window, until: Instant::now() + FRESH });
        }
        window
    }

    async fn ask(
        &self,
        upstream: &Upstream,
        model: &str,
        client: &Parts,
    ) -> Result<Option<i64>, NotReady> {
        let mut client = client.clone();
        client.method = Method::GET;
        client.headers.remove(CONTENT_TYPE);
        client.headers.remove(CONTENT_ENCODING);
        let get = async |upstream: &Upstream, path| -> Result<Value, Option<StatusCode>> {
            self.client.read((upstream, path), &client, Bytes::new(), ANSWER_BYTES).await
        };
        match get(upstream, "/models").await {
            Ok(list) => {
                if let Some(window) = in_list(&list, model) {
                    return Ok(Some(window));
                }
            }
            Err(Some(status)) if status.is_client_error() => {}
            Err(_) => return Err(NotReady),
        }
        let root = upstream.without_version();
        let props = get(&root, "/props").await.ok();
        if let Some(window) =
            props.and_then(|props| positive(&props, "/default_generation_settings/n_ctx"))
        {
            return Ok(Some(window));
        }
        // Ollama tells the context length of models that are loaded.
        Ok(get(&root, "/api/ps").await.ok().and_then(|list| in_loaded(&list, model)))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), Told>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The upstream cannot be reached, or reports an error of its own.
#[derive(Debug, Clone, Copy)]
struct NotReady;

fn log(upstream: &Upstream, model: &str, window: Option<i64>) {
    let model = visible(model, MODEL_CHARACTERS);
    match window {
        Some(window) => tracing::info!(
            upstream = upstream.name,
            model,
            window,
            "the upstream told the window of a model"
        ),
        None => tracing::warn!(
            upstream = upstream.name,
            model,
            "the window of this model is not known, and the upstream does not tell it; start with \
             --window TOKENS, or set `window` or `unknown_window` in the configuration, to the context \
             size with which the server runs"
        ),
    }
}

fn positive(value: &Value, place: &str) -> Option<i64> {
    value.pointer(place)?.as_i64().filter(|tokens| *tokens > 0)
}

/// Finds the window in a list of models. A server with one model serves it under any name.
fn in_list(list: &Value, model: &str) -> Option<i64> {
    let entries = list.get("data")?.as_array()?;
    let named = entries.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
    let entry = match (named, entries.as_slice()) {
        (Some(entry), _) | (None, [entry]) => entry,
        _ => return None,
    };
    IN_LIST.iter().find_map(|place| positive(entry, place))
}

/// Finds the window in Ollama's list of loaded models. A name without a tag means the tag `latest`.
fn in_loaded(list: &Value, model: &str) -> Option<i64> {
    let entries = list.get("models")?.as_array()?;
    let is_same = |entry: &&Value| {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    };
    positive(entries.iter().find(is_same)?, "/context_length")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_window_is_where_each_server_has_it() {
        let llama =
            json!({"data": [{"id": "model.gguf", "meta": {"n_ctx": 1536, "n_ctx_train": 8192}}]});
        assert_eq!(in_list(&llama, "any-name"), Some(1_536));
        let vllm = json!({"data": [
            {"id": "qwen", "max_model_len": 32_768}, {"id": "lora", "max_model_len": 4_096}]});
        assert_eq!(in_list(&vllm, "lora"), Some(4_096));
        assert_eq!(in_list(&vllm, "other"), None, "one of several servers' windows is a guess");
        let unloaded = json!({"data": [{"id": "m", "meta": {"n_ctx": 0}}]});
        assert_eq!(in_list(&unloaded, "m"), None);
        let ollama = json!({"models": [{"name": "qwen3:latest", "context_length": 4_096}]});
        assert_eq!(in_loaded(&ollama, "qwen3"), Some(4_096));
        assert_eq!(in_loaded(&ollama, "qwen3:8b"), None);
        for other in [json!([]), json!({"data": {}}), json!({"data": [7]}), json!(null)] {
            assert_eq!(in_list(&other, "m"), None);
        }
    }
}
