//! Transcripts of an API's calls, in whatever types they are written.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;

use futures::stream::Stream;
use serde::Serialize;
use serde_json::Value;

use super::stream::{Listener, RecordedStream};
use super::transcript::{OpenTurn, RecordedTurn, Transcript};
use crate::conversation::ConversationHandle;
use crate::message::ArchiveMessage;

/// Reads one API's JSON; itself it puts an answer together from its events.
pub trait Api: Default + Send {
    /// The turn of a request.
    fn turn(conversation: ConversationHandle, request: &Value) -> RecordedTurn;

    /// The messages of a whole answer; none for one that is not whole, or failed.
    fn whole(response: &Value) -> Option<Vec<ArchiveMessage>>;

    /// An event of a streamed answer passes by.
    fn event(&mut self, event: &Value);

    /// The bytes that it holds of a streamed answer.
    fn held_bytes(&self) -> usize;

    /// The messages of a streamed answer that has ended; none if it is not whole.
    fn ended(self) -> Option<Vec<ArchiveMessage>>;
}

/// Archives the calls of an API: [`Chat`](super::Chat) and [`Responses`](super::Responses).
pub struct ApiTranscript<F, A> {
    conversation_of: F,
    api: PhantomData<fn() -> A>,
}

/// The same for answers that are streamed; see [`ApiTranscript::streamed`].
pub struct StreamedApiTranscript<F, A>(ApiTranscript<F, A>);

impl<F, A: Api> ApiTranscript<F, A> {
    /// Archives each call in the conversation that a function names; none where it names none.
    pub fn new<Req>(conversation_of: F) -> Self
    where
        F: Fn(&Req) -> Option<ConversationHandle> + Send + Sync,
    {
        Self { conversation_of, api: PhantomData }
    }

    /// Archives calls that are answered by a boxed stream of chunks or events.
    pub fn streamed(self) -> StreamedApiTranscript<F, A> {
        StreamedApiTranscript(self)
    }

    fn turn_of<Req: Serialize>(&self, request: &Req) -> Option<RecordedTurn>
    where
        F: Fn(&Req) -> Option<ConversationHandle>,
    {
        let conversation = (self.conversation_of)(request)?;
        Some(A::turn(conversation, &serde_json::to_value(request).ok()?))
    }
}

impl<F, A> fmt::Debug for ApiTranscript<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiTranscript")
    }
}

impl<F, A> fmt::Debug for StreamedApiTranscript<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamedApiTranscript")
    }
}

impl<F, A, Req, Res> Transcript<Req, Res> for ApiTranscript<F, A>
where
    F: Fn(&Req) -> Option<ConversationHandle> + Send + Sync,
    A: Api,
    Req: Serialize,
    Res: Serialize,
{
    fn turn(&self, request: &Req) -> Option<RecordedTurn> {
        self.turn_of(request)
    }

    fn record(&self, response: Res, turn: OpenTurn) -> Res {
        let written = serde_json::to_value(&response).ok();
        if let Some(answer) = written.as_ref().and_then(A::whole) {
            turn.answered(answer);
        }
        response
    }
}

/// A boxed stream of chunks or events, as clients give it.
type AnswerStream<T, E> = Pin<Box<dyn Stream<Item = Result<T, E>> + Send>>;

impl<F, A, Req, T, E> Transcript<Req, AnswerStream<T, E>> for StreamedApiTranscript<F, A>
where
    F: Fn(&Req) -> Option<ConversationHandle> + Send + Sync,
    A: Api + 'static,
    Req: Serialize,
    T: Serialize + 'static,
    E: 'static,
{
    fn turn(&self, request: &Req) -> Option<RecordedTurn> {
        self.0.turn_of(request)
    }

    fn record(&self, response: AnswerStream<T, E>, turn: OpenTurn) -> AnswerStream<T, E> {
        Box::pin(RecordedStream::new(response, turn, ApiListener(A::default())))
    }
}

/// Listens to parts of any type that is written as the API's JSON.
struct ApiListener<A>(A);

impl<A: Api, T: Serialize> Listener<T> for ApiListener<A> {
    fn heard(&mut self, part: &T) {
        if let Ok(part) = serde_json::to_value(part) {
            self.0.event(&part);
        }
    }

    fn held_bytes(&self) -> usize {
        self.0.held_bytes()
    }

    fn answer(self) -> Option<Vec<ArchiveMessage>> {
        self.0.ended()
    }
}
