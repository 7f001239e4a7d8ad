//! What is left of a request while its candidates are selected.

use std::fmt;
use std::sync::Arc;

use cupel::ContextItem;
use cupel::conversation::{Arranged, Conversation, Role};
use cupel::layer::{Origin, Placed};
use rig_core::completion::Document;
use rig_core::message::{Message, UserContent};

use super::count::Count;
use super::message::is_result;
use super::plan::{OWN, RigTexts};
use super::result;
use crate::CompletionCall;
use crate::document::{document_of, quoted_text};

/// A call without its candidates; the messages and documents wait here, untouched.
pub struct Rest<R> {
    pub(super) call: R,
    pub(super) messages: Vec<Message>,
    /// Which of them were looked at.
    pub(super) positions: Vec<usize>,
    /// Whether the request before had other messages in sight.
    pub(super) moved: bool,
    pub(super) documents: Vec<OwnDocument>,
    pub(super) conversation: Conversation,
    /// What a plan recalls, once it is written.
    pub(super) quotation: Option<String>,
    /// The tokens of all of its candidates.
    pub(super) tokens: i64,
    /// The same of the request before: all up to what the model said last.
    pub(super) tokens_before: Option<i64>,
    pub(super) count: Count,
}

/// A document of the request.
pub(super) struct OwnDocument {
    pub(super) document: Document,
    /// As rig sends it.
    pub(super) tokens: i64,
    pub(super) pinned: bool,
    /// Whether the plan quotes it, if it is selected.
    pub(super) quoted: bool,
}

impl<R: CompletionCall> Rest<R> {
    pub(super) fn join(mut self, placed: Vec<Placed>) -> R {
        let mut arranged = self.conversation.arrange(placed);
        arranged.others.sort_unstable();
        if self.conversation.planned().is_some() {
            quote_documents(&self.documents, &mut arranged);
            // Whoever calls `join` alone has not had it written.
            let quotation = self.quotation.take().or_else(|| self.write_quotation(&arranged));
            arranged.retrieved.clear();
            self.follow_plan(quotation);
        }
        let Self { mut call, messages, positions, documents, .. } = self;
        let Arranged { mut kept, others, retrieved, .. } = arranged;
        for index in &mut kept {
            *index = positions.get(*index).copied().unwrap_or(usize::MAX);
        }
        let request = call.completion_mut();
        request.chat_history = picked(messages, &kept);
        let documents = picked(documents, &others);
        request.documents = documents.into_iter().map(|own| own.document).collect();
        request.documents.extend(retrieved.iter().map(|placed| document_of(&placed.item)));
        call
    }

    /// Puts excerpts into results, and what is recalled into the user's last message.
    fn follow_plan(&mut self, quotation: Option<String>) {
        let Self { messages, positions, conversation, .. } = self;
        let Some(planned) = conversation.planned() else { return };
        let at = |index: &usize| positions.get(*index).copied();
        for ((message, number), excerpt) in &planned.excerpts {
            if let Some(message) = at(message).and_then(|position| messages.get_mut(position)) {
                result::replace(message, *number, excerpt);
            }
        }
        let question = planned.question.as_ref().and_then(at);
        if let (Some(quotation), Some(Message::User { content })) =
            (quotation, question.and_then(|position| messages.get_mut(position)))
        {
            // Results come first where they stand beside the user's words.
            let results = content.iter().take_while(|part| is_result(part)).count();
            content.insert(results, UserContent::text(quotation));
        }
    }
}

impl<R> Rest<R> {
    /// Writes what is recalled, and counts it as a part of the user's message.
    pub(super) fn quote(&mut self, placed: &[Placed]) -> i64 {
        let mut arranged = self.conversation.arrange(placed.to_vec());
        arranged.others.sort_unstable();
        quote_documents(&self.documents, &mut arranged);
        self.quotation = self.write_quotation(&arranged);
        let tokens = |text: &str| self.count.text(text).saturating_add(self.count.part(Role::User));
        self.quotation.as_deref().map_or(0, tokens)
    }

    fn write_quotation(&self, arranged: &Arranged) -> Option<String> {
        let Self { messages, positions, count, .. } = self;
        self.conversation.quotation(arranged, &RigTexts { messages, positions, count })
    }
}

/// Moves the documents that are quoted to what sources gave, in front of it.
fn quote_documents(documents: &[OwnDocument], arranged: &mut Arranged) {
    let name: Arc<str> = OWN.into();
    let mut quoted = Vec::new();
    arranged.others.retain(|other| {
        let Some(own) = documents.get(*other).filter(|own| own.quoted) else { return true };
        // What has no text cannot be quoted, and says nothing.
        if let Ok(item) = ContextItem::new(&*quoted_text(&own.document), 0) {
            let origin = Origin::Source { name: Arc::clone(&name), position: *other };
            quoted.push(Placed { item, origin });
        }
        false
    });
    arranged.retrieved.splice(0..0, quoted);
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
