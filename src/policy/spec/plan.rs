//! The plan of a turn as data.

use serde::Serialize;

use super::convert::Convert;
use crate::config::{Fields, FromTree, Path, Report, Tree};
use crate::model::{Grid, RecallBy, TurnPlan};

/// A [`TurnPlan`] as data: key `plan` of a policy.
///
/// A table, whose keys may all be left out and then have the defaults of [`TurnPlan::new`]; the word
/// `default` for all of these; or `none`. A policy without the key plans nothing, as one that is
/// built in code: who writes down scorers wants messages scored. A preset that plans is written with
/// its plan.
///
/// | key | value |
/// | --- | --- |
/// | (`recall`) | the share of the window for what is recalled |
/// | (`recall_with_sources`) | that share where there are sources |
/// | (`prompt_cache`) | whether the provider has a prompt cache, which a wide grid serves |
/// | (`grid_tokens`) | the width of the grid in tokens, instead of one that follows from the window |
/// | (`excerpt`, `faded`) | the shares from which on a tool's result is an excerpt, and in the older part |
/// | (`hash`) | whether an excerpt's mark has a hash of the whole result |
/// | (`recall_by_policy`) | whether the policy's own scorer and slicer decide what is recalled |
/// | (`compare`) | whether reports say what newest-first trimming would have sent |
///
/// ```
/// use cupel::PolicySpec;
///
/// let json = r#"{"scorer": "recency", "slicer": "greedy", "placer": "age", "plan": {"recall": 0.2}}"#;
/// let spec: PolicySpec = serde_json::from_str(json)?;
/// assert_eq!(spec.plan.unwrap().recall, 0.2);
/// let error = serde_json::from_str::<PolicySpec>(&json.replace("0.2", "2")).unwrap_err();
/// assert!(error.to_string().contains("plan.recall: must be between 0 and 1, got 2"), "{error}");
/// let none: PolicySpec = serde_json::from_str(&json.replace(r#"{"recall": 0.2}"#, r#""none""#))?;
/// assert_eq!(none.plan, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlanSpec {
    /// The share of the window for what is recalled; the frame around it comes on top.
    pub recall: f64,
    /// That share where there are sources.
    pub recall_with_sources: f64,
    /// Whether the provider has a prompt cache, which a wide grid serves.
    pub prompt_cache: bool,
    /// The width of the grid in tokens, instead of the one that follows from the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid_tokens: Option<i64>,
    /// The share of the window from which on a tool's result is sent as an excerpt.
    pub excerpt: f64,
    /// That share in the older part of what is kept.
    pub faded: f64,
    /// Whether an excerpt's mark has a hash of the whole result.
    pub hash: bool,
    /// Whether the policy's own scorer and slicer decide what is recalled, instead of relevance.
    pub recall_by_policy: bool,
    /// Whether reports say what newest-first trimming would have sent.
    pub compare: bool,
}

impl PlanSpec {
    pub(super) fn describe(plan: &TurnPlan) -> Self {
        Self {
            recall: plan.recall,
            recall_with_sources: plan.recall_with_sources,
            prompt_cache: plan.grid != Grid::Uncached,
            grid_tokens: match plan.grid {
                Grid::Tokens(tokens) => Some(tokens),
                _ => None,
            },
            excerpt: plan.excerpt,
            faded: plan.faded,
            hash: plan.hash,
            recall_by_policy: plan.recall_by == RecallBy::Policy,
            compare: plan.compare,
        }
    }

    pub(super) fn build(&self, path: &Path<'_>, convert: &mut Convert<'_>) -> TurnPlan {
        let plan = TurnPlan {
            recall: self.recall,
            recall_with_sources: self.recall_with_sources,
            grid: match (self.grid_tokens, self.prompt_cache) {
                (Some(tokens), _) => Grid::Tokens(tokens),
                (None, true) => Grid::Cached,
                (None, false) => Grid::Uncached,
            },
            excerpt: self.excerpt,
            faded: self.faded,
            hash: self.hash,
            recall_by: if self.recall_by_policy { RecallBy::Policy } else { RecallBy::Relevance },
            compare: self.compare,
        };
        let problems = plan.problems();
        for (field, problem) in &problems {
            let field = if *field == "grid" { "grid_tokens" } else { field };
            convert.add(path.key(field), problem);
        }
        if problems.is_empty() { plan } else { TurnPlan::new() }
    }
}

impl FromTree for PlanSpec {
    const EXPECTED: &'static str = "none, default, or a table with the settings of a plan";

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        match tree.text() {
            Some("none") => None,
            Some("default") => Some(Self::default()),
            _ => {
                let mut fields = Fields::open(tree, path, report, Self::EXPECTED)?;
                let spec = Self::from_fields(&mut fields);
                fields.close();
                spec
            }
        }
    }

    fn from_fields(fields: &mut Fields<'_>) -> Option<Self> {
        let default = Self::default();
        Some(Self {
            recall: fields.or("recall", default.recall),
            recall_with_sources: fields.or("recall_with_sources", default.recall_with_sources),
            prompt_cache: fields.or("prompt_cache", default.prompt_cache),
            grid_tokens: fields.maybe("grid_tokens"),
            excerpt: fields.or("excerpt", default.excerpt),
            faded: fields.or("faded", default.faded),
            hash: fields.or("hash", default.hash),
            recall_by_policy: fields.or("recall_by_policy", default.recall_by_policy),
            compare: fields.or("compare", default.compare),
        })
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::default()
    }
}

impl Default for PlanSpec {
    fn default() -> Self {
        Self::describe(&TurnPlan::new())
    }
}
