//! Which headers pass, in either direction.

use http::header::{self, HeaderMap, HeaderName};

/// Headers that are about one connection.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Older ones, which have no name in the library.
const OLDER: [&str; 3] = ["keep-alive", "proxy-connection", "trailers"];

/// Where clients put their keys.
const CREDENTIALS: [&str; 6] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
    "cookie",
];

/// Ours; they mean something between a client and the gateway only.
const OURS: &str = "x-cupel-";

/// Takes out what is not for the other side: what is about the connection, what `Connection` names,
/// and ours. Lengths are written anew by whoever sends the body.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let ours: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(OURS)).cloned().collect();
    for name in HOP_BY_HOP.iter().chain(&named).chain(&ours) {
        headers.remove(name);
    }
    for name in OLDER {
        headers.remove(name);
    }
    headers.remove(header::CONTENT_LENGTH);
}

/// Takes out what is for this server alone.
pub(crate) fn strip_request(headers: &mut HeaderMap) {
    strip(headers);
    headers.remove(header::HOST);
    headers.remove(header::EXPECT);
}

/// Takes out every key of the client's.
pub(crate) fn strip_credentials(headers: &mut HeaderMap) {
    for name in CREDENTIALS {
        headers.remove(name);
    }
}

/// Takes out the keys of the client's that are the gateway's own: no upstream has a use for them.
pub(crate) fn strip_own(headers: &mut HeaderMap, is_own: impl Fn(&[u8]) -> bool) {
    for name in CREDENTIALS {
        if headers.get_all(name).iter().any(|value| is_own(bearer(value.as_bytes()))) {
            headers.remove(name);
        }
    }
}

/// Carries a key of the gateway's where the usual header is for the upstream.
const KEY: &str = "x-cupel-key";

/// The key a caller shows to the gateway.
pub(crate) fn shown(headers: &HeaderMap) -> Option<&[u8]> {
    let own = headers.get(KEY).map(http::HeaderValue::as_bytes);
    own.or_else(|| credential(headers))
}

/// What tells callers apart: the key they show to the gateway, and the one for the upstream beside it.
pub(crate) fn identity(headers: &HeaderMap) -> [&[u8]; 2] {
    let own = headers.get(KEY).map(http::HeaderValue::as_bytes).unwrap_or_default();
    [own, credential(headers).unwrap_or_default()]
}

/// The key that a client shows, whatever header it is in.
fn credential(headers: &HeaderMap) -> Option<&[u8]> {
    CREDENTIALS
        .into_iter()
        .filter(|name| *name != "cookie")
        .find_map(|name| headers.get(name))
        .map(|value| bearer(value.as_bytes()))
}

/// A key without the word that says what it is.
fn bearer(value: &[u8]) -> &[u8] {
    match value.split_at_checked(7) {
        Some((word, key)) if word.eq_ignore_ascii_case(b"bearer ") => key.trim_ascii(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn what_is_about_a_connection_stays_behind() {
        let mut all = headers(&[
            ("connection", "keep-alive, X-Private"),
            ("connection", "other"),
            ("x-private", "1"),
            ("other", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "Basic x"),
            ("x-cupel-bypass", "1"),
            ("x-cupel-anything", "1"),
            ("content-length", "5"),
            ("host", "a"),
            ("x-kept", "1"),
            ("authorization", "Bearer sk-1"),
        ]);
        strip_request(&mut all);
        let mut left: Vec<&str> = all.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["authorization", "x-kept"]);
        strip_credentials(&mut all);
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn the_gateways_own_keys_stay_here_and_others_do_not() {
        let mut all = headers(&[
            ("authorization", "bearer  gate-1"),
            ("api-key", "gate-1"),
            ("x-api-key", "sk-1"),
        ]);
        strip_own(&mut all, |key| key == b"gate-1");
        let left: Vec<&str> = all.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["x-api-key"]);
    }

    #[test]
    fn a_key_is_found_wherever_clients_put_it() {
        let key = |name, value| credential(&headers(&[(name, value)])).map(<[u8]>::to_vec);
        assert_eq!(key("authorization", "Bearer sk-1").unwrap(), b"sk-1");
        assert_eq!(key("authorization", "bearer  sk-1").unwrap(), b"sk-1");
        assert_eq!(key("x-api-key", "sk-1").unwrap(), b"sk-1");
        assert_eq!(key("api-key", "sk-1").unwrap(), b"sk-1");
        assert_eq!(key("cookie", "sk-1"), None);
    }
}
