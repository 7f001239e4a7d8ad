//! Checks before anything else: host, origin, path and key of a request.

use std::net::{IpAddr, SocketAddr};

use http::header::{self, HOST, HeaderMap};
use http::request::Parts;
use http::{HeaderValue, Method, Version};
use percent_encoding::percent_decode;

use crate::answer::Refusal;
use crate::config::ClientKey;
use crate::credentials::gateway_key;

/// Addresses of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectionEnds {
    /// Address of this server that the client connected to, if it is known.
    pub(crate) reached: Option<SocketAddr>,
    pub(crate) client: Option<IpAddr>,
    /// Set if the connection is beyond the limit, and only for health checks.
    pub(crate) is_for_health: bool,
}

/// Refuses requests that are not for this server.
///
/// `reached` is the address of this server that the client connected to, if it is known.
pub(crate) fn check(
    request: &Parts,
    hosts: &Hosts,
    reached: Option<SocketAddr>,
) -> Result<(), Refusal> {
    let bad = |message: &str| Refusal::new(400, "bad_request", message);
    if request.version == Version::HTTP_09 || request.method == Method::CONNECT {
        return Err(bad("CONNECT and HTTP/0.9 are not supported"));
    }
    if request.method == Method::TRACE {
        // Its answer would show the headers that were sent, with the upstream's key.
        return Err(Refusal::new(405, "no_trace", "TRACE is not supported"));
    }
    if request.uri.scheme().is_some() || request.uri.authority().is_some() {
        return Err(bad("this is no open proxy: expected a path, got an absolute address"));
    }
    let headers = &request.headers;
    // Java's client offers HTTP/2 and goes on without it. Other clients would wait for an answer.
    let is_offer = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"h2c");
    if !headers.get_all(header::UPGRADE).iter().all(is_offer) {
        return Err(bad("connections cannot be upgraded"));
    }
    let host = host_of(headers).ok_or_else(|| bad("expected one Host header"))?;
    if !hosts.allow(host, reached) {
        let message =
            "the Host header names another server; add the name to `hosts` in the configuration";
        return Err(Refusal::new(421, "unknown_host", message));
    }
    check_origin(headers, host)?;
    if !is_plain(request.uri.path()) {
        return Err(bad("the path contains `.` or `..` segments, `//`, or control characters"));
    }
    Ok(())
}

/// Refuses requests from pages of other sites.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let same = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let site = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
        site.is_some_and(|site| site.eq_ignore_ascii_case(host))
    };
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let cross = matches!(site, Some(site) if site != b"same-origin" && site != b"none");
    // A page without a referrer posts without an origin. The browser then says that it is the same site.
    let own = |origin: &HeaderValue| site == Some(b"same-origin") && origin == "null";
    if cross || !origins.all(|origin| same(origin) || own(origin)) {
        let message = "requests from pages of other sites are not allowed";
        return Err(Refusal::new(403, "cross_site", message));
    }
    Ok(())
}

/// Returns the key of a caller. Refuses callers without one of the configured keys, if there are any.
pub(crate) fn check_key<'a>(
    keys: &'a [ClientKey],
    headers: &HeaderMap,
) -> Result<Option<&'a ClientKey>, Refusal> {
    let shown = gateway_key(headers).unwrap_or_default();
    // All keys are compared, each in constant time, so that the time tells nothing.
    let found = keys.iter().fold(None, |found, key| if key.is(shown) { Some(key) } else { found });
    if keys.is_empty() || found.is_some() {
        return Ok(found);
    }
    let message = "this gateway needs a key: as the client's API key, or in the header x-cupel-key";
    Err(Refusal::new(401, "invalid_api_key", message))
}

/// Host names of this server, in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    exact: Vec<String>,
    /// Names without a port. They match any port, because a load balancer may have its own.
    names: Vec<String>,
}

impl Hosts {
    /// Collects the address, `localhost`, and the configured names.
    pub(crate) fn new(listen: SocketAddr, configured: &[String]) -> Self {
        let mut exact = forms(listen);
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                exact.extend(with_port(name, listen.port()));
            }
        }
        let mut names = Vec::new();
        for host in configured.iter().map(|host| host.to_ascii_lowercase()) {
            match port_of(&host) {
                Some(_) => exact.push(host),
                None => names.push(host),
            }
        }
        Self { exact, names }
    }

    /// Returns whether a host is one of our names or the address that was `reached`. Health checks use that
    /// address, and a page of another site cannot have it as its name.
    pub(crate) fn allow(&self, host: &str, reached: Option<SocketAddr>) -> bool {
        let host = host.to_ascii_lowercase();
        let name = port_of(&host).and_then(|port| host.strip_suffix(port)?.strip_suffix(':'));
        let name = name.unwrap_or(&host);
        self.exact.contains(&host)
            || self.names.iter().any(|own| own == name)
            || reached.is_some_and(|address| forms(address).contains(&host))
    }
}

/// Returns the forms of an address in a `Host` header.
fn forms(address: SocketAddr) -> Vec<String> {
    // A dual-stack socket sees IPv4 addresses in IPv6 form.
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => with_port(&ip.to_string(), address.port()),
        IpAddr::V6(ip) => with_port(&format!("[{ip}]"), address.port()),
    }
}

/// Returns a name with its port; port 80 may be left out.
fn with_port(name: &str, port: u16) -> Vec<String> {
    let mut forms = vec![format!("{name}:{port}")];
    forms.extend((port == 80).then(|| name.to_owned()));
    forms
}

/// Returns the digits after the last colon.
fn port_of(host: &str) -> Option<&str> {
    let (_, port) = host.rsplit_once(':')?;
    (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())).then_some(port)
}

/// Returns the `Host` header, if there is exactly one.
fn host_of(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    (hosts.next().is_none() && !host.is_empty()).then_some(host)
}

/// Times that servers behind the gateway may decode a path.
const DECODINGS: usize = 4;

/// Returns whether no segment of a path leads elsewhere, even if the path is decoded several times.
fn is_plain(path: &str) -> bool {
    let odd = path.bytes().any(|byte| byte == b'\\' || byte.is_ascii_control());
    if !path.starts_with('/') || path.contains("//") || odd {
        return false;
    }
    let mut decoded = path.as_bytes().to_vec();
    for _ in 0..DECODINGS {
        if !decoded.split(|byte| matches!(byte, b'/' | b'\\')).all(is_plain_segment) {
            return false;
        }
        decoded = percent_decode(&decoded).collect();
    }
    true
}

fn is_plain_segment(segment: &[u8]) -> bool {
    segment != b"." && segment != b".." && !segment.contains(&0)
}

/// Decodes a percent-encoded part of a path.
pub(crate) fn decoded(part: &str) -> String {
    percent_decode(part.as_bytes()).decode_utf8_lossy().into_owned()
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
            .map_err(|refusal| refusal.status)
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

    #[test]
    fn the_address_that_was_reached_is_a_name_and_no_other_is() {
        let hosts = Hosts::new("0.0.0.0:4141".parse().unwrap(), &[]);
        let reached = |host: &str, address: &str| hosts.allow(host, address.parse().ok());
        assert!(reached("10.0.0.5:4141", "10.0.0.5:4141"));
        assert!(reached("10.0.0.5:4141", "[::ffff:10.0.0.5]:4141"));
        assert!(reached("[fd00::5]:4141", "[fd00::5]:4141"));
        for other in ["10.0.0.5", "10.0.0.6:4141", "10.0.0.5:80", "10.0.0.5.evil.example:4141"] {
            assert!(!reached(other, "10.0.0.5:4141"), "{other}");
        }
    }

    #[test]
    fn the_usual_port_may_be_left_out() {
        let hosts = Hosts::new("127.0.0.1:80".parse().unwrap(), &[]);
        assert!(hosts.allow("localhost", None) && hosts.allow("127.0.0.1:80", None));
        let hosts = Hosts::new("127.0.0.1:4141".parse().unwrap(), &[]);
        assert!(!hosts.allow("localhost", None));
    }

    #[test]
    fn ordinary_paths_are_plain() {
        for path in [
            "/",
            "/v1/models",
            "/v1/models/ft:gpt-4o:a::b",
            "/v1/models/meta%2Fllama",
            "/v1/files/",
            "/v1/a.b/..c",
            "/v1/100%",
        ] {
            assert!(is_plain(path), "{path}");
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_not() {
        for path in [
            "",
            "*",
            "//evil.example/",
            "/v1//models",
            "/v1/../x",
            "/v1/..",
            "/v1/%2e%2E/x",
            "/v1/.%2e/x",
            "/v1/./x",
            "/v1/a%2f..%2fb",
            "/v1/a%5c..%5cb",
            "/v1/a\\b",
            "/v1/%252e%252e/x",
            "/v1/%25252e%25252e/x",
            "/v1/%00",
        ] {
            assert!(!is_plain(path), "{path}");
        }
    }
}
