//! The choice of tools for one request.

use hashbrown::HashMap;

use super::candidate::{ToolCandidate, ToolReason};
use super::replay::ToolReplay;
use crate::model::ToolLimit;
use crate::relevance::DefinitionIndex;

/// A question of the user's, and the tools that were called for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct ToolExchange {
    /// The user's words.
    pub question: String,
    /// Names of the tools that the model called after it, in order.
    pub calls: Vec<String>,
}

impl ToolExchange {
    /// A question for which nothing was called.
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), calls: Vec::new() }
    }

    /// Adds a call.
    pub fn call(mut self, name: impl Into<String>) -> Self {
        self.calls.push(name.into());
        self
    }
}

/// Tools of a request that are sent, and the reasons.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct ToolChoice {
    /// Indexes of the tools that are sent, ascending.
    pub kept: Vec<usize>,
    /// Score and reason of every tool, in their order.
    pub verdicts: Vec<ToolVerdict>,
    /// Number of changes of the set since the first question.
    pub changes: usize,
}

/// Score and reason of a tool.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ToolVerdict {
    /// Score by the questions so far: 1 for the best one of one question, and up to about 3.
    pub score: f64,
    /// The reason why it is sent, or is not.
    pub reason: ToolReason,
}

/// Chooses tools for the newest of these exchanges that take at most so many tokens.
///
/// Tools that have to stay are kept even if they take more, and at least one tool is. See the [module](super) for how the
/// others are chosen.
pub fn choose_tools(
    tools: &[ToolCandidate],
    exchanges: &[ToolExchange],
    limit: &ToolLimit,
    tokens: i64,
) -> ToolChoice {
    let definition =
        |at: usize| tools.get(at).map_or(("", String::new()), |tool| (tool.name(), tool.text()));
    let index = DefinitionIndex::of(ToolCandidate::identity_of(tools), tools.len(), definition);
    let mut numbers: HashMap<&str, Vec<usize>, foldhash::fast::FixedState> = HashMap::default();
    for (number, tool) in tools.iter().enumerate() {
        tool.names().for_each(|name| numbers.entry(name).or_default().push(number));
    }
    let mut reasons: Vec<Option<ToolReason>> = tools.iter().map(ToolCandidate::kept).collect();
    for (reason, tool) in reasons.iter_mut().zip(tools) {
        if reason.is_none() && tool.names().any(|name| limit.keeps(name)) {
            *reason = Some(ToolReason::Pinned);
        }
    }
    let mut replay = ToolReplay::new(tools, &index, &reasons, tokens);
    let empty = [ToolExchange::default()];
    let exchanges = if exchanges.is_empty() { &empty } else { exchanges };
    for exchange in exchanges {
        replay.ask(&exchange.question);
        for name in &exchange.calls {
            for number in numbers.get(&**name).into_iter().flatten() {
                replay.call(*number);
                if let Some(reason) = reasons.get_mut(*number) {
                    reason.get_or_insert(ToolReason::Called);
                }
            }
        }
    }
    let (scores, in_view, changes) = replay.finish();
    let verdict = |((score, in_view), reason): ((f64, bool), Option<ToolReason>)| {
        let other = if in_view { ToolReason::Relevant } else { ToolReason::LeftOut };
        ToolVerdict { score, reason: reason.unwrap_or(other) }
    };
    let mut verdicts: Vec<ToolVerdict> =
        scores.into_iter().zip(in_view).zip(reasons).map(verdict).collect();
    let is_kept = |verdict: &ToolVerdict| verdict.reason != ToolReason::LeftOut;
    if !verdicts.iter().any(is_kept) {
        // A list without tools is refused by some APIs, and means something else to others.
        let best = verdicts.iter_mut().rev().max_by(|a, b| a.score.total_cmp(&b.score));
        best.into_iter().for_each(|verdict| verdict.reason = ToolReason::Relevant);
    }
    let kept = verdicts.iter().enumerate().filter(|(_, it)| is_kept(it)).map(|(at, _)| at);
    ToolChoice { kept: kept.collect(), verdicts, changes }
}

impl ToolChoice {
    /// Returns true if any tool is left out.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        self.kept.len() < self.verdicts.len()
    }
}
