//! Transcripts: the messages of a request and its response that are archived.

use std::fmt;
use std::marker::PhantomData;

use super::queue::Recorder;
use super::share::Share;
use crate::append::Append;
use crate::conversation::ConversationHandle;
use crate::message::ArchiveMessage;

/// Reads a request, and sees to it that its answer is archived.
pub trait Transcript<Req, Res>: Send + Sync {
    /// The conversation of a request and the history it brings; none for one that is not archived.
    fn turn(&self, request: &Req) -> Option<RecordedTurn>;

    /// Takes the response of a call that succeeded and gives it back. A whole answer is handed to
    /// [`OpenTurn::answered`] at once, a stream when it has ended.
    fn record(&self, response: Res, turn: OpenTurn) -> Res;
}

/// A request's conversation and the messages it brings.
#[derive(Debug, Clone)]
#[must_use]
pub struct RecordedTurn {
    conversation: ConversationHandle,
    messages: Vec<ArchiveMessage>,
    /// Number of leading messages that may be archived already.
    history: usize,
}

impl RecordedTurn {
    /// The conversation and all messages of the request, in order. Those that are archived already
    /// are [recognised](Append::history).
    pub fn new(
        conversation: ConversationHandle,
        history: impl IntoIterator<Item = ArchiveMessage>,
    ) -> Self {
        let messages: Vec<ArchiveMessage> = history.into_iter().collect();
        Self { conversation, history: messages.len(), messages }
    }

    /// The conversation and the messages that a request adds to it, where the server holds what was
    /// said before: all of them are new, whatever they say.
    pub fn following(
        conversation: ConversationHandle,
        new: impl IntoIterator<Item = ArchiveMessage>,
    ) -> Self {
        Self { conversation, messages: new.into_iter().collect(), history: 0 }
    }
}

/// A call that was made and is not answered to its end yet. Dropped without an answer, nothing of
/// it is archived; the next request brings the question again.
#[must_use]
pub struct OpenTurn {
    recorder: Recorder,
    /// None where there was no room for it.
    turn: Option<(RecordedTurn, Share)>,
    /// Bytes of the turn's own messages.
    bytes: usize,
}

impl Recorder {
    /// Begins a turn whose answer comes later. For programs that are not a Tower service.
    pub fn open(&self, turn: RecordedTurn) -> OpenTurn {
        OpenTurn::new(self.clone(), turn)
    }
}

impl OpenTurn {
    pub(super) fn new(recorder: Recorder, turn: RecordedTurn) -> Self {
        let bytes = turn.messages.iter().map(ArchiveMessage::held_bytes).sum();
        let mut open = Self { turn: Some((turn, recorder.share())), recorder, bytes };
        open.hold(0);
        open
    }

    /// Reserves room for the turn's messages and for `answer` bytes of its answer. Returns false if there is
    /// no room; the turn is then not archived.
    pub(super) fn hold(&mut self, answer: usize) -> bool {
        self.turn.take_if(|(_, share)| !share.resize(self.bytes + answer));
        self.turn.is_some()
    }

    /// Archives the turn with its answer, as soon as its place in the queue comes.
    pub fn answered(mut self, answer: impl IntoIterator<Item = ArchiveMessage>) {
        let answer: Vec<ArchiveMessage> = answer.into_iter().collect();
        self.hold(answer.iter().map(ArchiveMessage::held_bytes).sum());
        if let Some((RecordedTurn { conversation, messages, history }, share)) = self.turn {
            let append = Append::new(messages.into_iter().chain(answer)).history(history);
            self.recorder.enqueue(conversation, append, share);
        }
    }
}

impl fmt::Debug for OpenTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTurn").field("turn", &self.turn).finish_non_exhaustive()
    }
}

/// A transcript of two functions, for answers that come whole; see [`whole`].
pub struct WholeTranscript<T, A, Req, Res> {
    turn_of: T,
    answer_of: A,
    types: PhantomData<fn(&Req, &Res)>,
}

/// A transcript of two functions: the turn of a request, and the messages of a whole answer.
pub fn whole<T, A, Req, Res>(turn_of: T, answer_of: A) -> WholeTranscript<T, A, Req, Res>
where
    T: Fn(&Req) -> Option<RecordedTurn> + Send + Sync,
    A: Fn(&Res) -> Vec<ArchiveMessage> + Send + Sync,
{
    WholeTranscript { turn_of, answer_of, types: PhantomData }
}

impl<T, A, Req, Res> Transcript<Req, Res> for WholeTranscript<T, A, Req, Res>
where
    T: Fn(&Req) -> Option<RecordedTurn> + Send + Sync,
    A: Fn(&Res) -> Vec<ArchiveMessage> + Send + Sync,
{
    fn turn(&self, request: &Req) -> Option<RecordedTurn> {
        (self.turn_of)(request)
    }

    fn record(&self, response: Res, turn: OpenTurn) -> Res {
        turn.answered((self.answer_of)(&response));
        response
    }
}

impl<T, A, Req, Res> fmt::Debug for WholeTranscript<T, A, Req, Res> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WholeTranscript")
    }
}
