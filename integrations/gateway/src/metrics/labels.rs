//! Labels of the metrics. Each has few values: clients choose the names of models, so there is a limit.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) route: &'static str,
    pub(super) status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouteLabels {
    pub(super) route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct UpstreamLabels {
    pub(super) upstream: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) model: String,
    pub(super) upstream: String,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ModelLabels {
    pub(super) model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SourceLabels {
    pub(super) source: String,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct KeyLabels {
    pub(super) key: String,
    pub(super) limit: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TurnLabels {
    pub(super) side: &'static str,
    pub(super) cut: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ResultLabels {
    pub(super) result: &'static str,
}

/// Most models with a label of their own.
const MODELS: usize = 256;

/// Label of all other models.
const OTHER: &str = "other";

/// Models that have a label of their own.
#[derive(Debug, Default)]
pub(super) struct ModelNames(Mutex<BTreeSet<String>>);

impl ModelNames {
    /// Returns the label of a model. A new name gets its own only if `is_known`, and while there is room.
    pub(super) fn label(&self, model: &str, is_known: bool) -> String {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_known && names.len() < MODELS && !names.contains(model) {
            names.insert(model.to_owned());
        }
        if names.contains(model) { model.to_owned() } else { OTHER.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_beyond_the_limit_and_unknown_ones_share_a_label() {
        let names = ModelNames::default();
        assert_eq!(names.label("made-up", false), "other");
        for index in 0..1_000 {
            names.label(&format!("m{index}"), true);
        }
        assert_eq!(
            (names.label("m255", false), names.label("m256", true)),
            ("m255".into(), OTHER.into())
        );
    }
}
