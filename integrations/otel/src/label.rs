//! Texts that may leave: names from fixed sets, and kinds that look like names.

use cupel::{ContextKind, PipelineStage};
use opentelemetry::StringValue;

/// A kind as it may leave, without a copy for those that the library knows.
pub(crate) fn kind(kind: &ContextKind) -> StringValue {
    match kind.label() {
        "Message" => "Message".into(),
        "Document" => "Document".into(),
        "ToolOutput" => "ToolOutput".into(),
        "Memory" => "Memory".into(),
        "SystemPrompt" => "SystemPrompt".into(),
        other => other.to_owned().into(),
    }
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
