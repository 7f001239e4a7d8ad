//! Documents of a request beside its messages: kept where they stand, or quoted.

use super::super::units::Conversation;
use super::planned::{Part, PlanOutcome};
use super::quote::Quotation;
use super::recall::LEAST;
use super::turn::Turn;
use crate::model::{ContextItem, Hint};

/// Name under which documents of the request are quoted.
pub(super) const OWN: &str = "document";

/// Tokens that the documents of a request take, and those of them that are quoted.
///
/// A request that fits keeps its documents where they are. Otherwise those that are not pinned are
/// quoted with what sources bring, and compete with it.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentRoom {
    /// For each document, whether it is quoted if it is selected.
    quoted: Vec<bool>,
    /// Tokens of the others.
    pub(super) staying: i64,
    /// Tokens of the part that holds the quotation, where they come on top of the share.
    part: i64,
}

impl DocumentRoom {
    /// Room of the documents in a request whose messages have so many tokens.
    pub(super) fn of(conversation: &Conversation, turn: &Turn<'_>, tokens: i64) -> Self {
        let part = conversation.part.beside_share();
        if conversation.documents.is_empty() && part == 0 {
            return Self::default();
        }
        let items = || conversation.documents.iter().map(|document| &document.item);
        let all = items().map(ContextItem::tokens).fold(0, i64::saturating_add);
        let kept_for_sources = match turn.has_sources {
            true => {
                let recall = turn.plan.recall_tokens(turn.window, true);
                let frame = match recall > 0 {
                    true => Quotation::frame_tokens(&*conversation.counter),
                    false => 0,
                };
                recall.saturating_add(frame).min(turn.room.max(0))
            }
            false => 0,
        };
        let room = turn.room.saturating_sub(all).saturating_sub(kept_for_sources);
        let fits = tokens <= room;
        let quoted: Vec<bool> = items().map(|item| !fits && !item.pinned()).collect();
        let stays = items().zip(&quoted).filter(|(_, quoted)| !**quoted);
        let staying = stays.map(|(item, _)| item.tokens()).fold(0, i64::saturating_add);
        let alone = !turn.has_sources;
        Self { staying, part: if fits && alone { 0 } else { part }, quoted }
    }

    /// Returns true if the same documents stand in both requests.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.quoted == other.quoted
    }

    /// Takes what the documents need off the room of the messages.
    pub(super) fn leave_room(&self, turn: &mut Turn<'_>) {
        turn.room = turn.room.saturating_sub(self.staying).saturating_sub(self.part);
        turn.has_sources |= self.is_quoting();
    }

    fn is_quoting(&self) -> bool {
        self.quoted.contains(&true)
    }

    /// Returns true if a document is quoted and takes no more than so many tokens.
    pub(super) fn fits_one(&self, conversation: &Conversation, tokens: i64) -> bool {
        let quoted = conversation.documents.iter().zip(&self.quoted).filter(|(_, quoted)| **quoted);
        let mut texts = quoted.map(|(document, _)| &*document.text).filter(|text| !text.is_empty());
        let counter = &*conversation.counter;
        texts.any(|text| Quotation::source_tokens(OWN, text, counter) <= tokens)
    }

    /// Adds the documents to the parts of a plan.
    pub(super) fn add_to(&self, planned: &mut PlanOutcome, conversation: &Conversation) {
        for (document, quoted) in conversation.documents.iter().zip(&self.quoted) {
            if *quoted {
                let tokens = Quotation::source_tokens(OWN, &document.text, &*conversation.counter);
                planned.parts.push(Part::Earlier);
                planned.tokens.push(tokens);
                // Like messages, it is recalled rather than nothing.
                let least = LEAST / (planned.hints.len() + 2) as f64;
                let hint = planned.hint(&document.text, tokens);
                let value = |hint: &Hint| hint.value().max(least);
                let hint = hint.map(|hint| hint.clone().with_value(value(&hint)));
                planned.hints.push(hint);
            } else {
                planned.parts.push(Part::Head);
                planned.tokens.push(document.item.tokens());
                planned.hints.push(None);
            }
        }
    }
}
