//! A selection on its way into a request: the edits, and what they come to.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;

use super::edits::Edits;
use super::plan::{Planned, ReportedRequest, TurnReport};
use super::texts::Texts;
use super::units::{Conversation, withdrawn};
use crate::diagnostics::SelectionReport;
use crate::model::Placed;

/// Items and tokens of a request, counted when it was built. They are there without a report as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sent {
    /// Number of items in the request.
    pub items: usize,
    /// Their tokens, and those of the frame around what a plan quotes; the fixed tokens come on top.
    pub tokens: i64,
    /// Number of candidates that are not in it: left out, refused, or selected and then withdrawn.
    pub left_out: usize,
}

impl Sent {
    /// Counts what is placed of `candidates`, the refused ones among them.
    fn count(placed: &[Placed], candidates: usize) -> Self {
        let tokens = placed.iter().map(|placed| placed.item.tokens());
        Self {
            items: placed.len(),
            tokens: tokens.fold(0, i64::saturating_add),
            left_out: candidates.saturating_sub(placed.len()),
        }
    }
}

/// Takes out of a selection what cannot be sent because what it needs was not selected. Returns how
/// much that was. The report lists the selection in the order in which it is placed.
pub(crate) fn withdraw(
    needs: &BTreeMap<usize, usize>,
    placed: &mut Vec<Placed>,
    report: &mut SelectionReport,
) -> usize {
    let withdrawn = withdrawn(needs, placed);
    let mut gone = withdrawn.iter().map(|(position, _)| *position).peekable();
    let mut position = 0..;
    placed.retain(|_| position.next().is_none_or(|it| gone.next_if_eq(&it).is_none()));
    let count = withdrawn.len();
    report.withdraw(withdrawn);
    count
}

/// The edits that a selection comes to, and the numbers of a report on them.
pub(crate) struct Written {
    pub(crate) edits: Edits,
    pub(crate) sent: Sent,
    /// Message, hash and tokens of the quotation, which an adapter may take out of the edits.
    quotation: Option<(usize, u64, i64)>,
}

impl Written {
    /// Edits for what was placed of so many candidates, the refused ones among them.
    pub(crate) fn new(
        conversation: Option<Conversation>,
        planned: Option<Planned>,
        placed: Vec<Placed>,
        candidates: usize,
        texts: &dyn Texts,
    ) -> Self {
        let mut sent = Sent::count(&placed, candidates);
        let is_recalled =
            |placed: &&Placed| planned.as_ref().is_some_and(|it| it.is_recalled(placed));
        // Quoted together they take less than one by one, or more, with the frame.
        let bare = placed.iter().filter(is_recalled).map(|placed| placed.item.tokens());
        let bare = bare.fold(0, i64::saturating_add);
        let edits = match conversation {
            Some(talk) => talk.edits(placed, planned, texts),
            None => Edits::of_items(placed),
        };
        let quotation = edits.quotation.as_ref().map(|quotation| {
            let hash = foldhash::fast::FixedState::default().hash_one(&quotation.text);
            (quotation.message, hash, quotation.tokens)
        });
        let quoted = quotation.map_or(0, |(_, _, tokens)| tokens);
        sent.tokens = sent.tokens.saturating_sub(bare).saturating_add(quoted);
        Self { edits, sent, quotation }
    }

    /// The report on a planned turn, with the request for those who asked for it.
    pub(crate) fn report(&self, request: ReportedRequest, window: i64) -> Option<TurnReport> {
        let quoted = self.quotation.map_or(0, |(_, _, tokens)| tokens);
        let mut report = TurnReport::of(&self.edits, self.sent.tokens, quoted)?;
        let place = self.quotation.map(|(message, _, tokens)| (message, tokens));
        let sent = self.edits.sent_messages(&request, place);
        let quotation = self.quotation.map(|(message, hash, _)| (message, hash));
        report.complete(request, sent, quotation, window);
        Some(report)
    }
}
