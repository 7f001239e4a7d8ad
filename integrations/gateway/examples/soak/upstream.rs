//! An upstream that answers, or fails as the header `x-soak` of a request tells it to.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::Failure;

pub(crate) async fn start() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(async move { drop(serve(connection).await) });
        }
    });
    Ok(address)
}

/// Answers requests until the connection ends.
async fn serve(mut connection: TcpStream) -> Result<(), Failure> {
    let mut read = Vec::new();
    loop {
        let fault = loop {
            if let Some((fault, length)) = request(&read) {
                read.drain(..length);
                break fault;
            }
            if connection.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        };
        match fault.as_str() {
            "reset" => {
                connection.set_zero_linger()?;
                return Ok(());
            }
            "broken" => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n";
                connection.write_all(head.as_bytes()).await?;
                connection.write_all(b"{\"choices\":[{\"message\":").await?;
                return Ok(());
            }
            "stream" => stream(&mut connection).await?,
            "slow" => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                answer(&mut connection).await?;
            }
            _ => answer(&mut connection).await?,
        }
    }
}

/// The fault that a whole request asks for, and the bytes that it takes.
fn request(read: &[u8]) -> Option<(String, usize)> {
    let head_end = read.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(read.get(..head_end)?).to_lowercase();
    let field =
        |name: &str| head.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
    let length: usize = field("content-length:")?.parse().ok()?;
    let all = head_end + length;
    (read.len() >= all).then(|| (field("x-soak:").unwrap_or_default(), all))
}

async fn answer(connection: &mut TcpStream) -> std::io::Result<()> {
    let body = r#"{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted, and looked up."}}],"usage":{"prompt_tokens":900,"completion_tokens":6,"total_tokens":906}}"#;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body.as_bytes()).await
}

async fn stream(connection: &mut TcpStream) -> std::io::Result<()> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    connection.write_all(head.as_bytes()).await?;
    for number in 0..10 {
        let event =
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"word {number} \"}}}}]}}\n\n");
        connection.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let end = "data: [DONE]\n\n";
    connection.write_all(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len()).as_bytes()).await
}
