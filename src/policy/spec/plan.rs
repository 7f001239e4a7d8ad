//! The plan of a turn as data.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::convert::Convert;
use crate::config::{Fields, FromTree, Path, Report, Tree};
use crate::model::{Grid, RecallBy, TurnPlan};

/// The plan, or the default one after noting what is wrong.
pub(super) fn checked(plan: &TurnPlan, path: &Path<'_>, convert: &mut Convert<'_>) -> TurnPlan {
    let problems = plan.problems();
    for (field, problem) in &problems {
        let field = if *field == "grid" { "grid_tokens" } else { field };
        convert.add(path.key(field), problem);
    }
    if problems.is_empty() { plan.clone() } else { TurnPlan::new() }
}

/// The keys that a policy's `plan` has.
impl Serialize for TurnPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(None)?;
        keys.serialize_entry("recall", &self.recall)?;
        keys.serialize_entry("recall_with_sources", &self.recall_with_sources)?;
        keys.serialize_entry("prompt_cache", &(self.grid != Grid::Uncached))?;
        if let Grid::Tokens(tokens) = self.grid {
            keys.serialize_entry("grid_tokens", &tokens)?;
        }
        keys.serialize_entry("excerpt", &self.excerpt)?;
        keys.serialize_entry("faded", &self.faded)?;
        keys.serialize_entry("hash", &self.hash)?;
        keys.serialize_entry("recall_by_policy", &(self.recall_by == RecallBy::Policy))?;
        keys.serialize_entry("compare", &self.compare)?;
        keys.end()
    }
}

impl FromTree for TurnPlan {
    const EXPECTED: &'static str = "none, default, or a table with the settings of a plan";

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        let default = Self::new();
        match tree.text() {
            Some("none") => return None,
            Some("default") => return Some(default),
            _ => {}
        }
        let mut fields = Fields::open(tree, path, report, Self::EXPECTED)?;
        let plan = Self {
            recall: fields.or("recall", default.recall),
            recall_with_sources: fields.or("recall_with_sources", default.recall_with_sources),
            grid: match (fields.or("prompt_cache", true), fields.maybe("grid_tokens")) {
                (_, Some(tokens)) => Grid::Tokens(tokens),
                (true, None) => Grid::Cached,
                (false, None) => Grid::Uncached,
            },
            excerpt: fields.or("excerpt", default.excerpt),
            faded: fields.or("faded", default.faded),
            hash: fields.or("hash", default.hash),
            recall_by: match fields.or("recall_by_policy", false) {
                true => RecallBy::Policy,
                false => RecallBy::Relevance,
            },
            compare: fields.or("compare", default.compare),
        };
        fields.close();
        Some(plan)
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::new()
    }
}
