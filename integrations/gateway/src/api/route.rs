//! Which requests are selected in, which are ours, and that all others pass.

use cupel_json::Endpoint;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};

use crate::answer::Refusal;
use crate::config::{Config, Protocol, Upstream, UpstreamKey, fits};

/// Who answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// The question if we live.
    Liveness,
    /// The question if we take requests.
    Readiness,
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
        match (&request.method, below_v1(path).trim_end_matches('/')) {
            (&Method::POST, "/chat/completions") => Self::Select(Endpoint::Chat),
            (&Method::POST, "/responses") => Self::Select(Endpoint::Responses),
            (&Method::POST, "/messages") => Self::Select(Endpoint::Messages),
            (&Method::GET, "/models") => Self::Models,
            _ => match path {
                "/health/liveness" => Self::Liveness,
                "/health/readiness" => Self::Readiness,
                _ => Self::Pass,
            },
        }
    }

    /// Protocol in whose shape errors are. Clients of Anthropic's say which version they speak.
    pub(super) fn shape(self, request: &Parts) -> Protocol {
        let says_so = request.headers.contains_key("anthropic-version")
            || request.uri.path().ends_with("/count_tokens");
        match self {
            Self::Select(Endpoint::Messages) => Protocol::Anthropic,
            Self::Models | Self::Pass if says_so => Protocol::Anthropic,
            _ => Protocol::OpenAi,
        }
    }

    /// A name for logs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Liveness | Self::Readiness => "health",
            Self::Page => "page",
            Self::Select(Endpoint::Chat) => "chat",
            Self::Select(Endpoint::Responses) => "responses",
            Self::Select(Endpoint::Messages) => "messages",
            Self::Select(_) => "select",
            Self::Models => "models",
            Self::Pass => "pass",
        }
    }
}

/// The protocol of a request. Some paths belong to one; on others Anthropic's clients say so.
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
    let path = below_v1(request.uri.path());
    let says_so = |headers: &HeaderMap| {
        headers.contains_key("anthropic-version") || headers.contains_key("x-api-key")
    };
    match path {
        _ if path == "/messages" || path.starts_with("/messages/") => Protocol::Anthropic,
        _ if OPENAI.iter().any(|beginning| path.starts_with(beginning)) => Protocol::OpenAi,
        _ if says_so(&request.headers) => Protocol::Anthropic,
        _ => Protocol::OpenAi,
    }
}

/// The place where a request that passes may name its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming<'a> {
    /// In its path.
    Path(&'a str),
    /// In a JSON body.
    Json,
    /// In a form with a file.
    Form,
    /// Nowhere.
    Nowhere,
}

/// Finds where a request names its model. Bodies of files and batches may be of any length, and name none.
pub(super) fn naming(request: &Parts) -> Naming<'_> {
    const NO_MODEL: [&str; 5] =
        ["/files", "/uploads", "/batches", "/messages/batches", "/vector_stores"];
    let path = below_v1(request.uri.path());
    if let Some(model) = path.strip_prefix("/models/") {
        return Naming::Path(model);
    }
    let is_below = |beginning: &&str| {
        path.strip_prefix(*beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if request.method != Method::POST || NO_MODEL.iter().any(is_below) {
        return Naming::Nowhere;
    }
    let kind = request.headers.get(http::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.trim_start().get(..19) {
        Some(kind) if kind.eq_ignore_ascii_case("multipart/form-data") => {
            match path.starts_with("/audio/") || path.starts_with("/images/") {
                true => Naming::Form,
                false => Naming::Nowhere,
            }
        }
        _ => Naming::Json,
    }
}

/// Routes that ask a model something, and say which there are.
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

/// Refuses what would give one client the others' files and answers: those who share an upstream's own key
/// share all that its API has.
pub(super) fn check_open(
    config: &Config,
    upstream: &Upstream,
    request: &Parts,
) -> Result<(), Refusal> {
    let is_shared = matches!(upstream.key, UpstreamKey::Own(_)) && config.keys.len() != 1;
    let asked = below_v1(request.uri.path()).trim_end_matches('/');
    let is_open = |route: &str| {
        let (method, path) = route.split_once(' ').unwrap_or(("", route));
        (method.is_empty() || method == request.method.as_str())
            && fits(below_v1(path), asked).is_some()
    };
    let added = config.routes.iter().map(String::as_str);
    if !is_shared || OPEN.into_iter().chain(added).any(is_open) {
        return Ok(());
    }
    let message = "this route is not open to the clients of this gateway, who share the key of its \
                   upstream; add it to `routes` in the configuration";
    Err(Refusal::new(StatusCode::FORBIDDEN, "route_not_open", message))
}

/// Clients are told a base with or without it; an upstream's address has its own.
pub(super) fn below_v1(path: &str) -> &str {
    match path.strip_prefix("/v1") {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '?']) => rest,
        _ => path,
    }
}

/// What is asked of an upstream: path and query as they were written, below its own base.
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
            format!("{:?}", naming(&parts))
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
}
