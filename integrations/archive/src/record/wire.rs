//! Reads messages from the bytes of a request and of its answer.

use serde_json::Value;

use super::anthropic::Events;
use super::api::Api;
use super::chat::ChatChunks;
use super::responses::LastEvent;
use super::transcript::RecordedTurn;
use crate::conversation::ConversationHandle;
use crate::message::ArchiveMessage;

/// An API whose requests and answers are read as the bytes that go over the wire, for proxies. Clients
/// in Rust have [`Chat`](super::Chat) and [`Responses`](super::Responses).
///
/// ```
/// use cupel_archive::Archive;
/// use cupel_archive::record::{Recorder, Wire};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let thread = Archive::open("sqlite::memory:").await?.namespace("acme")?.conversation("thread-1")?;
/// let request = br#"{"messages":[{"role":"user","content":"Where is it?"}]}"#;
/// let answer = b"data: {\"choices\":[{\"delta\":{\"content\":\"In Lyon.\"},\"finish_reason\":\"stop\"}]}\n\n";
///
/// let recorder = Recorder::new();
/// let turn = Wire::Chat.turn(thread.clone(), request).ok_or("no JSON")?;
/// recorder.open(turn).answered(Wire::Chat.answer(answer).unwrap_or_default());
/// recorder.flush().await;
/// assert_eq!(thread.recent(2).await?[1].message.content, "In Lyon.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
}

impl Wire {
    /// The turn of a request; none for bytes that are no JSON.
    #[must_use]
    pub fn turn(self, conversation: ConversationHandle, request: &[u8]) -> Option<RecordedTurn> {
        let turn_of = match self {
            Self::Chat => ChatChunks::turn,
            Self::Responses => LastEvent::turn,
            Self::Messages => Events::turn,
        };
        Some(turn_of(conversation, &serde_json::from_slice(request).ok()?))
    }

    /// The messages of an answer, which came whole or as a stream of events; none for one that is
    /// not whole, or that cannot be read.
    #[must_use]
    pub fn answer(self, answer: &[u8]) -> Option<Vec<ArchiveMessage>> {
        match self {
            Self::Chat => answer_of::<ChatChunks>(answer),
            Self::Responses => answer_of::<LastEvent>(answer),
            Self::Messages => answer_of::<Events>(answer),
        }
    }
}

fn answer_of<A: Api>(answer: &[u8]) -> Option<Vec<ArchiveMessage>> {
    if let Ok(whole) = serde_json::from_slice(answer) {
        return A::whole(&whole);
    }
    let mut api = A::default();
    events(std::str::from_utf8(answer).ok()?).for_each(|event| api.event(&event));
    api.ended()
}

/// The data of a stream's events, as far as it is JSON. None of these APIs
/// sends an event with several lines of data.
fn events(stream: &str) -> impl Iterator<Item = Value> {
    let lines = stream.split(['\n', '\r']);
    let data = lines.filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|json| serde_json::from_str(json).ok())
}
