//! Plain sockets: upstreams that misbehave, and clients that do.

use std::future::Future;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::support::PATIENCE;

/// A server that does what a function says with every connection.
pub(crate) struct RawUpstream {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl RawUpstream {
    pub(crate) async fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream));
            }
        });
        Self { url, task }
    }
}

impl Drop for RawUpstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads up to and with this text.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(end.as_bytes()) {
        let got = timeout(PATIENCE, stream.read(&mut byte)).await.unwrap().unwrap();
        assert_ne!(got, 0, "ended after {:?}", String::from_utf8_lossy(&read));
        read.push(byte[0]);
    }
    String::from_utf8(read).unwrap()
}

/// Reads a request with a body of the length it says: its head in lower case, and the body.
pub(crate) async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let head = read_until(stream, "\r\n\r\n").await.to_lowercase();
    let length = head
        .split_once("content-length: ")
        .map_or(0, |(_, rest)| rest.split("\r\n").next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    timeout(PATIENCE, stream.read_exact(&mut body)).await.unwrap().unwrap();
    (head, body)
}

/// Returns true if the other side hangs up.
pub(crate) async fn hangs_up(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 1024];
    loop {
        match timeout(std::time::Duration::from_secs(1), stream.read(&mut rest)).await {
            Ok(Ok(0) | Err(_)) => return true,
            Ok(Ok(_)) => {}
            Err(_) => return false,
        }
    }
}

/// Sends bytes and reads everything that comes back until the end.
pub(crate) async fn exchange(address: SocketAddr, request: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // Whoever does not want to hear more may hang up before all is said.
    drop(stream.write_all(request.as_ref()).await);
    let mut answer = Vec::new();
    drop(timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap());
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request for this address with the headers that it needs, and a connection that ends with it.
pub(crate) fn request(address: SocketAddr, line: &str, headers: &str, body: &str) -> String {
    let length = match body {
        "" => String::new(),
        body => format!("Content-Length: {}\r\n", body.len()),
    };
    format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{length}{headers}\r\n{body}"
    )
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default()
}
