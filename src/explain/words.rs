//! Reasons and names in plain words, with or without what quotes content.

use crate::diagnostics::{ExclusionReason, InclusionReason};
use crate::error::cut;
use crate::model::{ContextItem, ContextKind, CountRequirementShortfall};

/// `true` if content, and everything that quotes it, may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Texts(pub(super) bool);

impl Texts {
    pub(super) fn kind(self, item: &ContextItem) -> &str {
        self.kind_name(item.kind())
    }

    pub(super) fn kind_name(self, kind: &ContextKind) -> &str {
        if self.0 { kind.as_str() } else { kind.label() }
    }

    /// A kind that has fewer items than it requires.
    pub(super) fn shortfall(self, shortfall: &CountRequirementShortfall) -> String {
        let CountRequirementShortfall { kind, required_count, satisfied_count } = shortfall;
        let kind = self.kind_name(kind);
        format!("{kind} has {satisfied_count} of {required_count} required items")
    }

    pub(super) fn source(self, item: &ContextItem) -> &str {
        if self.0 { item.source().as_str() } else { item.source().label() }
    }

    pub(super) fn included(self, reason: &InclusionReason) -> &str {
        match reason {
            InclusionReason::Unknown { .. } if !self.0 => "Unknown",
            reason => reason.name(),
        }
    }

    pub(super) fn excluded(self, reason: &ExclusionReason) -> &str {
        if self.0 { reason.name() } else { reason.label() }
    }

    /// The numbers of a reason in words; none when the name says it all.
    pub(super) fn why(self, reason: &ExclusionReason) -> Option<String> {
        let Self(texts) = self;
        Some(match reason {
            ExclusionReason::BudgetExceeded { item_tokens, available_tokens } => {
                format!("needs {item_tokens} tokens, {available_tokens} were left")
            }
            ExclusionReason::ScoredTooLow { score, threshold } => {
                format!("scored {score}, the threshold is {threshold}")
            }
            ExclusionReason::QuotaCapExceeded { kind, cap, actual } => {
                format!("{} would have {actual}, the cap is {cap}", self.kind_name(kind))
            }
            ExclusionReason::QuotaRequireDisplaced { displaced_by_kind } => {
                format!("the least share of {} came first", self.kind_name(displaced_by_kind))
            }
            ExclusionReason::NegativeTokens { tokens } => format!("its token count is {tokens}"),
            ExclusionReason::PinnedOverride { displaced_by } if texts => {
                format!("displaced by “{}”", cut(displaced_by, 80))
            }
            ExclusionReason::Filtered { filter_name } if texts => filter_name.clone(),
            ExclusionReason::CountCapExceeded { kind, cap, count } => {
                format!("{count} of {} are in already, the cap is {cap}", self.kind_name(kind))
            }
            ExclusionReason::CountRequireCandidatesExhausted { kind, required, available } => {
                format!("{} has {available}, {required} are required", self.kind_name(kind))
            }
            ExclusionReason::Unknown { fields, .. } if texts => {
                let field = |name| Some(format!("{name}: {}", fields.json(name)?));
                let fields: Vec<String> = fields.names().filter_map(field).collect();
                return (!fields.is_empty()).then(|| fields.join(", "));
            }
            _ => return None,
        })
    }
}

/// Meaning of an exclusion reason, in plain words.
pub(super) fn meaning(reason: &ExclusionReason) -> &'static str {
    match reason {
        ExclusionReason::BudgetExceeded { .. } => "no room beside what was selected",
        ExclusionReason::ScoredTooLow { .. } => "its score is below the threshold",
        ExclusionReason::Deduplicated { .. } => "the same text came twice, the better score stays",
        ExclusionReason::QuotaCapExceeded { .. } => "its kind has used its share",
        ExclusionReason::QuotaRequireDisplaced { .. } => {
            "another kind needs the room for its least share"
        }
        ExclusionReason::NegativeTokens { .. } => "its token count is invalid",
        ExclusionReason::PinnedOverride { .. } => "pinned items took the room",
        ExclusionReason::Filtered { .. } => {
            "the API would refuse it, or a rule outside the pipeline left it out"
        }
        ExclusionReason::CountCapExceeded { .. } => {
            "the selection has the maximum number of its kind"
        }
        ExclusionReason::CountRequireCandidatesExhausted { .. } => {
            "its kind has too few candidates"
        }
        ExclusionReason::Unknown { .. } => "a reason of another implementation",
    }
}
