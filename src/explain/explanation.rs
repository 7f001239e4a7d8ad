//! Explanation of a selection: its report, and everything known beside it.

use super::Difference;
use crate::diagnostics::{DiagnosticTraceCollector, SelectionReport, TraceDetailLevel};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem};
use crate::pipeline::Pipeline;
use crate::tool_choice::ToolReport;

/// A selection and what is known about it.
///
/// Only the report is needed. What is not given is not shown.
///
/// ```
/// use cupel::explain::Explanation;
/// use cupel::{ContextBudget, ContextItem, Policy};
///
/// let items = [ContextItem::builder("a match", 40).future_relevance_hint(0.9).build()?];
/// let budget = ContextBudget::builder(60).build()?;
/// let pipeline = Policy::rag().to_pipeline();
/// // As a dry run, with the parts of every score.
/// let explanation = Explanation::dry_run(&pipeline, &items, &budget)?.title("One question");
/// let best = &explanation.report.included[0];
/// let parts = best.details.as_ref().and_then(|details| details.score.as_ref());
/// assert_eq!(parts.map(|whole| whole.score), Some(best.score));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
#[non_exhaustive]
#[must_use]
pub struct Explanation {
    /// Purpose of the selection.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub title: Option<String>,
    /// Every candidate with its reason.
    pub report: SelectionReport,
    /// The budget that the items had; fixed tokens come on top.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub budget: Option<ContextBudget>,
    /// Tokens of the request that were not up for selection.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "crate::model::is_default")
    )]
    pub fixed_tokens: i64,
    /// Duration of gathering, in milliseconds.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub gathered_ms: Option<f64>,
    /// Outcome of each source.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub sources: Vec<SourceTiming>,
    /// Tokens of the request that a prompt cache is expected to have.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cache: Option<PromptCache>,
    /// Tokens of the definitions of tools that were sent. They are among the fixed ones.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "crate::model::is_default")
    )]
    pub tool_tokens: i64,
    /// Tools that were sent and left out. None if all were sent.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub tools: Option<ToolReport>,
    /// Anything else worth a line, such as what could not be counted.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub notes: Vec<String>,
}

/// Tokens of a request that a prompt cache is expected to have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PromptCache {
    /// Tokens that it is expected to have.
    pub cached_tokens: i64,
    /// Tokens that are new to it.
    pub new_tokens: i64,
    /// Why the request does not begin as the one before did, in words without content; none when it
    /// does.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub broke: Option<String>,
}

/// Outcome of one source.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[must_use]
pub struct SourceTiming {
    /// The source's name.
    pub name: String,
    /// Number of its items that became candidates.
    pub items: usize,
    /// Their tokens together.
    pub tokens: i64,
    /// From the start of gathering to its end, in milliseconds.
    pub elapsed_ms: f64,
    /// Outcome as a short name: `completed`, `timed_out`, `failed`.
    pub outcome: String,
    /// More about how it ended. It may quote anything.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub detail: Option<String>,
    /// `true` if the source was late or failed.
    #[cfg_attr(feature = "serde", serde(default))]
    pub failed: bool,
}

impl SourceTiming {
    /// A source that completed.
    pub fn new(name: impl Into<String>, items: usize, tokens: i64, elapsed_ms: f64) -> Self {
        let outcome = "completed".to_owned();
        Self { name: name.into(), items, tokens, elapsed_ms, outcome, ..Self::default() }
    }

    /// Sets how it ended, and whether that was late or a failure.
    pub fn outcome(mut self, name: impl Into<String>, failed: bool) -> Self {
        (self.outcome, self.failed) = (name.into(), failed);
        self
    }

    /// Says more about how it ended.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

#[cfg(feature = "serde")]
crate::model::serde_by_name!(read Explanation);

impl Explanation {
    /// Explains a report, of which nothing else is known.
    pub fn new(report: SelectionReport) -> Self {
        Self { report, ..Self::default() }
    }

    /// Runs a pipeline to explain it: a [dry run](Pipeline::dry_run) with the parts of every score.
    ///
    /// # Errors
    ///
    /// As [`Pipeline::run`].
    pub fn dry_run(
        pipeline: &Pipeline,
        items: &[ContextItem],
        budget: &ContextBudget,
    ) -> Result<Self, CupelError> {
        let mut collector =
            DiagnosticTraceCollector::new(TraceDetailLevel::Stage).explain_scores(true);
        pipeline.dry_run_traced(items, budget, &mut collector)?;
        Ok(Self::new(collector.into_report()).budget(budget.clone()))
    }

    /// Says what the selection was for.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says what budget the items had.
    pub fn budget(mut self, budget: ContextBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Says how many tokens were not up for selection.
    pub fn fixed_tokens(mut self, tokens: i64) -> Self {
        self.fixed_tokens = tokens;
        self
    }

    /// Says how long gathering took, and how each source went.
    pub fn gathered(mut self, elapsed_ms: f64, sources: Vec<SourceTiming>) -> Self {
        (self.gathered_ms, self.sources) = (Some(elapsed_ms), sources);
        self
    }

    /// Says how many tokens a prompt cache is expected to know, how many are new to it, and why the
    /// request does not begin as the one before did, if it does not.
    pub fn cache(mut self, cached_tokens: i64, new_tokens: i64, broke: Option<String>) -> Self {
        self.cache = Some(PromptCache { cached_tokens, new_tokens, broke });
        self
    }

    /// Says how many of the fixed tokens are definitions of tools.
    pub fn tool_tokens(mut self, tokens: i64) -> Self {
        self.tool_tokens = tokens;
        self
    }

    /// Says which tools were sent and which were left out.
    pub fn tools(mut self, tools: ToolReport) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Adds a line.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Changes since the call before.
    pub fn since(&self, previous: &Self) -> Difference {
        Difference::between(&previous.report, &self.report)
    }
}

/// The JSON is neither an explanation nor a report.
#[cfg(feature = "serde")]
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct ReadError {
    what: &'static str,
    source: serde_json::Error,
}

#[cfg(feature = "serde")]
impl Explanation {
    /// As JSON, which [`from_json`](Self::from_json) reads.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists of them: there is nothing that JSON could not hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads an explanation from JSON, or a report, of which nothing else is known then.
    ///
    /// ```
    /// use cupel::explain::Explanation;
    /// use cupel::{ContextBudget, ContextItem, Policy};
    ///
    /// let budget = ContextBudget::builder(60).build()?;
    /// let report = Policy::rag().dry_run(&[ContextItem::new("a match", 40)?], &budget)?;
    /// let read = Explanation::from_json(&serde_json::to_string(&report)?)?;
    /// assert_eq!(read.report, report);
    ///
    /// let error = Explanation::from_json(r#"{"included": 7}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("not a report: invalid type: integer `7`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ReadError`] says where the JSON is wrong, or which field is.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let error = |what| move |source| ReadError { what, source };
        let value: serde_json::Value = serde_json::from_str(text).map_err(error("not JSON"))?;
        if value.get("report").is_some() {
            Self::deserialize(value).map_err(error("not an explanation"))
        } else {
            let report = SelectionReport::deserialize(value).map_err(error("not a report"))?;
            Ok(Self::new(report))
        }
    }
}
