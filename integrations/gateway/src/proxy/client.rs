//! Client for upstreams: one pool of connections, and the headers that pass in either direction.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self as pool, Client as Pool};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::de::DeserializeOwned;
use tokio::time::error::Elapsed;

use super::connect::{CONNECT, Connector, Replay, connector, is_unsent};
use super::environment::{Proxies, Proxy, ProxyKind};
use super::failure::{PROXY_CREDENTIALS, reason};
use super::tls::client_config;
use crate::answer::{Body, BoxError, Refusal, full};
use crate::api_path::deployment;
use crate::config::{ClientKey, Config, Upstream, UpstreamConnection, UpstreamKey};
use crate::credentials::{CREDENTIAL_HEADERS, without_scheme};

/// Time after which an idle connection is closed: before most servers would.
const IDLE: Duration = Duration::from_secs(50);

/// Sends requests to upstreams. It does not follow redirects.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamClient {
    /// Pool of sources, and of upstreams without settings of their own.
    pool: UpstreamPool,
    /// Pools of the other upstreams, by their settings.
    others: Arc<[(UpstreamConnection, UpstreamPool)]>,
    answer_time: Duration,
    /// Keys of the gateway, which no upstream gets.
    keys: Arc<[ClientKey]>,
}

impl UpstreamClient {
    /// # Errors
    ///
    /// Returns everything that is wrong with the settings of connections.
    pub(crate) fn new(config: &Config) -> Result<Self, Vec<String>> {
        let default = UpstreamConnection::default();
        let mut problems = Vec::new();
        let proxies = Proxies::read(|name| std::env::var(name).ok());
        let proxies = proxies.map_err(|mut wrong| problems.append(&mut wrong)).unwrap_or_default();
        let (proxies, direct) = (Arc::new(proxies), Arc::new(Proxies::none()));
        let mut pool = |connection: &UpstreamConnection, path: &str| {
            let proxies = if connection.is_direct { &direct } else { &proxies };
            let opened = UpstreamPool::new(connection, proxies);
            opened.map_err(|(key, why)| problems.push(format!("{path}{key}: {why}"))).ok()
        };
        let first = pool(&default, "");
        let mut others: Vec<(UpstreamConnection, UpstreamPool)> = Vec::new();
        for (index, upstream) in config.upstreams.iter().enumerate() {
            let connection = &upstream.connection;
            if *connection != default && others.iter().all(|(known, _)| known != connection) {
                let opened = pool(connection, &format!("upstreams[{index}]."));
                others.extend(opened.map(|pool| (connection.clone(), pool)));
            }
        }
        let (Some(pool), []) = (first, problems.as_slice()) else { return Err(problems) };
        let keys = config.keys.as_slice().into();
        let answer_time = config.limits.answer_time;
        Ok(Self { pool, others: others.into(), answer_time, keys })
    }

    /// Returns the pool of connections with these settings.
    fn pool(&self, connection: &UpstreamConnection) -> &UpstreamPool {
        let other = self.others.iter().find(|(known, _)| known == connection);
        other.map_or(&self.pool, |(_, pool)| pool)
    }

    /// Sends a request of the gateway's own.
    pub(crate) async fn ask(
        &self,
        request: Request<Bytes>,
        time: Duration,
    ) -> Result<Response<Incoming>, BoxError> {
        let (head, body) = request.into_parts();
        Ok(exchange(&self.pool, &Request::from_parts(head, ()), full(body), time).await??)
    }

    /// Reads a JSON answer of at most `most` bytes.
    ///
    /// # Errors
    ///
    /// Returns the status of a refusal; `None` if there is no answer, or none that can be read.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        (upstream, path): (&Upstream, &str),
        client: &Parts,
        body: Bytes,
        most: usize,
    ) -> Result<T, Option<StatusCode>> {
        let mut client = client.clone();
        // The client can read a compressed answer; the gateway cannot.
        client.headers.remove(header::ACCEPT_ENCODING);
        let answer = self.send((upstream, path), &client, full(body)).await.map_err(|_| None)?;
        if !answer.status().is_success() {
            return Err(Some(answer.status()));
        }
        let body = Limited::new(answer.into_body(), most).collect().await.map_err(|_| None)?;
        serde_json::from_slice(&body.to_bytes()).map_err(|_| None)
    }

    /// Sends a request with the client's method and headers, and cleans the headers of the answer. `path` is
    /// the client's path and query without a leading `/v1`.
    pub(crate) async fn send(
        &self,
        (upstream, path): (&Upstream, &str),
        client: &Parts,
        body: Body,
    ) -> Result<Response<Incoming>, Refusal> {
        let name = &upstream.name;
        let uri: Uri = format!("{}{path}", upstream.url())
            .parse()
            .map_err(|_| Refusal::new(400, "bad_path", "the path is not valid in a URL"))?;
        let mut request = Request::new(());
        *request.method_mut() = client.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = client.headers.clone();
        strip_request(request.headers_mut());
        let is_own = |key: &[u8]| self.keys.iter().any(|own| own.is(key));
        strip_gateway_keys(request.headers_mut(), is_own);
        set_key(&upstream.key, is_azure(upstream, path), request.headers_mut())?;
        let pool = self.pool(&upstream.connection);
        let proxy = pool.reading_proxy(request.uri());
        let mut answer = match exchange(pool, &request, body, self.answer_time).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(no_answer(name, &error)),
            Err(_) => {
                let limit = self.answer_time.as_secs_f64();
                let message = format!("upstream {name:?} did not answer within {limit} s");
                return Err(Refusal::new(504, "upstream_timeout", message));
            }
        };
        if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED && proxy.is_some() {
            let message = format!("upstream {name:?} could not be reached: {PROXY_CREDENTIALS}");
            tracing::warn!(upstream = name, why = PROXY_CREDENTIALS, "upstream gave no answer");
            return Err(Refusal::new(502, "upstream_unreachable", message));
        }
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let message = format!("upstream {name:?} answered 101 Switching Protocols");
            return Err(Refusal::new(502, "upstream_upgrade", message));
        }
        // HTTP/1.0 has no chunks: a client could not tell an answer that broke off.
        *answer.version_mut() = Version::HTTP_11;
        let length = answer.headers().get(header::CONTENT_LENGTH).cloned();
        strip(answer.headers_mut());
        // An answer to HEAD has no body whose length could be counted.
        if let (true, Some(length)) = (client.method == Method::HEAD, length) {
            answer.headers_mut().insert(header::CONTENT_LENGTH, length);
        }
        if upstream.key != UpstreamKey::Client {
            // The session belongs to the gateway's key.
            answer.headers_mut().remove(header::SET_COOKIE);
        }
        Ok(answer)
    }
}

/// Connections with the same settings.
#[derive(Debug, Clone)]
struct UpstreamPool {
    pool: Pool<Connector, Body>,
    proxies: Arc<Proxies>,
}

impl UpstreamPool {
    /// # Errors
    ///
    /// Returns the key of the configuration that is wrong, and why.
    fn new(
        connection: &UpstreamConnection,
        proxies: &Arc<Proxies>,
    ) -> Result<Self, (&'static str, String)> {
        let connector = connector(CONNECT, client_config(connection)?, Arc::clone(proxies));
        let mut builder = Pool::builder(TokioExecutor::new());
        let pool = builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new()).build(connector);
        Ok(Self { pool, proxies: Arc::clone(proxies) })
    }

    /// Returns the proxy that reads the requests to an address: that of plain HTTP.
    fn reading_proxy(&self, address: &Uri) -> Option<Proxy> {
        let proxy = self.proxies.proxy(address).filter(|_| address.scheme_str() == Some("http"))?;
        (proxy.kind == ProxyKind::Http).then_some(proxy)
    }
}

/// Sends a request, and sends it a second time if no byte of it was written.
async fn exchange(
    pool: &UpstreamPool,
    head: &Request<()>,
    body: Body,
    time: Duration,
) -> Result<Result<Response<Incoming>, pool::Error>, Elapsed> {
    let replay = Replay::new(body);
    let basic = pool.reading_proxy(head.uri()).and_then(|proxy| proxy.basic);
    let mut may_send_again = true;
    loop {
        let mut request = head.clone().map(|()| replay.clone().boxed_unsync());
        if let Some(basic) = &basic {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, basic.clone());
        }
        let answer = tokio::time::timeout(time, pool.pool.request(request)).await;
        let is_unsent = matches!(&answer, Ok(Err(error)) if is_unsent(error));
        if !(is_unsent && may_send_again && replay.is_whole()) {
            return answer;
        }
        may_send_again = false;
    }
}

/// Returns whether a request goes to Azure, which takes keys in a header of its own.
fn is_azure(upstream: &Upstream, path: &str) -> bool {
    let host = upstream.url().split('/').nth(2).unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    host.ends_with(".azure.com") || host.ends_with(".azure-api.net") || deployment(path).is_some()
}

/// Replaces the client's credentials by the key that is meant for the upstream.
fn set_key(key: &UpstreamKey, is_azure: bool, headers: &mut HeaderMap) -> Result<(), Refusal> {
    if let UpstreamKey::Client = key {
        return Ok(());
    }
    strip_credentials(headers);
    if let UpstreamKey::Own(key) = key {
        let (name, value) = match headers.contains_key("anthropic-version") {
            true => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            false if is_azure => (HeaderName::from_static("api-key"), key.expose().to_owned()),
            false => (header::AUTHORIZATION, format!("Bearer {}", key.expose())),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            Refusal::new(
                500,
                "bad_key",
                "the upstream's key has characters that no header may have",
            )
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(())
}

fn no_answer(upstream: &str, error: &pool::Error) -> Refusal {
    // The cause may name addresses, so only the log gets it.
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let why = reason(error);
    tracing::warn!(upstream, connect = error.is_connect(), cause, why, "upstream gave no answer");
    let what = if error.is_connect() { "could not be reached" } else { "gave no answer" };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Refusal::new(502, "upstream_unreachable", format!("upstream {upstream:?} {what}{why}"))
}

/// Headers that are about one connection.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
];

/// Removes hop-by-hop headers, those that `Connection` names, the gateway's own, and the length, which
/// whoever sends the body writes anew.
fn strip(headers: &mut HeaderMap) {
    let listed = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let listed =
        listed.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok());
    let own = headers.keys().filter(|name| name.as_str().starts_with("x-cupel-")).cloned();
    let removed: Vec<HeaderName> = listed.chain(own).collect();
    for name in removed {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    headers.remove(header::CONTENT_LENGTH);
}

/// Removes what is for this server alone.
fn strip_request(headers: &mut HeaderMap) {
    strip(headers);
    headers.remove(header::HOST);
    headers.remove(header::EXPECT);
}

/// Removes every key of the client.
fn strip_credentials(headers: &mut HeaderMap) {
    for name in CREDENTIAL_HEADERS {
        headers.remove(name);
    }
}

/// Removes keys of the gateway: no upstream has a use for them.
fn strip_gateway_keys(headers: &mut HeaderMap, is_own: impl Fn(&[u8]) -> bool) {
    for name in CREDENTIAL_HEADERS {
        if headers.get_all(name).iter().any(|value| is_own(without_scheme(value.as_bytes()))) {
            headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::{Mutex, mpsc};

    use futures::stream::{self, StreamExt};
    use http_body::Frame;
    use http_body_util::StreamBody;

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
        strip_gateway_keys(&mut all, |key| key == b"gate-1");
        let left: Vec<&str> = all.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["x-api-key"]);
    }

    /// A body of pieces, whose upstream closes its connection before the first of them is there.
    #[tokio::test]
    async fn an_upload_is_sent_again_where_nothing_of_it_was_written() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (close, told) = mpsc::channel::<()>();
        let (closed, tell) = mpsc::channel::<String>();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut read, mut bytes) = (String::new(), [0; 1_024]);
                while !read.ends_with("0\r\n\r\n") && !read.starts_with("GET") {
                    let length = stream.read(&mut bytes).unwrap();
                    read.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                told.recv().unwrap();
                drop(stream);
                closed.send(read).unwrap();
            }
        });
        let upstream = Upstream::new(url).unwrap();
        let client = UpstreamClient::new(&Config::new(upstream.clone())).unwrap();
        let target = (&upstream, "/files");
        let parts =
            |method: &str| Request::builder().method(method).body(()).unwrap().into_parts().0;
        let answer = client.send(target, &parts("GET"), full("")).await;
        drop(answer);
        // Until the connection is back in the pool.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let tell = Arc::new(Mutex::new(tell));
        let (again, sent) = (close.clone(), Arc::clone(&tell));
        let pieces = stream::iter(["one", "two"]).map(move |piece| {
            if piece == "one" {
                // The runtime has one thread, which hears of nothing meanwhile.
                close.send(()).unwrap();
                assert!(tell.lock().unwrap().recv().unwrap().starts_with("GET"));
            }
            Ok::<_, BoxError>(Frame::data(Bytes::from_static(piece.as_bytes())))
        });
        let body = StreamBody::new(pieces).boxed_unsync();
        let answer = client.send(target, &parts("POST"), body).await.unwrap();
        assert_eq!(answer.status(), 200);
        again.send(()).unwrap();
        let sent = sent.lock().unwrap().recv().unwrap();
        assert!(sent.ends_with("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"), "{sent}");
    }
}
