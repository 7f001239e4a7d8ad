//! What of a request a prompt cache may know from the one before.

use super::ladder::{Decision, Step};
use super::planned::Planned;
use super::units::Unit;

/// What is expected of a prompt cache, if the request before was this one without its newest
/// messages and is still remembered.
///
/// An upper bound: providers match from a least number of tokens on and in steps, forget, and may
/// not have seen that request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Expected {
    /// Tokens that were in the request before, at the same place: fixed ones and instructions
    /// included, what is recalled not.
    pub cached_tokens: i64,
    /// Why the request does not begin as the one before did, up to what was recalled then.
    pub broke: Option<Broke>,
    /// Whether what is recalled is what was recalled then.
    pub same_recall: bool,
    /// Tokens up to the last place where the cache may end, what is recalled not included; none
    /// where it takes up all of the request.
    pub written_up_to: Option<i64>,
}

/// Why a request does not begin as the one before did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Broke {
    /// There was none before.
    First,
    /// The conversation has outgrown the window: from now on it is cut.
    Outgrown,
    /// The cut has moved to the next line of the grid.
    CutMoved,
    /// What is recalled, what the user replies to or steps of the exchange have given way.
    GaveWay,
    /// The history begins elsewhere than it did: its older messages are no longer looked at.
    StartMoved,
    /// The history is not the one of the call before with newer messages: it was edited, cut, or
    /// goes on from an earlier place. A plan cannot see that; `TurnReport::following` can, which is
    /// told of that call.
    Edited,
    /// Part of the conversation is on the server: nothing is known of it.
    Unknown,
}

impl Broke {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Outgrown => "outgrown",
            Self::CutMoved => "cut moved",
            Self::GaveWay => "gave way",
            Self::StartMoved => "start moved",
            Self::Edited => "edited",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Broke {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a request has in common with the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    pub(super) broke: Option<Broke>,
    pub(super) same_recall: bool,
    /// What is sent of so many units is the same, what is recalled aside.
    pub(super) units: usize,
}

/// Compares a decision with the one of the request before, which had the first `known` units.
pub(super) fn compare(
    units: &[Unit],
    before: Option<(usize, &Decision)>,
    now: &Decision,
) -> Common {
    let Some((known, before)) = before else {
        return Common { broke: Some(Broke::First), same_recall: false, units: 0 };
    };
    let same_run = before.cut == now.cut
        // Behind the end of that request there was nothing to fade.
        && before.faded_to.min(known) == now.faded_to.min(known)
        && before.beside == now.beside
        && (before.step == Step::Whole) == (now.step == Step::Whole)
        && before.excerpt == now.excerpt
        && before.squeeze == now.squeeze
        // Within one exchange what was recalled stands before its steps.
        && (before.question != now.question || before.share == now.share);
    let broke = match (before.step, now.step) {
        _ if same_run => None,
        // What sources bring has given way to the conversation.
        (Step::Whole, Step::Whole) => Some(Broke::GaveWay),
        (Step::Whole, _) => Some(Broke::Outgrown),
        (_, Step::Tail | Step::Whole) => Some(Broke::CutMoved),
        (Step::Tail, _) => Some(Broke::GaveWay),
        (old, new) if old == new => Some(Broke::CutMoved),
        _ => Some(Broke::GaveWay),
    };
    let same_recall = before.question == now.question && before.share == now.share;
    let same = match broke {
        Some(_) => units.iter().take_while(|unit| unit.stays).count(),
        // Up to the end of that request, or to the question that had something before it.
        None if same_recall || before.share == 0 && now.question != before.question => known,
        None => before.question.unwrap_or(known),
    };
    Common { broke, same_recall, units: same }
}

impl Common {
    /// What a cache may know of a planned request.
    pub(super) fn expected(self, planned: &Planned, fixed_tokens: i64) -> Expected {
        let sent = planned.parts.iter().zip(&planned.tokens).take(self.units);
        let sent = sent.filter(|(part, _)| part.is_sent()).map(|(_, tokens)| *tokens);
        let cached_tokens = match self.broke {
            Some(Broke::First) => 0,
            _ => sent.fold(fixed_tokens, i64::saturating_add),
        };
        let Self { broke, same_recall, .. } = self;
        Expected { cached_tokens, broke, same_recall, written_up_to: None }
    }
}
