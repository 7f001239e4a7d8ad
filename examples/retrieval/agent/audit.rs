//! Looks at every request as the model got it, and says at the end whether all claims held.

use cupel::conversation::plan::PrefixBreak;
use cupel::layer::Selection;
use serde_json::Value;

use super::bill::{Bill, newest_first, tokens_of};
use super::checks::{has_no_holes, pairs_are_whole};
use super::model::{Heard, Model, Reply, Says};
use super::script::Turn;
use super::sight::{field, words};
use super::tools::Call;

/// Results of the checks, claim by claim.
pub(crate) struct Audit {
    /// Most tokens of a request: the window less the reserve for the answer.
    limit: i64,
    largest: i64,
    pub(crate) requests: usize,
    /// The turn of the last one.
    turn: usize,
    /// The calls of tools so far.
    made: Vec<Call>,
    /// Why requests began anew.
    broke: Vec<PrefixBreak>,
    /// Cost of the requests that were sent, and of newest-first trimming.
    pub(crate) planned: Bill,
    pub(crate) trimmed: Bill,
    broken: Vec<(Claim, usize)>,
}

/// Claims of the example about every turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    Answered,
    Right,
    QuestionThere,
    PairsWhole,
    WithinBudget,
    NoHoles,
    AskedOnce,
    FromLongAgo,
    PrefixKept,
}

impl Audit {
    /// Nothing seen yet.
    pub(crate) fn new(limit: i64) -> Self {
        Self {
            limit,
            largest: 0,
            requests: 0,
            turn: 0,
            made: Vec::new(),
            broke: Vec::new(),
            planned: Bill::default(),
            trimmed: Bill::default(),
            broken: Vec::new(),
        }
    }

    /// Sees what the loop had, what the model got of it, and what the layer says about that.
    pub(crate) fn call(
        &mut self,
        turn: usize,
        history: &[Value],
        heard: &Heard,
        selection: &Selection,
    ) {
        let sent = heard.messages.as_slice();
        let asked = history.iter().rfind(|message| field(message, "role") == "user");
        let asked = asked.map(|message| words(message).concat()).unwrap_or_default();
        self.claim(Claim::QuestionThere, turn, heard.sight.question == asked);
        self.claim(Claim::PairsWhole, turn, pairs_are_whole(sent));
        self.claim(Claim::NoHoles, turn, has_no_holes(history, sent));
        // Counted here, not taken from the report.
        let tools = selection.fixed_tokens;
        let tokens = tools + sent.iter().map(tokens_of).sum::<i64>();
        self.claim(Claim::WithinBudget, turn, tokens <= self.limit);
        self.largest = self.largest.max(tokens);
        let plan = selection.plan.as_deref();
        let begins_alike = plan.is_some_and(|plan| plan.broke.is_none());
        let same = !begins_alike || self.planned.continues(sent, self.turn == turn);
        self.claim(Claim::PrefixKept, turn, same);
        self.planned.add(sent, tools);
        self.trimmed.add(&newest_first(history, sent, self.limit - tools), tools);
        self.broke.extend(plan.and_then(|plan| plan.broke));
        if let Says::Call(call) = &heard.reply.says {
            self.claim(Claim::AskedOnce, turn, !self.made.contains(call));
            self.made.push(call.clone());
        }
        self.turn = turn;
        self.requests += 1;
    }

    /// Sees an answer. What the model would have replied without what was recalled, where that is
    /// something else.
    pub(crate) fn answer(&mut self, turn: usize, said: &Turn, heard: &Heard) -> Option<Reply> {
        let Says::Answer(answer) = &heard.reply.says else { return None };
        self.claim(Claim::Right, turn, answer.contains(&said.expects));
        let recalled = |entry: &usize| heard.sight.entries.get(*entry).is_some_and(|e| e.recalled);
        let without = Model::reply(&heard.sight.without_recall());
        let without = Some(without).filter(|reply| reply.says != heard.reply.says);
        let rests_on = &heard.reply.rests_on;
        let long_ago = rests_on.iter().all(recalled) && !rests_on.is_empty() && without.is_some();
        self.claim(Claim::FromLongAgo, turn, !said.from_long_ago || long_ago);
        without
    }

    /// Sees a turn end without an answer.
    pub(crate) fn gave_up(&mut self, turn: usize) {
        self.claim(Claim::Answered, turn, false);
    }

    fn claim(&mut self, claim: Claim, turn: usize, holds: bool) {
        if !holds && !self.broken.contains(&(claim, turn)) {
            self.broken.push((claim, turn));
        }
    }

    /// Number of requests whose prefix broke for this reason.
    pub(crate) fn times(&self, why: PrefixBreak) -> usize {
        self.broke.iter().filter(|broke| **broke == why).count()
    }

    /// Every claim in words, whether it held, and the turns in which it did not.
    pub(crate) fn verdict(&self, turns: &[Turn]) -> Vec<(String, bool, Vec<usize>)> {
        let (largest, limit) = (self.largest, self.limit);
        let old: Vec<String> = (1..)
            .zip(turns)
            .filter(|(_, turn)| turn.from_long_ago)
            .map(|(number, _)| number.to_string())
            .collect();
        let of_turns = [
            (Claim::Answered, format!("each of the {} turns ended with an answer", turns.len())),
            (Claim::Right, "each answer was right, where the example knows it".to_owned()),
            (Claim::QuestionThere, "each request had the user's last words".to_owned()),
            (
                Claim::PairsWhole,
                "every tool call has its result, and every result its call".to_owned(),
            ),
            (Claim::WithinBudget, format!("the largest request had {largest} of {limit} tokens")),
            (Claim::NoHoles, "the messages that were sent have no gaps".to_owned()),
            (Claim::AskedOnce, "no tool was called twice with the same arguments".to_owned()),
            (
                Claim::FromLongAgo,
                format!("turns {} were answered from recalled texts alone", old.join(" and ")),
            ),
            (
                Claim::PrefixKept,
                "if the plan says so, a request begins like the previous one, byte for byte"
                    .to_owned(),
            ),
        ];
        let of_turns = of_turns.into_iter().map(|(claim, text)| {
            let broken = self.broken.iter().filter(|(known, _)| *known == claim);
            let broken: Vec<usize> = broken.map(|(_, turn)| *turn).collect();
            (text, broken.is_empty(), broken)
        });
        let cut = self.times(PrefixBreak::Outgrown) > 0 && self.times(PrefixBreak::CutMoved) > 0;
        let cached = 2 * self.planned.cached > self.planned.sent;
        let cheaper = self.planned.cost() < self.trimmed.cost();
        let of_all = [
            ("the conversation outgrew the window, and then the cut moved", cut),
            ("a cache can know more than half of the sent tokens", cached),
            ("all requests cost less than with newest-first trimming", cheaper),
        ];
        let of_all = of_all.into_iter().map(|(text, holds)| (text.to_owned(), holds, Vec::new()));
        of_turns.chain(of_all).collect()
    }
}
