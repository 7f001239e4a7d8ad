//! Routes: which requests are selected in, which the gateway answers itself, and where a request names the
//! model that decides its upstream.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use cupel::layer::off_executor;
use cupel_json::Endpoint;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::request::Parts;
use memchr::memmem;
use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::answer::Refusal;
use crate::api_path::{api_path, below_v1, deployment};
use crate::config::{ClientKey, Config, Protocol, Upstream, UpstreamKey, find_upstream, fits};
use crate::select::JSON_BYTE;

/// Handler of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Liveness,
    Readiness,
    /// Metrics, which have an address of their own.
    Metrics,
    /// The page of recent calls.
    Page,
    /// A request with messages.
    Select(Endpoint),
    /// The list of models.
    Models,
    /// Everything else.
    Pass,
}

impl Route {
    pub(super) fn of(request: &Parts) -> Self {
        let path = request.uri.path();
        if path == "/cupel" || path.starts_with("/cupel/") {
            return Self::Page;
        }
        match (&request.method, api_path(path).trim_end_matches('/')) {
            (&Method::POST, "/chat/completions") => Self::Select(Endpoint::Chat),
            (&Method::POST, "/responses") => Self::Select(Endpoint::Responses),
            (&Method::POST, "/messages") => Self::Select(Endpoint::Messages),
            (&Method::GET, "/models") => Self::Models,
            _ if path == "/health/liveness" => Self::Liveness,
            _ if path == "/health/readiness" => Self::Readiness,
            (&Method::GET, "/metrics") => Self::Metrics,
            _ => Self::Pass,
        }
    }

    /// Protocol of error messages. Anthropic's clients send the version they speak.
    pub(super) fn error_shape(self, request: &Parts) -> Protocol {
        let says_so = request.headers.contains_key("anthropic-version")
            || request.uri.path().ends_with("/count_tokens");
        match self {
            Self::Select(Endpoint::Messages) => Protocol::Anthropic,
            Self::Models | Self::Pass if says_so => Protocol::Anthropic,
            _ => Protocol::OpenAi,
        }
    }

    /// Name in logs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Liveness | Self::Readiness => "health",
            Self::Page => "page",
            Self::Metrics => "metrics",
            Self::Select(Endpoint::Chat) => "chat",
            Self::Select(Endpoint::Responses) => "responses",
            Self::Select(Endpoint::Messages) => "messages",
            Self::Select(_) => "select",
            Self::Models => "models",
            Self::Pass => "pass",
        }
    }
}

/// Returns the protocol of a request. Some paths belong to one; on others Anthropic's clients say so.
pub(super) fn protocol(request: &Parts) -> Protocol {
    const OPENAI: [&str; 9] = [
        "/chat/",
        "/responses",
        "/embeddings",
        "/completions",
        "/moderations",
        "/audio/",
        "/images/",
        "/batches",
        "/assistants",
    ];
    let path = api_path(request.uri.path());
    let headers = &request.headers;
    match path {
        _ if path == "/messages" || path.starts_with("/messages/") => Protocol::Anthropic,
        _ if OPENAI.iter().any(|beginning| path.starts_with(beginning)) => Protocol::OpenAi,
        _ if headers.contains_key("anthropic-version") || headers.contains_key("x-api-key") => {
            Protocol::Anthropic
        }
        _ => Protocol::OpenAi,
    }
}

/// Finds the upstream for a model, or for a request that names none.
pub(super) fn upstream<'a>(
    config: &'a Config,
    request: &Parts,
    model: Option<&str>,
) -> Result<&'a Upstream, Refusal> {
    find_upstream(&config.upstreams, protocol(request), model).ok_or_else(|| {
        let message = match model {
            Some(model) => format!("no upstream is configured for model {model:?}"),
            None => "no upstream is configured for requests without a model".to_owned(),
        };
        Refusal::new(404, "no_upstream", message)
    })
}

/// Place where a request names its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelPlace<'a> {
    Path(&'a str),
    Json,
    /// A form with a file.
    Form,
    Nowhere,
}

/// Finds where a request names its model. Files and batches may have any length, and name none.
pub(super) fn model_place(request: &Parts) -> ModelPlace<'_> {
    const NO_MODEL: [&str; 5] =
        ["/files", "/uploads", "/batches", "/messages/batches", "/vector_stores"];
    if let Some(deployment) = deployment(request.uri.path()) {
        return ModelPlace::Path(deployment);
    }
    let path = api_path(request.uri.path());
    if let Some(model) = path.strip_prefix("/models/") {
        return ModelPlace::Path(model);
    }
    let is_below = |beginning: &&str| {
        path.strip_prefix(*beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if request.method != Method::POST || NO_MODEL.iter().any(is_below) {
        return ModelPlace::Nowhere;
    }
    let kind = content_type(&request.headers).trim_start().get(..19);
    match kind.is_some_and(|kind| kind.eq_ignore_ascii_case("multipart/form-data")) {
        false => ModelPlace::Json,
        true if path.starts_with("/audio/") || path.starts_with("/images/") => ModelPlace::Form,
        true => ModelPlace::Nowhere,
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

/// Code of a body that names two models.
pub(super) const TWICE: &str = "two_models";

/// Longest name of a model in a form.
const NAME_BYTES: usize = 4_096;

/// Reads the model at the top level of a JSON body.
///
/// # Errors
///
/// Refuses a body that is not JSON, and one that names two models: servers differ in which one they take.
pub(super) async fn model_in_body(body: Bytes) -> Result<Option<String>, Refusal> {
    let steps = JSON_BYTE.saturating_mul(body.len() as u64);
    let read = off_executor(steps, move || model_in_json(&body)).await;
    read.unwrap_or_else(|_| Err(no_model("the body cannot be read")))
}

fn model_in_json(body: &[u8]) -> Result<Option<String>, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let names = json.deserialize_map(ModelNames).and_then(|names| json.end().map(|()| names));
    one_model(names.map_err(|_| no_model("the body is not a JSON object"))?)
}

/// Returns whether a JSON body may name two models. Most bodies have the word once and need no parsing.
pub(super) fn may_name_two(body: &[u8]) -> bool {
    memmem::find_iter(body, b"model").nth(1).is_some() || memmem::find(body, b"\\u").is_some()
}

fn no_model(why: &str) -> Refusal {
    let message = format!("{why}: the gateway has several upstreams and needs the model's name");
    Refusal::new(400, "unreadable_model", message)
}

fn one_model(mut names: Vec<Option<String>>) -> Result<Option<String>, Refusal> {
    if names.len() > 1 {
        return Err(Refusal::new(400, TWICE, "the body has more than one `model`, expected one"));
    }
    Ok(names.pop().flatten())
}

/// Reads every `model` of an object; `None` for a model that is not a string.
struct ModelNames;

impl<'de> Visitor<'de> for ModelNames {
    type Value = Vec<Option<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key != "model" {
                map.next_value::<IgnoredAny>()?;
            } else if names.len() < 2 {
                names.push(map.next_value::<serde_json::Value>()?.as_str().map(str::to_owned));
            } else {
                return Err(A::Error::custom("too many models"));
            }
        }
        Ok(names)
    }
}

/// Reads the field `model` of a form with files.
///
/// # Errors
///
/// As [`model_in_json`].
pub(super) fn model_in_form(headers: &HeaderMap, body: &[u8]) -> Result<Option<String>, Refusal> {
    let boundary = content_type(headers).split(';').find_map(|part| {
        let (name, value) = part.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"'))
    });
    let boundary = boundary.filter(|boundary| !boundary.is_empty());
    let boundary = boundary.ok_or_else(|| no_model("the form has no boundary"))?;
    let boundary = format!("--{boundary}");
    let mut names = Vec::new();
    let mut at: Vec<usize> = memmem::find_iter(body, &boundary).collect();
    at.push(body.len());
    for pair in at.windows(2) {
        let &[start, end] = pair else { continue };
        let part = body.get(start + boundary.len()..end).unwrap_or_default();
        let Some(head) = memmem::find(part, b"\r\n\r\n") else { continue };
        let (head, value) = part.split_at(head);
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let is_model = head.split([';', '\n']).map(str::trim).any(|field| {
            let name = field.strip_prefix("name").map(str::trim_start);
            let name = name.and_then(|name| name.strip_prefix('=')).map(str::trim);
            name.is_some_and(|name| name.trim_matches('"') == "model")
        });
        if is_model {
            let value = value.trim_ascii();
            let value = value.get(..NAME_BYTES).unwrap_or(value);
            names.push(Some(String::from_utf8_lossy(value).into_owned()));
        }
    }
    one_model(names)
}

/// Routes that ask a model something or list models.
const OPEN: [&str; 16] = [
    "POST /chat/completions",
    "POST /responses",
    "POST /messages",
    "POST /messages/count_tokens",
    "POST /embeddings",
    "POST /completions",
    "POST /moderations",
    "POST /audio/speech",
    "POST /audio/transcriptions",
    "POST /audio/translations",
    "POST /images/generations",
    "POST /images/edits",
    "POST /images/variations",
    "GET /models",
    "GET /models/*",
    "HEAD /models*",
];

/// Refuses routes that could give one client the files and answers of another. Clients that share the key of
/// an upstream share everything that its API stores.
pub(super) fn check_open_route(
    config: &Config,
    upstream: &Upstream,
    request: &Parts,
) -> Result<(), Refusal> {
    let is_shared = matches!(upstream.key, UpstreamKey::Own(_)) && config.keys.len() != 1;
    let added = config.routes.iter().map(String::as_str);
    if !is_shared || OPEN.into_iter().chain(added).any(|route| is_of(request, route)) {
        return Ok(());
    }
    let message = "this route is closed, because the clients of this gateway share the key of its \
                   upstream; add the route to `routes` in the configuration to open it";
    Err(Refusal::new(403, "route_not_open", message))
}

/// Returns whether a key may use the route of a request. A key for certain models may not use routes whose
/// models nobody sees, such as batches, unless it names them.
pub(super) fn is_open_to(key: &ClientKey, request: &Parts) -> bool {
    match (key.routes.is_empty(), key.models.is_empty()) {
        (false, _) => key.routes.iter().any(|route| is_of(request, route)),
        (true, false) => OPEN.into_iter().any(|route| is_of(request, route)),
        (true, true) => true,
    }
}

/// Returns whether a request is of a route: a path with or without a method, with or without `/v1`.
fn is_of(request: &Parts, route: &str) -> bool {
    let asked = api_path(request.uri.path()).trim_end_matches('/');
    let (method, path) = route.split_once(' ').unwrap_or(("", route));
    (method.is_empty() || method == request.method.as_str())
        && fits(below_v1(path), asked).is_some()
}

/// Returns path and query as the client wrote them, below the upstream's own base.
pub(super) fn upstream_path(request: &Parts) -> &str {
    below_v1(request.uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: &str, uri: &str) -> Parts {
        http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0
    }

    #[test]
    fn posts_with_messages_are_selected_in_with_and_without_v1() {
        let route = |method, uri| Route::of(&parts(method, uri));
        for path in ["/v1/chat/completions", "/chat/completions", "/v1/chat/completions/?a=b"] {
            assert_eq!(route("POST", path), Route::Select(Endpoint::Chat), "{path}");
        }
        assert_eq!(route("POST", "/v1/responses"), Route::Select(Endpoint::Responses));
        let azure = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21";
        assert_eq!(route("POST", azure), Route::Select(Endpoint::Chat));
        assert_eq!(route("POST", "/openai/v1/responses"), Route::Select(Endpoint::Responses));
        assert_eq!(route("POST", "/openai/deployments/e/embeddings"), Route::Pass);
        assert_eq!(route("POST", "/v1/messages"), Route::Select(Endpoint::Messages));
        assert_eq!(route("POST", "/messages?beta=true"), Route::Select(Endpoint::Messages));
        assert_eq!(route("POST", "/v1/messages/count_tokens"), Route::Pass);
        assert_eq!(route("POST", "/v1/messages/batches"), Route::Pass);
        assert_eq!(route("GET", "/v1/responses"), Route::Pass);
        assert_eq!(route("POST", "/v1/responses/resp_1/cancel"), Route::Pass);
        assert_eq!(route("POST", "/v1/embeddings"), Route::Pass);
        assert_eq!(route("GET", "/cupel/"), Route::Page);
        assert_eq!(route("GET", "/cupelx"), Route::Pass);
        assert_eq!(route("GET", "/v1/models"), Route::Models);
        assert_eq!(route("DELETE", "/v1/models"), Route::Pass);
        assert_eq!(route("GET", "/health/readiness"), Route::Readiness);
    }

    #[test]
    fn a_path_or_a_header_tells_the_protocol() {
        let of = |uri, header: &'static str| {
            let mut parts = parts("POST", uri);
            parts.headers.insert(header, "x".parse().unwrap());
            protocol(&parts)
        };
        assert_eq!(of("/v1/messages/batches", "a"), Protocol::Anthropic);
        assert_eq!(of("/v1/files", "x-api-key"), Protocol::Anthropic);
        assert_eq!(of("/v1/models", "anthropic-version"), Protocol::Anthropic);
        assert_eq!(of("/v1/models", "authorization"), Protocol::OpenAi);
        // A key of the gateway's may be in any header.
        assert_eq!(of("/v1/embeddings", "x-api-key"), Protocol::OpenAi);
    }

    #[test]
    fn a_model_is_looked_for_where_it_may_be() {
        let of = |uri, kind: &'static str| {
            let mut parts = parts("POST", uri);
            parts.headers.insert("content-type", kind.parse().unwrap());
            format!("{:?}", model_place(&parts))
        };
        assert_eq!(of("/v1/embeddings", "application/json"), "Json");
        assert_eq!(of("/v1/embeddings", "text/plain"), "Json");
        assert_eq!(of("/v1/messages/count_tokens", "application/json"), "Json");
        assert_eq!(of("/v1/audio/translations", "multipart/form-data; boundary=a"), "Form");
        assert_eq!(of("/v1/files", "multipart/form-data; boundary=a"), "Nowhere");
        assert_eq!(of("/v1/messages/batches", "application/json"), "Nowhere");
        assert_eq!(of("/v1/models/llama%2F3", "application/json"), "Path(\"llama%2F3\")");
    }

    #[test]
    fn the_rest_of_a_path_stays_as_it_was_written() {
        let path = |uri| upstream_path(&parts("GET", uri)).to_owned();
        assert_eq!(path("/v1/models?limit=2&a=%20"), "/models?limit=2&a=%20");
        assert_eq!(path("/models/ft:x"), "/models/ft:x");
        assert_eq!(path("/v1"), "");
        assert_eq!(path("/v1?a"), "?a");
        assert_eq!(path("/v1beta/models"), "/v1beta/models");
    }

    #[test]
    fn a_model_is_read_at_the_top_of_a_body_alone() {
        let of = |json: &str| model_in_json(json.as_bytes()).map_err(|refusal| refusal.code);
        assert_eq!(of(r#"{"a":{"model":"x"},"model":"llama","b":[1]}"#), Ok(Some("llama".into())));
        assert_eq!(of(r#"{"mod\u0065l":"llama"}"#), Ok(Some("llama".into())));
        assert_eq!(of("{}"), Ok(None));
        assert_eq!(of(r#"{"model":5}"#), Ok(None));
        assert_eq!(of(r#"{"model":"a","model":"b"}"#), Err(TWICE));
        assert_eq!(of(r#"{"model":"a"} x"#), Err("unreadable_model"));
        for twice in [r#"{"model":"a","model":"a"}"#, r#"{"model":"a","mod\u0065l":"b"}"#] {
            assert!(may_name_two(twice.as_bytes()), "{twice}");
            assert_eq!(of(twice), Err(TWICE));
        }
        assert!(!may_name_two(br#"{"model":"a","messages":[]}"#));
    }

    #[test]
    fn a_model_is_read_in_a_form() {
        let headers = HeaderMap::from_iter([(
            CONTENT_TYPE,
            "multipart/form-data; boundary=\"b1\"".parse().unwrap(),
        )]);
        let field = |name: &str, value: &str| {
            format!("--b1\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let of = |form: String| {
            model_in_form(&headers, format!("{form}--b1--\r\n").as_bytes())
                .map_err(|refusal| refusal.code)
        };
        assert_eq!(of(field("file", "model") + &field("model", "w-1")), Ok(Some("w-1".into())));
        assert_eq!(of(field("file", "x")), Ok(None));
        assert_eq!(of(field("model", "a") + &field("model", "b")), Err(TWICE));
        assert!(model_in_form(&HeaderMap::new(), b"").is_err());
    }
}
