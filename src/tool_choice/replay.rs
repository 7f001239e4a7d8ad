//! The set of tools from question to question, from the start of the conversation.

use super::candidate::{ToolCandidate, ToolReason};
use crate::relevance::DefinitionIndex;

/// Weight of everything before a question, relative to it. Recorded conversations do as well with .7.
const DECAY: f64 = 0.5;
/// Score that a tool gets of one that was called and is like it.
const COMPANION: f64 = 0.5;

/// The set of tools while a conversation is gone through.
pub(super) struct ToolReplay<'a> {
    tools: &'a [ToolCandidate],
    index: &'a DefinitionIndex,
    room: i64,
    /// Tools that stay, and those that were called.
    stays: Vec<bool>,
    scores: Vec<f64>,
    companions: Vec<f64>,
    /// None before the first question.
    in_view: Option<Vec<bool>>,
    changes: usize,
}

impl<'a> ToolReplay<'a> {
    /// Begins with the tools that have a reason to stay.
    pub(super) fn new(
        tools: &'a [ToolCandidate],
        index: &'a DefinitionIndex,
        reasons: &[Option<ToolReason>],
        room: i64,
    ) -> Self {
        Self {
            tools,
            index,
            room,
            stays: reasons.iter().map(Option::is_some).collect(),
            scores: vec![0.0; tools.len()],
            companions: vec![0.0; tools.len()],
            in_view: None,
            changes: 0,
        }
    }

    /// Goes on to the next question. The set stays unless it lacks one of the best for it.
    pub(super) fn ask(&mut self, question: &str) {
        let asked = self.index.ask(question);
        // Words that no tool has change nothing.
        if !asked.best.is_empty() {
            for (score, new) in self.scores.iter_mut().zip(&asked.scores) {
                *score = *score * DECAY + new;
            }
        }
        let lacks = |in_view: &[bool]| {
            asked.best.iter().any(|best| !in_view.get(*best as usize).copied().unwrap_or(true))
        };
        if self.in_view.as_deref().is_none_or(lacks) {
            let set = self.fill(&asked.best);
            self.changes += usize::from(self.in_view.as_ref().is_some_and(|before| *before != set));
            self.in_view = Some(set);
        }
    }

    /// Notes a call: the tool stays, and lends to those like it.
    pub(super) fn call(&mut self, tool: usize) {
        let slot = self.stays.get_mut(tool);
        if slot.is_none_or(|stays| std::mem::replace(stays, true)) {
            return;
        }
        if let Some(in_view) = self.in_view.as_mut().and_then(|set| set.get_mut(tool)) {
            *in_view = true;
        }
        for (like, share) in self.index.alike(tool) {
            let lent = self.companions.get_mut(*like as usize);
            lent.into_iter().for_each(|lent| *lent = lent.max(COMPANION * share));
        }
    }

    /// A new set: what stays, the best of the newest question, and then by score what fits. The cache is lost
    /// with any change, so everything may change.
    fn fill(&self, best: &[u32]) -> Vec<bool> {
        let mut set = self.stays.clone();
        let tokens = |at: usize| self.tools.get(at).map_or(0, |tool| tool.tokens().max(0));
        let mut take = |at: usize, left: &mut i64| {
            if let Some(slot) = set.get_mut(at).filter(|slot| !**slot && tokens(at) <= *left) {
                *slot = true;
                *left -= tokens(at);
            }
        };
        // However many tools stay, a new question gets its own.
        let mut left = self.room;
        best.iter().for_each(|at| take(*at as usize, &mut left));
        let stay = self.stays.iter().enumerate().filter(|(_, stays)| **stays);
        let stay = stay.map(|(at, _)| tokens(at)).fold(0, i64::saturating_add);
        let mut left = left.saturating_sub(stay);
        let mut order: Vec<usize> = (0..self.tools.len()).collect();
        order.sort_by(|a, b| self.score(*b).total_cmp(&self.score(*a)).then(a.cmp(b)));
        order.into_iter().for_each(|at| take(at, &mut left));
        set
    }

    fn score(&self, at: usize) -> f64 {
        let [score, companion] =
            [&self.scores, &self.companions].map(|of| of.get(at).copied().unwrap_or(0.0));
        score + companion
    }

    /// Score of each tool, the set, and the number of its changes.
    pub(super) fn finish(self) -> (Vec<f64>, Vec<bool>, usize) {
        let scores = (0..self.tools.len()).map(|at| self.score(at)).collect();
        (scores, self.in_view.unwrap_or(self.stays), self.changes)
    }
}
