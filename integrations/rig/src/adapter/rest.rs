//! What is left of a request while its candidates are selected.

use std::fmt;

use cupel::conversation::{Arranged, Conversation};
use cupel::layer::Placed;
use rig_core::completion::Document;
use rig_core::message::Message;

use super::count::Count;
use crate::CompletionCall;
use crate::document::document_of;

/// A call without its candidates; the messages and documents wait here, untouched.
pub struct Rest<R> {
    pub(super) call: R,
    pub(super) messages: Vec<Message>,
    /// Which of them were looked at.
    pub(super) positions: Vec<usize>,
    pub(super) documents: Vec<Document>,
    pub(super) conversation: Conversation,
    pub(super) count: Count,
}

impl<R: CompletionCall> Rest<R> {
    pub(super) fn join(self, placed: Vec<Placed>) -> R {
        let Self { mut call, messages, positions, documents, conversation, .. } = self;
        let Arranged { mut kept, mut others, retrieved, .. } = conversation.arrange(placed);
        for index in &mut kept {
            *index = positions.get(*index).copied().unwrap_or(usize::MAX);
        }
        let request = call.completion_mut();
        request.chat_history = picked(messages, &kept);
        others.sort_unstable();
        request.documents = picked(documents, &others);
        request.documents.extend(retrieved.iter().map(|placed| document_of(&placed.item)));
        call
    }
}

/// The things at these positions, which ascend. They move within their own list: messages are
/// large.
fn picked<T>(mut things: Vec<T>, positions: &[usize]) -> Vec<T> {
    let mut positions = positions.iter().copied().peekable();
    let mut at = 0..;
    things.retain(|_| at.next().is_some_and(|at| positions.next_if_eq(&at).is_some()));
    things
}

impl<R> fmt::Debug for Rest<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest")
            .field("messages", &self.messages.len())
            .field("documents", &self.documents.len())
            .finish_non_exhaustive()
    }
}
