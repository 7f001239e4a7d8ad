//! Documents of a request beside its messages: kept where they stand, or quoted.

use super::super::message::Role;
use super::super::units::{Conversation, PartTokens};
use super::cache::Broke;
use super::planned::{Part, Planned};
use super::quote::Quotation;
use super::turn::Turn;
use crate::model::ContextItem;

/// Name under which documents of the request are quoted.
pub(super) const OWN: &str = "document";

/// What the documents of a request do to the plan of its messages.
///
/// A request that fits keeps its documents where they are. Otherwise those that are not pinned are
/// quoted with what sources bring, and compete with it.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentRoom {
    /// Which documents are quoted if they are selected.
    quoted: Vec<bool>,
    /// Tokens of the others.
    staying: i64,
    /// Tokens of the part that holds the quotation, where they come on top of the share.
    part: i64,
    /// Reason for a new beginning of the request, if nothing else is one.
    broke: Option<Broke>,
    start_moved: bool,
}

impl DocumentRoom {
    pub(super) fn of(conversation: &Conversation, turn: &Turn<'_>) -> Self {
        let start_moved = conversation.start_moved;
        let part = match conversation.part {
            PartTokens::Beside(tokens) => tokens,
            PartTokens::Free | PartTokens::OfShare(_) => 0,
        };
        if conversation.documents.is_empty() && part == 0 {
            return Self { start_moved, ..Self::default() };
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
        let (now, before) = conversation.tokens_now_and_before();
        let fits = now <= room;
        let quoted: Vec<bool> = items().map(|item| !fits && !item.pinned()).collect();
        let stays = items().zip(&quoted).filter(|(_, quoted)| !**quoted);
        let staying = stays.map(|(item, _)| item.tokens()).fold(0, i64::saturating_add);
        let fitted_before = before.is_some_and(|tokens| tokens <= room);
        let alone = !turn.has_sources;
        // The part was not kept free when the request before fitted, and quoted documents stood behind
        // the head.
        let outgrown = fitted_before && ((alone && !fits) || quoted.contains(&true));
        Self {
            staying,
            part: if fits && alone { 0 } else { part },
            broke: outgrown.then_some(Broke::Outgrown),
            quoted,
            start_moved,
        }
    }

    /// Takes what the documents need off the room of the messages.
    pub(super) fn leave_room(&self, turn: &mut Turn<'_>) {
        turn.room = turn.room.saturating_sub(self.staying).saturating_sub(self.part);
        turn.has_sources |= self.is_quoting();
    }

    fn is_quoting(&self) -> bool {
        self.quoted.contains(&true)
    }

    /// Lowers what a prompt cache is expected to know, where the documents moved or the adapter looks at
    /// other messages than before.
    pub(super) fn expect(&self, planned: &mut Planned, fixed_tokens: i64) {
        let broke = match planned.expected.broke {
            Some(Broke::First | Broke::Unknown) => None,
            _ if self.start_moved => Some(Broke::StartMoved),
            None => self.broke,
            Some(_) => None,
        };
        if broke.is_some() {
            let parts = planned.parts.iter().zip(&planned.tokens);
            let head = parts.take_while(|(part, _)| **part == Part::Head);
            let head = head.map(|(_, tokens)| *tokens).fold(fixed_tokens, i64::saturating_add);
            planned.expected.broke = broke;
            planned.expected.same_recall = false;
            planned.expected.cached_tokens = head;
        }
    }

    /// Adds the documents to the parts of a plan.
    pub(super) fn add_to(&self, planned: &mut Planned, conversation: &Conversation) {
        for (document, quoted) in conversation.documents.iter().zip(&self.quoted) {
            if *quoted {
                let tokens = Quotation::source_tokens(OWN, &document.text, &*conversation.counter);
                planned.parts.push(Part::Earlier);
                planned.tokens.push(tokens);
                planned.hints.push(planned.hint(&document.text, tokens));
            } else {
                planned.parts.push(Part::Head);
                planned.tokens.push(document.item.tokens());
                planned.hints.push(None);
            }
        }
    }
}

impl Conversation {
    /// Tokens of all units, and of those that the request before had: all up to what the model said last.
    fn tokens_now_and_before(&self) -> (i64, Option<i64>) {
        let (mut now, mut before) = (0_i64, None);
        for members in self.all_members() {
            let messages = || members.iter().filter_map(|index| self.messages.get(*index));
            if messages().next().is_some_and(|first| first.role == Role::Assistant) {
                before = Some(now);
            }
            now = messages().fold(now, |sum, message| sum.saturating_add(message.tokens));
        }
        (now, before)
    }
}
