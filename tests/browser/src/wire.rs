//! The debugging protocol: numbered commands, their answers, and events in between.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use super::Error;

#[derive(Debug)]
pub(super) struct Wire {
    socket: WebSocket<TcpStream>,
    last: u64,
    /// Events that nobody has read.
    pub(super) events: Vec<Value>,
}

impl Wire {
    pub(super) fn connect(address: &str) -> Result<Self, Error> {
        let host = address.trim_start_matches("ws://").split('/').next().unwrap_or_default();
        let stream = TcpStream::connect(host)?;
        // A browser that says nothing for so long hangs.
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let (socket, _) = tungstenite::client(address, stream)?;
        Ok(Self { socket, last: 0, events: Vec::new() })
    }

    /// Sends a command and waits for its answer.
    pub(super) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, Error> {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": params});
        if let (Some(session), Some(command)) = (session, command.as_object_mut()) {
            command.insert("sessionId".to_owned(), session.into());
        }
        self.socket.send(Message::text(command.to_string()))?;
        loop {
            let mut answer = self.read()?;
            if answer.get("id").and_then(Value::as_u64) == Some(self.last) {
                if let Some(error) = answer.get("error") {
                    return Err(format!("{method}: {error}").into());
                }
                return Ok(answer.get_mut("result").map(Value::take).unwrap_or_default());
            }
            self.events.push(answer);
        }
    }

    /// Waits until something happens; what happens in between is kept.
    pub(super) fn wait_for(&mut self, session: &str, method: &str) -> Result<(), Error> {
        loop {
            if self.events.iter().any(|event| is(event, session, method)) {
                return Ok(());
            }
            let event = self.read()?;
            self.events.push(event);
        }
    }

    fn read(&mut self) -> Result<Value, Error> {
        loop {
            if let Message::Text(text) = self.socket.read()? {
                return Ok(serde_json::from_str(&text)?);
            }
        }
    }
}

/// Returns true if the event has this method and belongs to this tab.
pub(super) fn is(event: &Value, session: &str, method: &str) -> bool {
    let text = |key| event.get(key).and_then(Value::as_str);
    text("method") == Some(method) && text("sessionId") == Some(session)
}
