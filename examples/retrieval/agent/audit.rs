//! Looks at every request on its way to the model, and says at the end whether all were valid.

use cupel::ContextItem;
use cupel::layer::{ContextRequest, Selection};

use super::history::{Role, Turn, call_id, role, turn};
use super::model::{Model, Reply};

/// From this turn on the candidates are more than the budget holds.
pub(crate) const TIGHT_FROM: usize = 3;

/// What was seen, claim by claim.
pub(crate) struct Audit {
    /// What a request may use: the window less the answer's reserve.
    limit: i64,
    /// Tokens of each request that are not items.
    fixed: i64,
    /// The request that went out last, to ask the model again with less.
    last: ContextRequest<Turn>,
    largest: i64,
    requests: usize,
    broken: Vec<(Claim, usize)>,
}

/// What the example claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    QuestionPresent,
    PairsWhole,
    WithinBudget,
    SelectionBites,
    AnswerRestsOnContext,
    TurnAnswered,
}

impl Audit {
    /// Nothing seen yet.
    pub(crate) fn new(limit: i64, fixed: i64) -> Self {
        let last = ContextRequest::new(Turn::default());
        Self { limit, fixed, last, largest: 0, requests: 0, broken: Vec::new() }
    }

    /// Sees a request as the model will.
    pub(crate) fn request(&mut self, request: &ContextRequest<Turn>) {
        let now = request.payload.number;
        let items: Vec<&ContextItem> = request.items().collect();
        let is_question = |item: &&ContextItem| {
            role(item) == Some(Role::Question)
                && item.pinned()
                && turn(item) == now
                && item.content() == request.payload.question
        };
        self.claim(
            Claim::QuestionPresent,
            now,
            items.iter().filter(|i| is_question(i)).count() == 1,
        );
        self.claim(Claim::PairsWhole, now, pairs_are_whole(&items));
        let tokens = self.fixed + items.iter().map(|item| item.tokens()).sum::<i64>();
        self.claim(Claim::WithinBudget, now, tokens <= self.limit);
        self.largest = self.largest.max(tokens);
        self.requests += 1;
        self.last = request.clone();
    }

    /// Sees how a call of a turn was selected.
    pub(crate) fn selection(&mut self, turn: usize, selection: &Selection) {
        self.claim(
            Claim::SelectionBites,
            turn,
            turn < TIGHT_FROM || !selection.report.excluded.is_empty(),
        );
    }

    /// Asks the model once more without the first item its answer rests on. A model that reads
    /// replies something else.
    pub(crate) fn answer(&mut self, reply: &Reply) -> Option<(ContextItem, Reply)> {
        let quoted = self.last.items().nth(*reply.quotes.first()?)?.clone();
        // A tool's output takes its call along.
        let goes = |item: &ContextItem| {
            ContextItem::same(item, &quoted)
                || (call_id(item).is_some() && call_id(item) == call_id(&quoted))
        };
        let kept = self.last.items().filter(|item| !goes(item)).cloned();
        let without = Model::reply(&ContextRequest::new(Turn::default()).with_items(kept));
        self.claim(
            Claim::AnswerRestsOnContext,
            self.last.payload.number,
            without.says != reply.says,
        );
        Some((quoted, without))
    }

    /// Sees a turn end without an answer.
    pub(crate) fn gave_up(&mut self, turn: usize) {
        self.claim(Claim::TurnAnswered, turn, false);
    }

    fn claim(&mut self, claim: Claim, turn: usize, holds: bool) {
        if !holds && !self.broken.contains(&(claim, turn)) {
            self.broken.push((claim, turn));
        }
    }

    /// Every claim in words, with the turns in which it did not hold.
    pub(crate) fn verdict(&self, turns: usize) -> Vec<(String, Vec<usize>)> {
        let (requests, largest, limit) = (self.requests, self.largest, self.limit);
        [
            (Claim::TurnAnswered, format!("each of the {turns} turns ended with an answer")),
            (Claim::QuestionPresent, format!("{requests} requests, each with its pinned question")),
            (
                Claim::PairsWhole,
                "no tool output without its call, no call without output".to_owned(),
            ),
            (Claim::WithinBudget, format!("the largest request had {largest} of {limit} tokens")),
            (
                Claim::SelectionBites,
                format!("something stayed out in every call from turn {TIGHT_FROM} on"),
            ),
            (
                Claim::AnswerRestsOnContext,
                "no answer survived the loss of what it quotes".to_owned(),
            ),
        ]
        .into_iter()
        .map(|(claim, text)| {
            let broken = self.broken.iter().filter(|(known, _)| *known == claim);
            (text, broken.map(|(_, turn)| *turn).collect())
        })
        .collect()
    }
}

/// Whether each call is followed by its output, and each output follows its call.
fn pairs_are_whole(items: &[&ContextItem]) -> bool {
    let mut open: Option<&str> = None;
    for item in items {
        match (role(item), open) {
            (Some(Role::Call), None) => open = call_id(item),
            (Some(Role::Output), Some(_)) if open == call_id(item) => open = None,
            (Some(Role::Call | Role::Output), _) | (_, Some(_)) => return false,
            (_, None) => {}
        }
    }
    open.is_none()
}
