//! Differences between the selections of several policies.

use std::collections::{HashMap, HashSet};

use crate::diagnostics::SelectionReport;
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem};
use crate::pipeline::Pipeline;
use crate::policy::Policy;

/// Status of an item in a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ItemStatus {
    /// The item was selected.
    Included,
    /// The item was left out.
    Excluded,
}

/// An item on which at least two variants disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PolicySensitivityDiffEntry {
    /// The item's content.
    pub content: String,
    /// Its status under every variant, in the order of the variants.
    pub statuses: Vec<(String, ItemStatus)>,
}

/// Selections of several policies from the same items.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PolicySensitivityReport {
    /// The label and report of every variant, in the order given.
    pub variants: Vec<(String, SelectionReport)>,
    /// Items on which variants disagree, in the order of the candidates.
    pub diffs: Vec<PolicySensitivityDiffEntry>,
}

/// Runs every policy over the same items and budget, and lists the items on which they disagree.
///
/// Items are matched by content: items of equal content count as one, included when any of them
/// is.
///
/// ```
/// use cupel::{
///     ChronologicalPlacer, ContextBudget, ContextItemBuilder, GreedySlice,
///     OverflowStrategy, Policy, PolicyBuilder, PriorityScorer, ReflexiveScorer,
///     policy_sensitivity,
/// };
/// use std::sync::Arc;
/// use std::collections::HashMap;
///
/// let items = vec![
///     ContextItemBuilder::new("item-a", 40)
///         .priority(10)
///         .future_relevance_hint(0.1)
///         .build()
///         .unwrap(),
///     ContextItemBuilder::new("item-b", 40)
///         .priority(1)
///         .future_relevance_hint(0.9)
///         .build()
///         .unwrap(),
/// ];
/// let budget = ContextBudget::new(50, 40, 0, HashMap::new(), 0.0).unwrap();
///
/// let policy_priority = PolicyBuilder::new()
///     .scorer(Arc::new(PriorityScorer))
///     .slicer(Arc::new(GreedySlice))
///     .placer(Arc::new(ChronologicalPlacer))
///     .overflow_strategy(OverflowStrategy::Throw)
///     .deduplication(true)
///     .build()
///     .unwrap();
///
/// let policy_reflexive = PolicyBuilder::new()
///     .scorer(Arc::new(ReflexiveScorer))
///     .slicer(Arc::new(GreedySlice))
///     .placer(Arc::new(ChronologicalPlacer))
///     .overflow_strategy(OverflowStrategy::Throw)
///     .deduplication(true)
///     .build()
///     .unwrap();
///
/// let variants: Vec<(&str, &Policy)> = vec![
///     ("priority", &policy_priority),
///     ("reflexive", &policy_reflexive),
/// ];
/// let report = policy_sensitivity(&items, &budget, &variants).unwrap();
///
/// println!("Swinging items: {}", report.diffs.len());
/// for diff in &report.diffs {
///     println!("  {}:", diff.content);
///     for (label, status) in &diff.statuses {
///         println!("    {}: {:?}", label, status);
///     }
/// }
/// # assert_eq!(report.diffs.len(), 2);
/// # assert_eq!(report.diffs[0].content, "item-a");
/// ```
///
/// # Errors
///
/// [`CupelError::PipelineConfig`] with fewer than two variants; otherwise the first error of any
/// variant's run.
pub fn policy_sensitivity(
    items: &[ContextItem],
    budget: &ContextBudget,
    variants: &[(impl AsRef<str>, &Policy)],
) -> Result<PolicySensitivityReport, CupelError> {
    let variants = variants.iter().map(|(label, policy)| (label.as_ref(), policy.pipeline()));
    compare(items, budget, variants.collect())
}

/// As [`policy_sensitivity`], for pipelines.
///
/// ```
/// use cupel::analytics::policy_sensitivity_from_pipelines;
/// use cupel::{ContextBudget, ContextItem, Policy};
///
/// let items = [ContextItem::new("a", 4)?];
/// let (chat, rag) = (Policy::chat().to_pipeline(), Policy::rag().to_pipeline());
/// let budget = ContextBudget::builder(10).build()?;
/// let variants = [("chat", &chat), ("rag", &rag)];
/// let report = policy_sensitivity_from_pipelines(&items, &budget, &variants)?;
/// assert!(report.diffs.is_empty());
/// # Ok::<(), cupel::CupelError>(())
/// ```
///
/// # Errors
///
/// As [`policy_sensitivity`].
pub fn policy_sensitivity_from_pipelines(
    items: &[ContextItem],
    budget: &ContextBudget,
    variants: &[(impl AsRef<str>, &Pipeline)],
) -> Result<PolicySensitivityReport, CupelError> {
    let variants = variants.iter().map(|(label, pipeline)| (label.as_ref(), *pipeline));
    compare(items, budget, variants.collect())
}

fn compare(
    items: &[ContextItem],
    budget: &ContextBudget,
    variants: Vec<(&str, &Pipeline)>,
) -> Result<PolicySensitivityReport, CupelError> {
    if variants.len() < 2 {
        let problem = "policy_sensitivity requires at least 2 variants";
        return Err(CupelError::PipelineConfig(problem.to_owned()));
    }
    let mut reports = Vec::with_capacity(variants.len());
    for (label, pipeline) in variants {
        reports.push((label.to_owned(), pipeline.dry_run(items, budget)?));
    }
    Ok(PolicySensitivityReport { diffs: swinging(items, &reports), variants: reports })
}

fn swinging(
    items: &[ContextItem],
    reports: &[(String, SelectionReport)],
) -> Vec<PolicySensitivityDiffEntry> {
    let mut included_in: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (variant, (_, report)) in reports.iter().enumerate() {
        for included in &report.included {
            included_in.entry(included.item.content()).or_default().insert(variant);
        }
    }
    let mut seen = HashSet::new();
    let contents = items.iter().map(ContextItem::content).filter(|content| seen.insert(*content));
    contents
        .filter_map(|content| {
            let included = included_in.get(content)?;
            if included.len() == reports.len() {
                return None;
            }
            let status = |(variant, (label, _)): (usize, &(String, SelectionReport))| {
                let status = match included.contains(&variant) {
                    true => ItemStatus::Included,
                    false => ItemStatus::Excluded,
                };
                (label.clone(), status)
            };
            Some(PolicySensitivityDiffEntry {
                content: content.to_owned(),
                statuses: reports.iter().enumerate().map(status).collect(),
            })
        })
        .collect()
}
