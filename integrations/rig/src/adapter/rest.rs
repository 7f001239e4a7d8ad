//! A call while its candidates are selected, and the selection written back into it.

use std::fmt;

use cupel::layer::Edits;
use rig_core::completion::Document;
use rig_core::message::{Message, UserContent};

use super::results::{self, is_result};
use crate::CompletionCall;
use crate::document::source_document;

/// A call without its candidates; the messages and documents wait here, untouched.
pub struct RigRest<R> {
    pub(super) call: R,
    pub(super) messages: Vec<Message>,
    /// Positions of the messages that the selection sees.
    pub(super) positions: Vec<usize>,
    pub(super) documents: Vec<Document>,
    pub(super) planned: bool,
}

impl<R> RigRest<R> {
    /// A message by its index in the selection.
    pub(super) fn seen(&self, index: usize) -> Option<&Message> {
        self.messages.get(*self.positions.get(index)?)
    }

    fn seen_mut(&mut self, index: usize) -> Option<&mut Message> {
        self.messages.get_mut(*self.positions.get(index)?)
    }
}

impl<R: CompletionCall> RigRest<R> {
    /// Puts excerpts into results, standing orders and the quotation into users' messages, and drops
    /// what was not selected.
    pub(super) fn join(mut self, edits: &Edits) -> R {
        for ((message, number), excerpt) in &edits.excerpts {
            if let Some(message) = self.seen_mut(*message) {
                results::replace(message, *number, &excerpt.text);
            }
        }
        let quotation = edits.quotation.as_ref().map(|it| (it.message, it.text.as_str()));
        let standing = edits.standing().map(|it| (it.message, it.text.as_str()));
        // Each before what is there, so standing orders come first.
        for (message, text) in quotation.into_iter().chain(standing) {
            if let Some(Message::User { content }) = self.seen_mut(message) {
                // Results come first where they stand beside the user's words.
                let results = content.iter().take_while(|part| is_result(part)).count();
                content.insert(results, UserContent::text(text));
            }
        }
        let Self { mut call, messages, positions, documents, .. } = self;
        let kept = edits.kept.iter().filter_map(|index| positions.get(*index).copied());
        let request = call.completion_mut();
        request.chat_history = picked(messages, kept);
        request.documents = picked(documents, edits.documents.iter().copied());
        request.documents.extend(edits.sources.as_deref().map(source_document));
        if let Some(kept) = &edits.tools {
            // Indexes beyond the request's own tools are those of the provider, which all stay.
            let tools = std::mem::take(&mut request.tools);
            request.tools = picked(tools, kept.iter().copied());
        }
        call
    }
}

/// The things at these positions, which ascend. They move within their own list: messages are
/// large.
fn picked<T>(mut things: Vec<T>, positions: impl Iterator<Item = usize>) -> Vec<T> {
    let mut positions = positions.peekable();
    let mut at = 0..;
    things.retain(|_| at.next().is_some_and(|at| positions.next_if_eq(&at).is_some()));
    things
}

impl<R> fmt::Debug for RigRest<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RigRest")
            .field("messages", &self.messages.len())
            .field("documents", &self.documents.len())
            .finish_non_exhaustive()
    }
}
