//! The plan of a turn, for a rig request.

use std::borrow::Cow;

use cupel::ContextItem;
use cupel::conversation::Role;
use cupel::conversation::plan::{Broke, Part, Planned, Quotation, Texts, Turn};
use cupel::tokens::TokenCounter;
use rig_core::completion::history::NO_TOOL_OUTPUT;
use rig_core::message::Message;

use super::count::Count;
use super::rest::{OwnDocument, Rest};
use super::{result, text};
use crate::document::{document_of, quoted_text};

/// The name under which documents of the request are quoted.
pub(super) const OWN: &str = "document";

/// What a plan may read of a request.
pub(super) struct RigTexts<'a> {
    pub(super) messages: &'a [Message],
    /// Which of them were looked at.
    pub(super) positions: &'a [usize],
    pub(super) count: &'a Count,
}

impl RigTexts<'_> {
    fn message(&self, index: usize) -> Option<&Message> {
        self.messages.get(*self.positions.get(index)?)
    }
}

impl Texts for RigTexts<'_> {
    fn counter(&self) -> &dyn TokenCounter {
        self.count.counter()
    }

    fn write(&self, message: usize, out: &mut String) {
        if let Some(message) = self.message(message) {
            text::write_quotable(message, out);
        }
    }

    fn result(&self, message: usize, number: usize) -> Option<Cow<'_, str>> {
        result::text(self.message(message)?, number)
    }

    fn retrieved<'a>(&'a self, item: &'a ContextItem) -> Cow<'a, str> {
        Cow::Owned(quoted_text(&document_of(item)).into_owned())
    }
}

impl<R> Rest<R> {
    /// Plans the turn. A request that fits keeps its documents where they are; otherwise those that
    /// are not pinned are quoted with what sources bring, and compete with it.
    pub(super) fn plan(&mut self, turn: &Turn<'_>) -> Option<Planned> {
        let mut turn = turn.clone();
        let tokens_of = |documents: &mut dyn Iterator<Item = &OwnDocument>| {
            documents.map(|document| document.tokens).fold(0, i64::saturating_add)
        };
        let all = tokens_of(&mut self.documents.iter());
        let kept_for_sources = match turn.has_sources {
            true => {
                let recall = turn.plan.recall_tokens(turn.window, true);
                let frame =
                    if recall > 0 { Quotation::frame_tokens(self.count.counter()) } else { 0 };
                recall.saturating_add(frame).min(turn.room.max(0))
            }
            false => 0,
        };
        let room = turn.room.saturating_sub(all).saturating_sub(kept_for_sources);
        for document in &mut self.documents {
            document.quoted = self.tokens > room && !document.pinned;
        }
        let were_documents = self.tokens_before.is_some_and(|tokens| tokens <= room);
        let staying = tokens_of(&mut self.documents.iter().filter(|document| !document.quoted));
        // What is recalled is a part of its message.
        let frame = self.count.part(Role::User);
        let fits = self.tokens <= room && !turn.has_sources;
        let fitted_before = were_documents && !turn.has_sources;
        turn.room = turn.room.saturating_sub(staying).saturating_sub(if fits { 0 } else { frame });
        turn.has_sources |= self.documents.iter().any(|document| document.quoted);

        let Self { messages, positions, count, conversation, .. } = self;
        let texts = RigTexts { messages, positions, count };
        let mut planned = conversation.plan(&turn, &texts).cloned()?;
        self.count_emptied(&mut planned);
        let quotes = self.documents.iter().any(|document| document.quoted);
        let broke = match planned.expected.broke {
            Some(Broke::First | Broke::Unknown) => None,
            _ if self.moved => Some(Broke::StartMoved),
            // That frame was not kept free when the request before fitted.
            None if fitted_before && !fits => Some(Broke::Outgrown),
            // They stood behind the head.
            None if quotes && were_documents => Some(Broke::Outgrown),
            _ => None,
        };
        if broke.is_some() {
            planned.expected.broke = broke;
            planned.expected.same_recall = false;
            planned.expected.cached_tokens = turn.fixed_tokens.saturating_add(head(&planned));
        }
        self.add_documents(&mut planned);
        Some(planned)
    }

    /// Where nothing is left of a result, rig says so.
    fn count_emptied(&self, planned: &mut Planned) {
        let emptied = planned.excerpts.iter().filter(|(_, excerpt)| excerpt.text.trim().is_empty());
        let emptied: Vec<usize> = emptied.map(|((message, _), _)| *message).collect();
        for (unit, tokens) in planned.tokens.iter_mut().enumerate() {
            let members = self.conversation.messages_of(unit);
            let here = emptied.iter().filter(|message| members.contains(message));
            for _ in here {
                *tokens = tokens.saturating_add(self.count.text(NO_TOOL_OUTPUT));
            }
        }
    }

    fn add_documents(&self, planned: &mut Planned) {
        for OwnDocument { document, tokens, quoted, .. } in &self.documents {
            if *quoted {
                let text = quoted_text(document);
                let tokens = Quotation::source_tokens(OWN, &text, self.count.counter());
                planned.parts.push(Part::Earlier);
                planned.tokens.push(tokens);
                planned.hints.push(planned.hint(&text, tokens));
            } else {
                planned.parts.push(Part::Head);
                planned.tokens.push(*tokens);
                planned.hints.push(None);
            }
        }
    }
}

/// The tokens of what stands before the conversation.
fn head(planned: &Planned) -> i64 {
    let parts = planned.parts.iter().zip(&planned.tokens);
    let head = parts.take_while(|(part, _)| **part == Part::Head);
    head.map(|(_, tokens)| *tokens).fold(0, i64::saturating_add)
}
