//! Which requests are selected in, which are ours, and that all others pass.

use cupel_json::Endpoint;
use http::request::Parts;
use http::{HeaderMap, Method};

use crate::answer::Shape;

/// Who answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Whether we live.
    Health(Health),
    /// The page of recent calls.
    Page,
    /// A request with messages.
    Select(Endpoint),
    /// A question of how many tokens some messages are: it goes to the model's upstream.
    CountTokens,
    /// Everything else.
    Pass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Liveness,
    Readiness,
}

impl Route {
    pub(super) fn of(request: &Parts) -> Self {
        let path = request.uri.path();
        if path == "/cupel" || path.starts_with("/cupel/") {
            return Self::Page;
        }
        match (request.method == Method::POST, below_v1(path).trim_end_matches('/')) {
            (true, "/chat/completions") => Self::Select(Endpoint::Chat),
            (true, "/responses") => Self::Select(Endpoint::Responses),
            (true, "/messages") => Self::Select(Endpoint::Messages),
            (true, "/messages/count_tokens") => Self::CountTokens,
            _ => match path {
                "/health/liveness" => Self::Health(Health::Liveness),
                "/health/readiness" => Self::Health(Health::Readiness),
                _ => Self::Pass,
            },
        }
    }

    /// Whose shape errors have.
    pub(super) fn shape(self, headers: &HeaderMap) -> Shape {
        match self {
            Self::Select(Endpoint::Messages) | Self::CountTokens => Shape::Anthropic,
            // Of what passes it is not known whose it is, but Anthropic's clients say so.
            Self::Pass if headers.contains_key("anthropic-version") => Shape::Anthropic,
            _ => Shape::OpenAi,
        }
    }

    /// A name for logs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Health(_) => "health",
            Self::Page => "page",
            Self::Select(Endpoint::Chat) => "chat",
            Self::Select(Endpoint::Responses) => "responses",
            Self::Select(Endpoint::Messages) => "messages",
            Self::Select(_) => "select",
            Self::CountTokens => "count_tokens",
            Self::Pass => "pass",
        }
    }
}

/// A name for logs and the page.
pub(super) fn name(endpoint: Endpoint) -> &'static str {
    Route::Select(endpoint).name()
}

/// Clients are told a base with or without it; an upstream's address has its own.
fn below_v1(path: &str) -> &str {
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
        assert_eq!(route("POST", "/v1/messages/count_tokens"), Route::CountTokens);
        assert_eq!(route("POST", "/v1/messages/batches"), Route::Pass);
        assert_eq!(route("GET", "/v1/responses"), Route::Pass);
        assert_eq!(route("POST", "/v1/responses/resp_1/cancel"), Route::Pass);
        assert_eq!(route("POST", "/v1/embeddings"), Route::Pass);
        assert_eq!(route("GET", "/cupel/"), Route::Page);
        assert_eq!(route("GET", "/cupelx"), Route::Pass);
        assert_eq!(route("GET", "/health/readiness"), Route::Health(Health::Readiness));
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
