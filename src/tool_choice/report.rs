//! Report on the tools of a request.

use super::candidate::{ToolCandidate, ToolReason};
use super::choice::ToolChoice;
use crate::names::GroupedNumber;

/// Tools of a request that did not fit: those that were sent, and those that were not.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ToolReport {
    /// Every tool, in the order of the request.
    pub tools: Vec<ReportedTool>,
    /// Tokens of all definitions.
    pub offered_tokens: i64,
    /// Tokens of the definitions that were sent.
    pub sent_tokens: i64,
    /// True if the request before, this one without its newest messages, was sent with another set. Its
    /// prompt cache is lost then.
    pub changed: bool,
    /// Tokens that the prompt cache would have known if the set had not changed. Known for planned turns.
    pub lost_tokens: i64,
}

/// A tool of a request.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ReportedTool {
    /// Name of the tool.
    pub name: String,
    /// Tokens of the definition.
    pub tokens: i64,
    /// Score by the questions so far.
    pub score: f64,
    /// The reason why it was sent, or was not.
    pub reason: ToolReason,
}

impl ReportedTool {
    /// Returns true if it was sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.reason != ToolReason::LeftOut
    }
}

impl ToolReport {
    /// A report on a choice.
    pub(crate) fn new(tools: &[ToolCandidate], choice: &ToolChoice, changed: bool) -> Self {
        let reported = tools.iter().zip(&choice.verdicts).map(|(tool, verdict)| ReportedTool {
            name: tool.name().to_owned(),
            tokens: tool.tokens().max(0),
            score: verdict.score,
            reason: verdict.reason,
        });
        let tools: Vec<ReportedTool> = reported.collect();
        let sum = |sent: bool| {
            let tools = tools.iter().filter(|tool| !sent || tool.is_sent());
            tools.map(|tool| tool.tokens).fold(0, i64::saturating_add)
        };
        let (offered_tokens, sent_tokens) = (sum(false), sum(true));
        Self { tools, offered_tokens, sent_tokens, changed, lost_tokens: 0 }
    }

    /// Tools that were sent.
    pub fn sent(&self) -> impl Iterator<Item = &ReportedTool> {
        self.tools.iter().filter(|tool| tool.is_sent())
    }

    /// Tools that were left out.
    pub fn left_out(&self) -> impl Iterator<Item = &ReportedTool> {
        self.tools.iter().filter(|tool| !tool.is_sent())
    }

    /// Tokens of the definitions that were left out.
    #[must_use]
    pub fn saved_tokens(&self) -> i64 {
        self.offered_tokens.saturating_sub(self.sent_tokens)
    }

    /// The report in a sentence.
    pub(crate) fn describe(&self) -> String {
        let (sent, all) = (self.sent().count(), self.tools.len());
        let mut text = format!(
            "{sent} of {all} tools sent, {} of {} tokens of definitions",
            GroupedNumber(self.sent_tokens),
            GroupedNumber(self.offered_tokens)
        );
        if self.changed {
            text.push_str("; another set than before");
            if self.lost_tokens > 0 {
                text.push_str(&format!(
                    ", which lost {} cached tokens",
                    GroupedNumber(self.lost_tokens)
                ));
            }
        }
        text
    }
}
