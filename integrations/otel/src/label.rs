//! Texts that may leave: names from fixed sets, and kinds that look like names.

use cupel::layer::ContextError;
use cupel::{ContextKind, CupelError, ExclusionReason, PipelineStage};
use opentelemetry::StringValue;

/// What an exclusion reason or an error is called when its name is not known.
pub(crate) const UNKNOWN: &str = "Unknown";

/// What a kind is called that does not look like a name.
const OTHER_KIND: &str = "Other";

const LONGEST_KIND: usize = 64;

/// The canonical name of a reason.
pub(crate) fn reason(reason: &ExclusionReason) -> &'static str {
    // The name of an unknown reason is somebody's text.
    let name = reason.name();
    let known = ExclusionReason::NAMES.into_iter().find(|known| *known == name);
    known.unwrap_or(UNKNOWN)
}

/// A kind is an open string: the program may have made it from anything. It goes out as it is when
/// it looks like the name of a kind, and never when it looks like text.
pub(crate) fn kind(kind: &ContextKind) -> StringValue {
    match kind.as_str() {
        "Message" => "Message".into(),
        "Document" => "Document".into(),
        "ToolOutput" => "ToolOutput".into(),
        "Memory" => "Memory".into(),
        "SystemPrompt" => "SystemPrompt".into(),
        name if is_name(name) => name.to_owned().into(),
        _ => OTHER_KIND.into(),
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    text.len() <= LONGEST_KIND && text.chars().all(allowed)
}

/// The name of a stage's span, and the stage's own; None for stages of other implementations.
pub(crate) fn stage(stage: &PipelineStage) -> Option<(&'static str, &'static str)> {
    match stage {
        PipelineStage::Classify => Some(("cupel.stage.classify", "classify")),
        PipelineStage::Score => Some(("cupel.stage.score", "score")),
        PipelineStage::Deduplicate => Some(("cupel.stage.deduplicate", "deduplicate")),
        PipelineStage::Slice => Some(("cupel.stage.slice", "slice")),
        PipelineStage::Place => Some(("cupel.stage.place", "place")),
        _ => None,
    }
}

/// The name of a pipeline's error. Its text may quote what a user's slicer said, so it stays.
pub(crate) fn pipeline_error(error: &CupelError) -> &'static str {
    match error {
        CupelError::InvalidItem { .. } => "InvalidItem",
        CupelError::InvalidBudget { .. } => "InvalidBudget",
        CupelError::ScorerConfig(_) => "ScorerConfig",
        CupelError::ScorerCycle { .. } => "ScorerCycle",
        CupelError::SlicerConfig(_) => "SlicerConfig",
        CupelError::PipelineConfig(_) => "PipelineConfig",
        CupelError::PinnedExceedsBudget { .. } => "PinnedExceedsBudget",
        CupelError::Overflow { .. } => "Overflow",
        CupelError::TableTooLarge { .. } => "TableTooLarge",
        CupelError::CountRequirementUnmet { .. } => "CountRequirementUnmet",
        CupelError::UnknownModel { .. } => "UnknownModel",
        CupelError::Contract { .. } => "Contract",
        _ => UNKNOWN,
    }
}

/// The name of the error that failed a call.
pub(crate) fn call_error(error: &ContextError) -> &'static str {
    match error {
        ContextError::Budget(_) => "Budget",
        ContextError::FixedTokens { .. } => "FixedTokens",
        ContextError::Adapter(_) => "Adapter",
        ContextError::Source { .. } => "Source",
        ContextError::Selection(error) => pipeline_error(error),
        ContextError::Panicked { .. } => "Panicked",
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> String {
        kind(&ContextKind::new(text).unwrap()).into()
    }

    #[test]
    fn kinds_that_look_like_names_go_out_as_they_are() {
        for name in ["Message", "SystemPrompt", "Ticket", "tool-output.v2", "crm:note"] {
            assert_eq!(kind_of(name), name);
        }
    }

    #[test]
    fn kinds_that_look_like_text_do_not_go_out() {
        for text in ["the customer said", "a\nb", "größe", &"x".repeat(65)] {
            assert_eq!(kind_of(text), "Other");
        }
    }

    #[test]
    fn a_reason_nobody_knows_is_unknown() {
        let unknown = ExclusionReason::Unknown { reason: "somebody's text".to_owned() };
        assert_eq!(reason(&unknown), "Unknown");
        assert_eq!(reason(&ExclusionReason::NegativeTokens { tokens: -1 }), "NegativeTokens");
    }
}
