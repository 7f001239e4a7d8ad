//! The client: one pool of connections for all upstreams, over TLS where the address says so.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self as pool, Client as Pool};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::de::DeserializeOwned;
use tokio::time::error::Elapsed;

use super::connect::{Connector, is_unsent};
use super::headers;
use super::replay::Replay;
use crate::answer::{Body, BoxError, Refusal, full};
use crate::config::{Upstream, UpstreamKey};
use crate::secret::Secret;

/// Unused connections are closed before most servers would.
const IDLE: Duration = Duration::from_secs(50);

/// Sends requests to upstreams. Redirects are not followed.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pool: Pool<Connector, Body>,
    answer_time: Duration,
    /// The gateway's own keys, which stay here.
    keys: Arc<[Secret]>,
}

/// An upstream and what is asked of it.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) upstream: &'a Upstream,
    /// The path as the client wrote it, without a leading `/v1`, and its query.
    pub(crate) path: &'a str,
}

/// The body of a request to an upstream.
pub(crate) enum Payload {
    /// One that is there.
    Whole(Bytes),
    /// One that can be sent again while little of it was taken.
    Stream(Body),
}

impl Client {
    pub(crate) fn new(answer_time: Duration, keys: &[Secret]) -> Self {
        let pool = Pool::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(Connector::new());
        Self { pool, answer_time, keys: keys.into() }
    }

    /// Sends a request of the gateway's own.
    pub(crate) async fn ask(
        &self,
        request: Request<Bytes>,
        time: Duration,
    ) -> Result<Response<Incoming>, BoxError> {
        let (head, body) = request.into_parts();
        let head = Request::from_parts(head, ());
        Ok(self.exchange(&head, Payload::Whole(body), time).await??)
    }

    /// Sends a request, and once more where nothing of it was written.
    async fn exchange(
        &self,
        head: &Request<()>,
        payload: Payload,
        time: Duration,
    ) -> Result<Result<Response<Incoming>, pool::Error>, Elapsed> {
        let replay = match payload {
            Payload::Whole(bytes) => Ok(bytes),
            Payload::Stream(body) => Err(Replay::new(body)),
        };
        let mut may_send_again = true;
        loop {
            let body = match &replay {
                Ok(bytes) => full(bytes.clone()),
                Err(replay) => replay.clone().boxed_unsync(),
            };
            let request = head.clone().map(|()| body);
            let answer = tokio::time::timeout(time, self.pool.request(request)).await;
            let is_unsent = matches!(&answer, Ok(Err(error)) if is_unsent(error));
            if !(is_unsent && may_send_again && replay.as_ref().err().is_none_or(Replay::is_whole))
            {
                return answer;
            }
            may_send_again = false;
        }
    }

    /// Reads an upstream's answer of so many bytes to a request with the client's method and headers; none
    /// where it does not say.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        target: &Target<'_>,
        client: &Parts,
        body: Bytes,
        most: usize,
    ) -> Option<T> {
        let mut client = client.clone();
        // The client can read a compressed answer; we cannot.
        client.headers.remove(ACCEPT_ENCODING);
        let answer = self.send(target, &client, Payload::Whole(body)).await.ok()?;
        let is_answered = answer.status().is_success();
        let body = Limited::new(is_answered.then(|| answer.into_body())?, most).collect().await;
        serde_json::from_slice(&body.ok()?.to_bytes()).ok()
    }

    /// Sends a request with the client's method and headers; the answer's headers are cleaned.
    pub(crate) async fn send(
        &self,
        target: &Target<'_>,
        client: &Parts,
        payload: Payload,
    ) -> Result<Response<Incoming>, Refusal> {
        let unusable =
            |_| Refusal::new(StatusCode::BAD_REQUEST, "bad_path", "the path cannot be sent on");
        let uri: Uri =
            format!("{}{}", target.upstream.url(), target.path).parse().map_err(unusable)?;
        let mut request = Request::new(());
        *request.method_mut() = client.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = client.headers.clone();
        headers::strip_request(request.headers_mut());
        let is_own = |key: &[u8]| self.keys.iter().any(|own| own.is(key));
        headers::strip_own(request.headers_mut(), is_own);
        show_key(&target.upstream.key, request.headers_mut())?;
        let answer = self.exchange(&request, payload, self.answer_time).await;
        let mut answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(unreachable_upstream(target.upstream, &error)),
            Err(_) => {
                let message = format!(
                    "upstream {:?} did not begin to answer within {} s",
                    target.upstream.name,
                    self.answer_time.as_secs_f64()
                );
                return Err(Refusal::new(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", message));
            }
        };
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let message = format!("upstream {:?} changed the protocol", target.upstream.name);
            return Err(Refusal::new(StatusCode::BAD_GATEWAY, "upstream_upgrade", message));
        }
        // What version the upstream speaks is between it and us: an older one has no chunks, and without
        // them a client cannot tell an answer that broke off.
        *answer.version_mut() = Version::HTTP_11;
        let length = answer.headers().get(http::header::CONTENT_LENGTH).cloned();
        headers::strip(answer.headers_mut());
        // Without a body to count, the length is the upstream's word.
        if let (true, Some(length)) = (client.method == Method::HEAD, length) {
            answer.headers_mut().insert(http::header::CONTENT_LENGTH, length);
        }
        if target.upstream.key != UpstreamKey::Client {
            // A session of the gateway's own with the upstream.
            answer.headers_mut().remove(http::header::SET_COOKIE);
        }
        Ok(answer)
    }
}

/// Shows the upstream the key that is meant for it, and no other.
fn show_key(key: &UpstreamKey, headers: &mut http::HeaderMap) -> Result<(), Refusal> {
    if let UpstreamKey::Client = key {
        return Ok(());
    }
    headers::strip_credentials(headers);
    if let UpstreamKey::Own(key) = key {
        // Anthropic's clients say which version of its API they speak, and its keys have a header
        // of their own.
        let is_anthropic = headers.contains_key("anthropic-version");
        let wrong = |_| {
            let message = "the key of the upstream cannot be sent as a header";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "bad_key", message)
        };
        let (name, value) = match is_anthropic {
            true => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            false => (AUTHORIZATION, format!("Bearer {}", key.expose())),
        };
        let mut value = HeaderValue::from_str(&value).map_err(wrong)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(())
}

fn unreachable_upstream(upstream: &Upstream, error: &pool::Error) -> Refusal {
    // The cause may name addresses; it is for the log.
    let cause: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    let cause = cause.map(ToString::to_string).unwrap_or_default();
    tracing::warn!(upstream = upstream.name, connect = error.is_connect(), cause, "no answer");
    let what = if error.is_connect() { "could not be reached" } else { "gave no answer" };
    let message = format!("upstream {:?} {what}", upstream.name);
    Refusal::new(StatusCode::BAD_GATEWAY, "upstream_unreachable", message)
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
        let client = Client::new(Duration::from_secs(20), &[]);
        let upstream = Upstream::new(url).unwrap();
        let target = Target { upstream: &upstream, path: "/files" };
        let parts =
            |method: &str| Request::builder().method(method).body(()).unwrap().into_parts().0;
        let answer = client.send(&target, &parts("GET"), Payload::Whole(Bytes::new())).await;
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
        let answer = client.send(&target, &parts("POST"), Payload::Stream(body)).await.unwrap();
        assert_eq!(answer.status(), 200);
        again.send(()).unwrap();
        let sent = sent.lock().unwrap().recv().unwrap();
        assert!(sent.ends_with("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"), "{sent}");
    }
}
