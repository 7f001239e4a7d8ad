//! The outcome of one call: what it selected, from what, and why.

use super::summary_report::SummaryReport;
use crate::conversation::SentSummary;
use crate::conversation::plan::TurnReport;
use crate::diagnostics::SelectionReport;
use crate::explain::{Explanation, SourceTiming};
use crate::gather::{GatherReport, JudgeReport, SourceOutcome, SourceReport, StreamReport};
use crate::model::ContextBudget;
use crate::tool_choice::ToolReport;

/// Outcome of one call: what it selected, from what, and why.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// Every candidate with its reason.
    pub report: SelectionReport,
    /// Outcome of each source.
    pub gather: GatherReport,
    /// The budget the selection had: the provider's, less the fixed tokens.
    pub budget: ContextBudget,
    /// Tokens that were not up for selection.
    pub fixed_tokens: i64,
    /// Number of parts of the request that were [refused](super::RefusedItem) or
    /// [withdrawn](super::Split::needs); the report lists them among the excluded
    /// ones.
    pub refused: usize,
    /// Items and tokens of the request that is sent.
    pub sent: SentSummary,
    /// Parts of the request that could not be counted, in words. The request may be larger than the
    /// budget by as much.
    pub uncounted: Vec<String>,
    /// True if no thread was free to count long texts, so that new ones were estimated: by the number of bytes,
    /// or by [`HeuristicCounter`](crate::tokens::HeuristicCounter) and a third more. Within the bounds of that
    /// counter the request is not larger than it says.
    pub estimated: bool,
    /// Set when the turn was [planned](crate::conversation::plan).
    pub plan: Option<Box<TurnReport>>,
    /// Set when a compactor is set and the conversation has a name.
    pub summaries: Option<Box<SummaryReport>>,
    /// Tokens of the definitions of tools that were sent. They are among the fixed ones.
    pub tool_tokens: i64,
    /// Tools that were sent and left out. None if all were sent.
    pub tools: Option<Box<ToolReport>>,
    /// Set when the selection was made while items arrived: then `report.excluded` is a sample of
    /// the best ones, and the totals count everything. None when everything had arrived before.
    pub stream: Option<StreamReport>,
}

impl Selection {
    /// Placeholder until there is a selection.
    pub(super) fn empty() -> Self {
        Self {
            report: SelectionReport::default(),
            gather: GatherReport::default(),
            budget: ContextBudget::bare(0, 0),
            fixed_tokens: 0,
            refused: 0,
            sent: SentSummary::default(),
            uncounted: Vec::new(),
            estimated: false,
            plan: None,
            summaries: None,
            tool_tokens: 0,
            tools: None,
            stream: None,
        }
    }

    /// Returns `true` if the turn was planned, and messages were dropped, shortened or quoted.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| !plan.whole)
    }

    /// The selection as something to look at: as text, or as a page.
    ///
    /// ```
    /// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, Selection};
    /// use cupel::{ContextBudget, Policy};
    ///
    /// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
    ///     .adapter(ContextRequestAdapter)
    ///     .policy(Policy::chat())
    ///     .budget(ContextBudget::builder(8_192).output_reserve(1_024).build()?)
    ///     .on_selection(|selection: &Selection| print!("{}", selection.explain().text().brief()))
    ///     .build()?;
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        let mut explanation = Explanation::new(self.report.clone())
            .budget(self.budget.clone())
            .fixed_tokens(self.fixed_tokens)
            .tool_tokens(self.tool_tokens);
        if !self.gather.sources.is_empty() {
            let elapsed = self.gather.elapsed.as_secs_f64() * 1_000.0;
            explanation =
                explanation.gathered(elapsed, self.gather.sources.iter().map(timing).collect());
        }
        if let Some(StreamReport { arrived, .. }) = &self.stream {
            explanation = explanation.note(format!("selected while {arrived} items arrived"));
        }
        if let Some(judge) = &self.gather.judge {
            let JudgeReport { name, texts, judged, outcome, .. } = judge;
            let mut note = format!("judge {name}: {outcome}, {judged} of {texts} texts judged");
            if judge.reused {
                note = format!("judge {name}: as in the call before, {judged} texts judged");
            } else if judge.requests + judge.cached > 0 {
                let (requests, cached) = (judge.requests, judge.cached);
                note.push_str(&format!("; {requests} requests, {cached} texts known"));
            }
            explanation = explanation.note(note);
        }
        if let Some(plan) = &self.plan {
            explanation = plan.explain(explanation);
        }
        if let Some(summaries) = &self.summaries {
            explanation = summaries.notes().into_iter().fold(explanation, Explanation::note);
        }
        if let Some(tools) = &self.tools {
            explanation = explanation.tools((**tools).clone());
        }
        if self.estimated {
            explanation =
                explanation.note("tokens are estimated: no thread was free to count them");
        }
        let uncounted = self.uncounted.iter().map(|what| format!("not counted: {what}"));
        uncounted.fold(explanation, Explanation::note)
    }
}

impl From<&Selection> for Explanation {
    fn from(selection: &Selection) -> Self {
        selection.explain()
    }
}

fn timing(source: &SourceReport) -> SourceTiming {
    let elapsed_ms = source.elapsed.as_secs_f64() * 1_000.0;
    let timing = SourceTiming::new(&*source.name, source.items, source.tokens, elapsed_ms)
        .outcome(source.outcome.name(), source.outcome.is_failure());
    let mut details = Vec::new();
    match &source.outcome {
        SourceOutcome::Failed { error } => details.push(error.clone()),
        SourceOutcome::Panicked { message } => details.push(message.clone()),
        _ => {}
    }
    if source.broke_promise {
        details.push("an item broke a promise".to_owned());
    }
    if source.pins_lifted > 0 {
        details.push(format!("{} pins lifted", source.pins_lifted));
    }
    if details.is_empty() { timing } else { timing.detail(details.join("; ")) }
}
