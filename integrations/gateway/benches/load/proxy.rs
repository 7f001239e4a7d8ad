//! A bare reverse proxy of the same stack: it reads a request, sends it on, and streams the answer.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

type Body = UnsyncBoxBody<Bytes, hyper::Error>;

pub(crate) async fn start(upstream: SocketAddr) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(tcp);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream.set_nodelay(true));
            let client = client.clone();
            let pass = service_fn(move |request| pass(client.clone(), upstream, request));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), pass));
        }
    });
    Ok(address)
}

async fn pass(
    client: Client<HttpConnector, Full<Bytes>>,
    upstream: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let failed = || {
        let mut response =
            Response::new(Empty::new().map_err(|never: Infallible| match never {}).boxed_unsync());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        response
    };
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let uri: Result<Uri, _> = format!("http://{upstream}{path}").parse();
    let (Ok(uri), Ok(body)) = (uri, body.collect().await) else { return Ok(failed()) };
    parts.uri = uri;
    parts.headers.remove(http::header::HOST);
    let request = Request::from_parts(parts, Full::new(body.to_bytes()));
    let answer = client.request(request).await;
    Ok(answer.map_or_else(|_| failed(), |answer| answer.map(http_body_util::BodyExt::boxed_unsync)))
}
