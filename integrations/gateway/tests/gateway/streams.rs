//! Streams of events pass byte for byte and piece by piece, however the upstream cuts them.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::raw::{RawUpstream, read_request, read_until, request, status};
use crate::support::{PATIENCE, Running, config, conversation};

/// Events as upstreams write them, and as they might: ends of lines of all kinds, comments, a mark of
/// the byte order, signs of several bytes, a usage, and no end of a line at the end.
fn events(endpoint: &str) -> String {
    let own = match endpoint {
        "chat/completions" => {
            "data: {\"choices\":[{\"delta\":{\"content\":\"Grüße 🦀\"}}]}\n\n\
             data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7}}\n\ndata: [DONE]\n\n"
        }
        "responses" => {
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\
             \"delta\":\"e\u{301}\u{200d}\\ud83e\\udd80\"}\n\nevent: response.completed\ndata: \
             {\"response\":{\"usage\":{\"input_tokens\":7}}}\n\n"
        }
        _ => {
            "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":7}}}\n\n\
             event: ping\ndata: {\"type\": \"ping\"}\n\nevent: content_block_delta\ndata: {\"delta\":\
             {\"type\":\"text_delta\",\"text\":\"漢字\"}}\n\n"
        }
    };
    format!(
        "\u{feff}: hello\r\n\r\n{own}:\n\n\rretry: 10\rid:\0 7\r\n\r\ndata:{}\ndata\n\n\n\n{own}\
         data: {{\"cut off\": \"\u{1f980}",
        "long ".repeat(40)
    )
}

fn body(endpoint: &str) -> Value {
    let messages: Vec<Value> = conversation().into_iter().filter(|m| m["role"] == "user").collect();
    match endpoint {
        "responses" => json!({"model": "test-900", "stream": true, "input": messages}),
        "messages" => json!({"model": "test-2600", "stream": true, "max_tokens": 9,
            "messages": [messages.last()]}),
        _ => json!({"model": "test-900", "stream": true, "messages": messages}),
    }
}

/// Cuts bytes into pieces of lengths that no sign and no line keeps to.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for length in [1, 2, 3, 1, 1, 5, 1, 13, 64].into_iter().cycle() {
        let (piece, left) = rest.split_at(length.min(rest.len()));
        if piece.is_empty() {
            break;
        }
        pieces.push(piece);
        rest = left;
    }
    pieces
}

/// An upstream that sends each piece when it is told to, in chunks or until it hangs up.
async fn telling(chunked: bool) -> (RawUpstream, mpsc::UnboundedSender<Vec<u8>>) {
    let (tell, told) = mpsc::unbounded_channel::<Vec<u8>>();
    let told = std::sync::Arc::new(tokio::sync::Mutex::new(told));
    let upstream = RawUpstream::start(move |mut stream| {
        let told = std::sync::Arc::clone(&told);
        async move {
            stream.set_nodelay(true).unwrap();
            read_request(&mut stream).await;
            let framing = if chunked { "Transfer-Encoding: chunked" } else { "Connection: close" };
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut told = told.lock().await;
            while let Some(piece) = told.recv().await {
                let sent = match chunked {
                    true => [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat(),
                    false => piece,
                };
                stream.write_all(&sent).await.unwrap();
            }
            if chunked {
                stream.write_all(b"0\r\n\r\n").await.unwrap();
            }
        }
    })
    .await;
    (upstream, tell)
}

/// Reads the next chunk of an answer; none after the last one.
async fn chunk(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = read_until(stream, "\r\n").await;
    let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
    let mut bytes = vec![0; length + 2];
    timeout(PATIENCE, stream.read_exact(&mut bytes)).await.unwrap().unwrap();
    bytes.truncate(length);
    (length > 0).then_some(bytes)
}

#[tokio::test]
async fn every_piece_of_a_stream_has_passed_before_the_next_one_is_made() {
    for endpoint in ["chat/completions", "responses", "messages"] {
        for chunked in [true, false] {
            let (upstream, tell) = telling(chunked).await;
            let gateway = Running::start(config(&upstream.url)).await;
            let asked = request(
                gateway.address,
                &format!("POST /v1/{endpoint}"),
                "Content-Type: application/json\r\n",
                &body(endpoint).to_string(),
            );
            let mut client = TcpStream::connect(gateway.address).await.unwrap();
            client.write_all(asked.as_bytes()).await.unwrap();
            let head = read_until(&mut client, "\r\n\r\n").await.to_lowercase();
            assert_eq!(status(&head), 200, "{head}");
            assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
            assert!(head.contains("x-cupel-tokens: "), "{head}");

            let all = events(endpoint);
            let mut passed = Vec::new();
            let mut made = 0;
            for piece in pieces(all.as_bytes()) {
                tell.send(piece.to_vec()).unwrap();
                made += piece.len();
                // Nothing more is made until this has come through.
                while passed.len() < made {
                    passed.extend(chunk(&mut client).await.unwrap());
                }
            }
            drop(tell);
            assert_eq!(chunk(&mut client).await, None);
            assert_eq!(passed, all.as_bytes(), "{endpoint} {chunked}");
        }
    }
}
