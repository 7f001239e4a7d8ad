//! A client with conversations that grow, and faults of its own.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::Tally;

/// Messages of a conversation before the next one begins.
const LENGTH: usize = 80;

pub(crate) struct Client {
    number: usize,
    address: SocketAddr,
    tally: Arc<Mutex<Tally>>,
    http: reqwest::Client,
    state: u64,
}

/// Faults of upstreams and clients, and what comes of them.
const FAULTS: [&str; 12] = [
    "none", "none", "none", "none", "stream", "stream", "slow", "reset", "broken", "refused",
    "left", "half",
];

impl Client {
    pub(crate) fn new(number: usize, address: SocketAddr, tally: Arc<Mutex<Tally>>) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_default();
        Self { number, address, tally, http, state: number as u64 }
    }

    /// A number below `end`, by SplitMix64.
    fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        usize::try_from((mixed ^ (mixed >> 27)) >> 33).unwrap_or_default() % end.max(1)
    }

    pub(crate) async fn run(mut self, end: Instant) {
        let (mut conversation, mut messages) = (0, Vec::new());
        while Instant::now() < end {
            if messages.len() > LENGTH {
                (conversation, messages) = (conversation + 1, Vec::new());
            }
            let at = messages.len();
            let words = self.below(200);
            let text =
                format!("Item {at} of conversation {conversation}: {}", "blue ".repeat(words));
            messages.push(json!({"role": "user", "content": text}));
            let fault = FAULTS.get(self.below(FAULTS.len())).copied().unwrap_or("none");
            let outcome = self.call(fault, conversation, &messages).await;
            self.tally.lock().unwrap_or_else(PoisonError::into_inner).note(fault, outcome);
            messages.push(json!({"role": "assistant", "content": "Noted, and looked up."}));
        }
    }

    /// Makes one call. Returns its outcome, or why its fault does not explain it.
    async fn call(
        &mut self,
        fault: &'static str,
        conversation: usize,
        messages: &[Value],
    ) -> Result<String, String> {
        let model = if fault == "refused" { "gone-1" } else { "model-1" };
        let body = json!({"model": model, "max_completion_tokens": 100, "messages": messages,
            "stream": fault == "stream"});
        let body = body.to_string();
        if fault == "half" {
            return self.send_half(&body).await;
        }
        let call = self
            .http
            .post(format!("http://{}/v1/chat/completions", self.address))
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer sk-{}", self.number % 10))
            .header("x-cupel-conversation", format!("{}-{conversation}", self.number))
            .header("x-soak", fault)
            .body(body);
        let whole = async {
            let answer = call.send().await.map_err(|error| format!("{error:?}"))?;
            let status = answer.status().as_u16();
            Ok::<_, String>((status, answer.bytes().await.is_ok()))
        };
        let patience = match fault {
            "left" => Duration::from_millis(self.below(30) as u64),
            _ => Duration::from_secs(60),
        };
        let Ok(done) = timeout(patience, whole).await else {
            return if fault == "left" {
                Ok("left".to_owned())
            } else {
                Err("no answer".to_owned())
            };
        };
        let (status, is_whole) = done?;
        let expected = match fault {
            "reset" | "refused" => status == 502,
            "broken" => status == 502 || !is_whole,
            _ => status == 200 && is_whole,
        };
        let said = format!("{status}{}", if is_whole { "" } else { " broken" });
        if expected { Ok(said) } else { Err(said) }
    }

    /// Sends half of a request, and leaves.
    async fn send_half(&mut self, body: &str) -> Result<String, String> {
        let mut connection =
            TcpStream::connect(self.address).await.map_err(|error| error.to_string())?;
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let half = body.as_bytes().get(..body.len() / 2).unwrap_or_default();
        // The gateway may close it first.
        let _ = connection.write_all(head.as_bytes()).await;
        let _ = connection.write_all(half).await;
        Ok("left".to_owned())
    }
}
