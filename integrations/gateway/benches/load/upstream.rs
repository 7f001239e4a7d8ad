//! An upstream that answers at once or after a delay, or streams a small event every second for as long as it is read.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

type Body = UnsyncBoxBody<Bytes, Infallible>;

const ANSWER: &str = r#"{"id":"1","object":"chat.completion","created":0,"model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Yes."}}],"usage":{"prompt_tokens":4500,"completion_tokens":2,"total_tokens":4502}}"#;

pub(crate) async fn start(delay: Duration) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream.set_nodelay(true));
            let answer = service_fn(move |request| answer(request, delay));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    Ok(address)
}

async fn answer(request: Request<Incoming>, delay: Duration) -> Result<Response<Body>, Infallible> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let streamed = body.windows(13).any(|field| field == b"\"stream\":true");
    let body = if streamed {
        let ticks = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let event =
                Bytes::from_static(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n");
            Some((Ok(Frame::data(event)), ()))
        });
        StreamBody::new(ticks).boxed_unsync()
    } else {
        Full::new(Bytes::from_static(ANSWER.as_bytes())).boxed_unsync()
    };
    Ok(Response::new(body))
}
