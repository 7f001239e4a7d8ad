//! Report of one selection, and the events in it.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use super::{ExclusionReason, InclusionReason};
use crate::model::{
    ContextBudget, ContextItem, CountRequirementShortfall, RefusedItem, Strategy, descending_key,
};
use crate::relevance::RelevanceReport;
use crate::scorer::{ScoreParts, Scorer};

/// Report of a run: the selected items, the others, and the reasons.
///
/// ```
/// use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
/// use cupel::diagnostics::ExclusionReason;
/// use cupel::placer::UShapedPlacer;
///
/// let pipeline = Pipeline::builder()
///     .scorer(ReflexiveScorer)
///     .slicer(GreedySlice)
///     .placer(UShapedPlacer)
///     .build()?;
/// let items = [
///     ContextItem::builder("fits", 150).future_relevance_hint(1.0).build()?,
///     ContextItem::builder("too big", 400).future_relevance_hint(0.5).build()?,
/// ];
/// let report = pipeline.dry_run(&items, &ContextBudget::builder(200).build()?)?;
/// assert_eq!(report.included[0].item.content(), "fits");
/// assert_eq!(
///     report.excluded[0].reason,
///     ExclusionReason::BudgetExceeded { item_tokens: 400, available_tokens: 50 },
/// );
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
#[non_exhaustive]
pub struct SelectionReport {
    /// All recorded events, in the order they happened.
    pub events: Vec<TraceEvent>,
    /// The selection, in its final order.
    pub included: Vec<IncludedItem>,
    /// Everything else, by score from the highest down; equal scores in the order of exclusion.
    pub excluded: Vec<ExcludedItem>,
    /// Number of all included and excluded items.
    pub total_candidates: usize,
    /// The tokens of all included and excluded items together, negative counts among them.
    pub total_tokens_considered: i64,
    /// Kinds whose required count could not be met.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub count_requirement_shortfalls: Vec<CountRequirementShortfall>,
    /// Outcome of judging, if there was a question.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub relevance: Option<RelevanceReport>,
    /// Way in which the items were selected: scored, or planned as a conversation.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "crate::model::is_default")
    )]
    pub strategy: Strategy,
}

#[cfg(feature = "serde")]
crate::model::serde_by_name!(read SelectionReport);

impl SelectionReport {
    /// Puts a report together, with `excluded` in the order the items were excluded.
    pub fn new(
        events: Vec<TraceEvent>,
        included: Vec<IncludedItem>,
        excluded: Vec<ExcludedItem>,
        count_requirement_shortfalls: Vec<CountRequirementShortfall>,
    ) -> Self {
        let items = included.iter().map(|included| &included.item);
        let total_tokens_considered = items
            .chain(excluded.iter().map(|excluded| &excluded.item))
            .fold(0_i64, |sum, item| sum.saturating_add(item.tokens()));
        let mut report = Self {
            total_candidates: included.len() + excluded.len(),
            total_tokens_considered,
            events,
            included,
            excluded,
            count_requirement_shortfalls,
            relevance: None,
            strategy: Strategy::Scored,
        };
        report.sort_excluded();
        report
    }

    /// Lists items that were never up for selection among the excluded ones.
    pub(crate) fn refuse(&mut self, refused: impl IntoIterator<Item = RefusedItem>) {
        let excluded = refused.into_iter().map(|RefusedItem { item, why }| {
            ExcludedItem::new(item, 0.0, ExclusionReason::Filtered { filter_name: why })
        });
        let excluded: Vec<ExcludedItem> = excluded.collect();
        self.total_candidates += excluded.len();
        for ExcludedItem { item, .. } in &excluded {
            self.total_tokens_considered =
                self.total_tokens_considered.saturating_add(item.tokens());
        }
        self.exclude(excluded);
    }

    /// Moves items that were selected and cannot be sent to the excluded ones. Takes positions among the
    /// included items, ascending, and the reasons.
    pub(crate) fn withdraw(&mut self, withdrawn: Vec<(usize, String)>) {
        let mut excluded = Vec::with_capacity(withdrawn.len());
        for (position, why) in withdrawn.into_iter().rev() {
            if position < self.included.len() {
                let IncludedItem { item, score, details, .. } = self.included.remove(position);
                let reason = ExclusionReason::Filtered { filter_name: why };
                excluded.push(ExcludedItem { item, score, reason, details });
            }
        }
        if !excluded.is_empty() {
            self.exclude(excluded);
        }
    }

    /// Lists items among the excluded ones, in the order they were excluded; the totals stay.
    pub(crate) fn exclude(&mut self, items: impl IntoIterator<Item = ExcludedItem>) {
        self.excluded.extend(items);
        self.sort_excluded();
    }

    /// Adds the parts of the scores, for a scorer that looks at one item alone.
    pub(crate) fn explain_scores(&mut self, scorer: &dyn Scorer) {
        let explain = |item: &ContextItem, score: f64, details: &mut Option<Box<ItemDetails>>| {
            if let Some(mut parts) = scorer.explain_all(std::slice::from_ref(item)).pop() {
                parts.score = score;
                details.get_or_insert_default().score = Some(parts);
            }
        };
        for IncludedItem { item, score, details, .. } in &mut self.included {
            if !item.pinned() {
                explain(item, *score, details);
            }
        }
        for ExcludedItem { item, score, details, .. } in &mut self.excluded {
            if item.tokens() >= 0 && !item.pinned() {
                explain(item, *score, details);
            }
        }
    }

    fn sort_excluded(&mut self) {
        self.excluded.sort_by_key(|excluded| descending_key(excluded.score));
    }
}

/// A selected item.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IncludedItem {
    /// The item.
    pub item: ContextItem,
    /// The score it was placed with; 1.0 for pinned items.
    #[cfg_attr(feature = "serde", serde(with = "crate::model::float"))]
    pub score: f64,
    /// Why it was selected.
    pub reason: InclusionReason,
    /// More about it, where there is more.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub details: Option<Box<ItemDetails>>,
}

impl IncludedItem {
    /// A selected item, with the words of the question that it has.
    pub fn new(item: ContextItem, score: f64, reason: InclusionReason) -> Self {
        Self { details: ItemDetails::of(&item), item, score, reason }
    }
}

/// An item that was left out.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExcludedItem {
    /// The item.
    pub item: ContextItem,
    /// The score it had; 0.0 when it was excluded before scoring.
    #[cfg_attr(feature = "serde", serde(with = "crate::model::float"))]
    pub score: f64,
    /// Why it was left out.
    pub reason: ExclusionReason,
    /// More about it, where there is more.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub details: Option<Box<ItemDetails>>,
}

impl ExcludedItem {
    /// An item that was left out, with the words of the question that it has.
    pub fn new(item: ContextItem, score: f64, reason: ExclusionReason) -> Self {
        Self { details: ItemDetails::of(&item), item, score, reason }
    }
}

/// More about an included or excluded item. Each part is there only when it was asked for, or when
/// there was something to say.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", default))]
#[non_exhaustive]
pub struct ItemDetails {
    /// Parts of the score, if the report
    /// [asked for them](super::DiagnosticTraceCollector::explain_scores). Pinned items are not scored.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub score: Option<ScoreParts>,
    /// Words of the question that the item has. They are content: telemetry never shows them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub matched_words: Vec<String>,
    /// The part of a conversation's plan that the item is in, by name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub part: Option<String>,
}

#[cfg(feature = "serde")]
crate::model::serde_by_name!(read ItemDetails);

impl ItemDetails {
    /// Details that the item itself has; none if there are none.
    pub(crate) fn of(item: &ContextItem) -> Option<Box<Self>> {
        let matched_words: Vec<String> = item.matched_words().map(str::to_owned).collect();
        (!matched_words.is_empty()).then(|| Box::new(Self { matched_words, ..Self::default() }))
    }
}

/// A stage of the pipeline. Sorting, the sixth one, decides about no item and has no events.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PipelineStage {
    /// Partition into pinned and scoreable items.
    Classify,
    /// Scoring.
    Score,
    /// Removal of duplicate content.
    Deduplicate,
    /// Fitting to the budget.
    Slice,
    /// Merging, overflow handling and final order.
    Place,
    /// A stage of another implementation, by its name.
    #[cfg_attr(feature = "serde", serde(untagged))]
    Other(Arc<str>),
}

impl PipelineStage {
    /// The five stages, in the order they run.
    pub const ALL: [Self; 5] =
        [Self::Classify, Self::Score, Self::Deduplicate, Self::Slice, Self::Place];

    /// The stage's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Classify => "Classify",
            Self::Score => "Score",
            Self::Deduplicate => "Deduplicate",
            Self::Slice => "Slice",
            Self::Place => "Place",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for PipelineStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One observation: a stage that has completed, or a decision about one item.
///
/// Two are equal when their serialised forms are.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TraceEvent {
    /// The stage.
    pub stage: PipelineStage,
    /// Duration of the stage in milliseconds; 0.0 for a single item.
    pub duration_ms: f64,
    /// Number of items that entered the stage; 1 for a single item.
    pub item_count: usize,
    /// Decision about the item, or a remark on the stage. Never an item's content.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub message: Option<String>,
    /// Number of items that left the stage; not part of the serialised form.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub item_count_out: Option<usize>,
    /// Start of the stage; not part of the serialised form.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub started_at: Option<SystemTime>,
}

impl PartialEq for TraceEvent {
    fn eq(&self, other: &Self) -> bool {
        let Self { stage, duration_ms, item_count, message, item_count_out: _, started_at: _ } =
            self;
        (stage, duration_ms, item_count, message)
            == (&other.stage, &other.duration_ms, &other.item_count, &other.message)
    }
}

impl TraceEvent {
    /// A stage that has completed.
    pub fn stage(stage: PipelineStage, duration_ms: f64, item_count: usize) -> Self {
        Self {
            stage,
            duration_ms,
            item_count,
            message: None,
            item_count_out: None,
            started_at: None,
        }
    }

    /// A decision about one item.
    pub fn item(stage: PipelineStage, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::stage(stage, 0.0, 1) }
    }
}

/// The selection exceeded its target, or what the output reserve leaves of the window, and went
/// on, as [`OverflowStrategy::Proceed`](crate::OverflowStrategy::Proceed) asks.
///
/// Items that exceed the window without the output reserve are still left out.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OverflowEvent {
    /// Tokens above the target; above `maxTokens - outputReserve` where the target is not
    /// exceeded.
    pub tokens_over_budget: i64,
    /// Everything selected, pinned items first.
    pub overflowing_items: Vec<ContextItem>,
    /// The budget that was exceeded.
    pub budget: ContextBudget,
}
