//! Record of one request: filled while it is served, then written to the access log and the metrics.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cupel_otel::{ModelCallSpan, ModelCallUsage};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use ipnet::IpNet;

use crate::answer::{header_value, visible};
use crate::calls::milliseconds;
use crate::credentials::{hex, random};
use crate::key_limits::KeyLimits;
use crate::metrics::{EndedRequest, GatewayMetrics};
use crate::proxy::Usage;

/// Header with the name of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The same for answers, where an upstream may have its own `x-request-id`.
const OWN_REQUEST_ID: HeaderName = HeaderName::from_static("x-cupel-request-id");

/// Longest name of a request that is taken from a client, and longest path in the log.
const ID_BYTES: usize = 128;
const PATH_CHARACTERS: usize = 200;

/// Reason of an end without a failure.
const COMPLETE: &str = "complete";

/// Status in the log of a request whose client closed the connection.
pub(crate) const CLIENT_CLOSED: u16 = 499;

/// Receivers of the records.
#[derive(Debug, Clone)]
pub(crate) struct RecordSinks {
    pub(crate) metrics: Arc<GatewayMetrics>,
    pub(crate) limits: Arc<KeyLimits>,
    pub(crate) is_logged: bool,
}

/// Request that is being served. Dropped before its end, it records that the client closed the connection.
#[derive(Debug)]
pub(crate) struct RequestRecord {
    pub(crate) started: Instant,
    id: String,
    client: Option<IpAddr>,
    method: String,
    path: String,
    route: &'static str,
    sinks: RecordSinks,
    /// Span of the call, for requests with messages.
    span: Option<ModelCallSpan>,
    known: Mutex<KnownFields>,
}

/// Fields that become known while a request is served.
#[derive(Debug, Default, Clone)]
struct KnownFields {
    key: Option<String>,
    /// Name of the key if its tokens are limited.
    limited_key: Option<String>,
    tenant: Option<String>,
    model: Option<String>,
    upstream: Option<String>,
    outcome: Option<&'static str>,
    report: Option<String>,
    request_bytes: Option<u64>,
    sent: Option<i64>,
    left_out: Option<i64>,
    own: Option<Duration>,
    answered: Option<Duration>,
    is_passed_on: bool,
    has_ended: bool,
}

/// End of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestEnd {
    pub(crate) status: u16,
    pub(crate) reason: &'static str,
    pub(crate) bytes: u64,
    pub(crate) usage: Option<Usage>,
}

impl RequestRecord {
    pub(crate) fn begin(
        request: &Parts,
        client: Option<IpAddr>,
        route: &'static str,
        sinks: RecordSinks,
        has_messages: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            id: request_id(&request.headers),
            client,
            method: visible(request.method.as_str(), 20),
            // Without the query, where some clients put their keys.
            path: visible(request.uri.path(), PATH_CHARACTERS),
            route,
            sinks,
            span: has_messages.then(|| ModelCallSpan::begin("chat")).flatten(),
            known: Mutex::default(),
        })
    }

    pub(crate) fn key(&self, name: &str, limits_tokens: bool) {
        let mut known = self.known();
        known.key = Some(name.to_owned());
        known.limited_key = limits_tokens.then(|| name.to_owned());
    }

    pub(crate) fn tenant(&self, tenant: &str) {
        self.known().tenant = Some(tenant.to_owned());
    }

    pub(crate) fn model(&self, model: &str) {
        self.known().model = Some(model.to_owned());
        self.span.iter().for_each(|span| span.model(model));
    }

    /// Returns the span of the call, if it is recorded.
    pub(crate) fn span(&self) -> Option<&ModelCallSpan> {
        self.span.as_ref()
    }

    pub(crate) fn request_bytes(&self, bytes: usize) {
        self.known().request_bytes = u64::try_from(bytes).ok();
    }

    /// Notes how a request with messages was fitted, or the code of the reason why not.
    pub(crate) fn outcome(&self, outcome: &'static str, report: &str, tokens: Option<(i64, i64)>) {
        let mut known = self.known();
        // A call that the upstream refused as too long is followed by another one.
        let before = known.sent.unwrap_or(0);
        (known.outcome, known.report) = (Some(outcome), Some(report.to_owned()));
        (known.sent, known.left_out) = (tokens.map(|both| both.0), tokens.map(|both| both.1));
        if let (Some(key), Some((sent, _))) = (&known.limited_key, tokens) {
            self.sinks.limits.spend(key, sent.saturating_sub(before));
        }
    }

    /// Notes that the request goes to an upstream now.
    pub(crate) fn sending(&self, upstream: &str) {
        let mut known = self.known();
        known.upstream = Some(upstream.to_owned());
        known.own = Some(self.started.elapsed());
    }

    /// Notes that the upstream's answer has begun. Its end ends the record.
    pub(crate) fn answering(&self) {
        let mut known = self.known();
        known.answered = Some(self.started.elapsed());
        known.is_passed_on = true;
    }

    /// Ends the record of an answer of the gateway's own.
    pub(crate) fn answered_here(&self, status: u16) {
        if !self.known().is_passed_on {
            self.end(RequestEnd { status, reason: COMPLETE, bytes: 0, usage: None });
        }
    }

    /// Ends the record of a refused request.
    pub(crate) fn refused(&self, status: u16, code: &'static str) {
        self.known().outcome.get_or_insert(code);
        self.end(RequestEnd { status, reason: code, bytes: 0, usage: None });
    }

    /// Writes the record. Only the first end counts.
    pub(crate) fn end(&self, end: RequestEnd) {
        let mut known = self.known();
        if std::mem::replace(&mut known.has_ended, true) {
            return;
        }
        let known = known.clone();
        let total = self.started.elapsed();
        if let (Some(key), Some(usage)) = (&known.limited_key, end.usage) {
            let spent = usage.input.saturating_add(usage.output);
            self.sinks.limits.spend(key, spent.saturating_sub(known.sent.unwrap_or(0)));
        }
        let outcome = known.outcome.unwrap_or("passed");
        if let Some(span) = &self.span {
            if let Some(Usage { input, cached, written, output }) = end.usage {
                let (cache_read, cache_creation) = (cached, written);
                span.usage(&ModelCallUsage { input, cache_read, cache_creation, output });
            }
            span.status(end.status);
            let failed = end.status >= 400 || end.reason != COMPLETE;
            let error = if end.reason == COMPLETE { "upstream_refused" } else { end.reason };
            span.end(failed.then_some(error));
        }
        let upstream_time = known.answered.zip(known.own).map(|(to, from)| to.saturating_sub(from));
        self.sinks.metrics.ended(&EndedRequest {
            route: self.route,
            status: end.status,
            model: known.report.as_ref().map(|_| known.model.as_deref().unwrap_or_default()),
            upstream: known.upstream.as_deref(),
            outcome,
            sent: known.sent,
            left_out: known.left_out,
            usage: end.usage,
            total,
            own: known.own,
            upstream_time,
        });
        if !self.sinks.is_logged || self.route == "health" {
            return;
        }
        tracing::info!(
            target: "cupel_gateway::access",
            request = self.id,
            client = self.client.map(tracing::field::display),
            tenant = known.tenant,
            key = known.key,
            method = self.method,
            path = self.path,
            route = self.route,
            model = known.model,
            upstream = known.upstream,
            status = end.status,
            end = end.reason,
            outcome,
            request_bytes = known.request_bytes,
            bytes = end.bytes,
            tokens = known.sent,
            dropped = known.left_out,
            counted = end.usage.map(|usage| usage.input),
            cached = end.usage.map(|usage| usage.cached),
            cache_written = end.usage.map(|usage| usage.written),
            output = end.usage.map(|usage| usage.output),
            milliseconds = milliseconds(total),
            own_milliseconds = known.own.map(milliseconds),
            upstream_milliseconds = upstream_time.map(milliseconds),
            report = known.report,
        );
    }

    /// Adds the name of the request to an answer. An upstream's own name stays.
    pub(crate) fn name_in(&self, headers: &mut HeaderMap) {
        let id = header_value(&self.id);
        headers.entry(REQUEST_ID).or_insert_with(|| id.clone());
        headers.insert(OWN_REQUEST_ID, id);
    }

    fn known(&self) -> MutexGuard<'_, KnownFields> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        self.end(RequestEnd {
            status: CLIENT_CLOSED,
            reason: "client_closed",
            bytes: 0,
            usage: None,
        });
    }
}

/// Returns the client's name for a request, or a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).map(HeaderValue::as_bytes).unwrap_or_default();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/=+".contains(byte);
    match std::str::from_utf8(given) {
        Ok(id) if !id.is_empty() && id.len() <= ID_BYTES && given.iter().all(is_plain) => {
            id.to_owned()
        }
        _ => hex(&random::<12>().unwrap_or_default()),
    }
}

/// Returns the client's address. Trusted proxies say it in `X-Forwarded-For`: it is the last address there
/// that is not a trusted proxy's.
pub(crate) fn client_address(
    headers: &HeaderMap,
    peer: Option<IpAddr>,
    trusted: &[IpNet],
) -> Option<IpAddr> {
    let is_trusted = |ip: &IpAddr| trusted.iter().any(|range| range.contains(ip));
    let mut client = peer?;
    let lists = headers.get_all("x-forwarded-for").iter().rev();
    let mut named = lists.flat_map(|list| list.to_str().unwrap_or("?").split(',').rev());
    while is_trusted(&client) {
        // A name that is no address ends the search: everything before it may be made up.
        let Some(Ok(before)) = named.next().map(|name| name.trim().parse::<IpAddr>()) else {
            break;
        };
        client = before.to_canonical();
    }
    Some(client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_say_where_a_client_is() {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "192.0.2.9/32".parse().unwrap()];
        let of = |peer: &str, forwarded: &[&str]| {
            let lines = forwarded
                .iter()
                .map(|value| (HeaderName::from_static("x-forwarded-for"), value.parse().unwrap()));
            let client = client_address(&lines.collect(), peer.parse().ok(), &trusted);
            client.unwrap().to_string()
        };
        assert_eq!(of("198.51.100.1", &["1.2.3.4"]), "198.51.100.1");
        assert_eq!(of("10.0.0.1", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(of("10.0.0.1", &["6.6.6.6, 1.2.3.4", "192.0.2.9, 10.1.1.1"]), "1.2.3.4");
        assert_eq!(of("10.0.0.1", &["1.2.3.4, unknown, 10.1.1.1"]), "10.1.1.1");
        assert_eq!(of("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn a_name_that_could_break_a_line_is_not_taken() {
        let of = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            request_id(&HeaderMap::from_iter([(REQUEST_ID, value)]))
        };
        assert_eq!(of("req-1_a.b:c"), "req-1_a.b:c");
        for other in ["a b", "a\"b", "", &"x".repeat(129)] {
            assert_eq!(of(other).len(), 24, "{other}");
        }
    }
}
