//! Who may ask at all, and for what: looked at before anything else of a request is.

mod host;
mod path;

use std::net::SocketAddr;

use http::header::{self, HeaderMap};
use http::request::Parts;
use http::{Method, StatusCode, Version};

pub(crate) use host::{Hosts, host_of};

use crate::answer::Refusal;

/// Refuses what a server of this kind has no business with.
///
/// `reached`: the address of ours that the client has connected to, if it is known.
pub(crate) fn check(
    request: &Parts,
    hosts: &Hosts,
    reached: Option<SocketAddr>,
) -> Result<(), Refusal> {
    let bad = |message: &str| Refusal::new(StatusCode::BAD_REQUEST, "bad_request", message);
    if request.version == Version::HTTP_09 || request.method == Method::CONNECT {
        return Err(bad("this kind of request is not served here"));
    }
    if request.uri.scheme().is_some() || request.uri.authority().is_some() {
        return Err(bad("this is no open proxy: ask for a path, not for an address"));
    }
    let headers = &request.headers;
    // Java's client offers HTTP/2 with its first request and goes on without; others would wait.
    let is_offer = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"h2c");
    if !headers.get_all(header::UPGRADE).iter().all(is_offer) {
        return Err(bad("connections are not upgraded here"));
    }
    let host = host_of(headers).ok_or_else(|| bad("expected one Host header"))?;
    if !hosts.allow(host, reached) {
        let message = "this host is not served here; add it to `hosts` in the configuration";
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "unknown_host", message));
    }
    check_origin(headers, host)?;
    if !path::is_plain(request.uri.path()) {
        return Err(bad("the path has parts that lead elsewhere"));
    }
    Ok(())
}

/// A page of another site may not ask, whatever it would be allowed to read.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let same = |origin: &http::HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let site = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
        site.is_some_and(|site| site.eq_ignore_ascii_case(host))
    };
    let site = headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes);
    let cross = matches!(site, Some(site) if site != b"same-origin" && site != b"none");
    // A page without a referrer posts without an origin; a browser says whose page it was.
    let own = |origin: &http::HeaderValue| site == Some(b"same-origin") && origin == "null";
    if cross || !origins.all(|origin| same(origin) || own(origin)) {
        let message = "requests from pages of other sites are not taken";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "cross_site", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(uri: &str, lines: &[(&str, &str)]) -> Result<(), u16> {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let hosts = Hosts::new("127.0.0.1:4141".parse().unwrap(), &["llm.example.org".to_owned()]);
        check(&request.body(()).unwrap().into_parts().0, &hosts, None)
            .map_err(|refusal| refusal.status().as_u16())
    }

    #[test]
    fn a_request_for_this_host_is_taken() {
        for host in ["127.0.0.1:4141", "localhost:4141", "LLM.example.org", "llm.example.org:443"] {
            assert_eq!(checked("/v1/models", &[("host", host)]), Ok(()), "{host}");
        }
        let same = [("host", "localhost:4141"), ("origin", "http://localhost:4141")];
        assert_eq!(checked("/cupel/", &same), Ok(()));
        let own =
            [("host", "localhost:4141"), ("origin", "null"), ("sec-fetch-site", "same-origin")];
        assert_eq!(checked("/cupel/login", &own), Ok(()));
        let offer = [("host", "localhost:4141"), ("upgrade", "h2c")];
        assert_eq!(checked("/v1/models", &offer), Ok(()));
    }

    #[test]
    fn others_are_not() {
        let host = ("host", "localhost:4141");
        for (uri, lines, status) in [
            ("/", vec![], 400),
            ("/", vec![host, host], 400),
            ("/", vec![("host", "evil.example:4141")], 421),
            ("/", vec![("host", "localhost:9999")], 421),
            ("/", vec![("host", "localhost:4141@evil.example")], 421),
            ("/", vec![host, ("origin", "http://evil.example")], 403),
            ("/", vec![host, ("origin", "null")], 403),
            ("/", vec![host, ("origin", "http://localhost:4141"), ("origin", "http://a")], 403),
            ("/", vec![host, ("origin", "http://localhost:9999")], 403),
            ("/", vec![host, ("sec-fetch-site", "cross-site")], 403),
            ("/", vec![host, ("sec-fetch-site", "same-site")], 403),
            ("/", vec![host, ("sec-fetch-site", "cross-site"), ("origin", "null")], 403),
            ("/", vec![host, ("upgrade", "websocket")], 400),
            ("http://evil.example/v1/models", vec![host], 400),
            ("/v1/../admin", vec![host], 400),
        ] {
            assert_eq!(checked(uri, &lines), Err(status), "{uri} {lines:?}");
        }
    }
}
