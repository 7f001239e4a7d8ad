//! Scorers as data.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::model::ContextKind;
use crate::scorer::KindScorer;

/// A scorer as data: a built-in one with its settings, or a registered one by name.
///
/// ```
/// use cupel::policy::spec::ScorerSpec;
///
/// let spec: ScorerSpec = serde_json::from_str(
///     r#"{ "type": "scaled", "scorer": { "type": "metadata_trust", "default_score": 0.5 } }"#,
/// )?;
/// let inner = ScorerSpec::MetadataTrust { default_score: 0.5 };
/// assert_eq!(spec, ScorerSpec::Scaled { scorer: Box::new(inner) });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScorerSpec {
    /// [`RecencyScorer`](crate::RecencyScorer).
    Recency,
    /// [`PriorityScorer`](crate::PriorityScorer).
    Priority,
    /// [`FrequencyScorer`](crate::FrequencyScorer).
    Frequency,
    /// [`ReflexiveScorer`](crate::ReflexiveScorer).
    Reflexive,
    /// [`KindScorer`](crate::KindScorer).
    Kind {
        /// The weight of each kind; the default table where the key is left out.
        weights: BTreeMap<ContextKind, f64>,
    },
    /// [`TagScorer`](crate::TagScorer).
    Tag {
        /// The weight of each tag.
        weights: BTreeMap<String, f64>,
        /// Whether tags match without regard to ASCII case; false where the key is left out.
        ignore_case: bool,
    },
    /// [`MetadataTrustScorer`](crate::MetadataTrustScorer).
    MetadataTrust {
        /// The score of items without a usable trust value.
        default_score: f64,
    },
    /// [`MetadataKeyScorer`](crate::MetadataKeyScorer).
    MetadataKey {
        /// The metadata key.
        key: String,
        /// The value that is boosted.
        value: String,
        /// The score of items that have it; all others score 1.
        boost: f64,
    },
    /// [`DecayScorer`](crate::DecayScorer), on the clock of the
    /// [`ScorerRegistry`](crate::ScorerRegistry).
    Decay {
        /// How the score falls with age.
        curve: DecayCurveSpec,
        /// The score of items without a timestamp; 0.5 where the key is left out.
        null_timestamp_score: f64,
    },
    /// [`ScaledScorer`](crate::ScaledScorer).
    Scaled {
        /// The scorer whose scores are spread over 0 to 1.
        scorer: Box<ScorerSpec>,
    },
    /// [`CompositeScorer`](crate::CompositeScorer).
    Composite {
        /// The parts of the weighted average.
        scorers: Vec<WeightedScorer>,
    },
    /// A scorer of your own, from the [`ScorerRegistry`](crate::ScorerRegistry).
    Custom {
        /// The name it is registered under.
        name: String,
    },
}

impl ScorerSpec {
    /// A kind scorer with the default table.
    #[must_use]
    pub fn default_kinds() -> Self {
        Self::Kind { weights: KindScorer::default().weights().iter().cloned().collect() }
    }
}

/// One part of a weighted average; in a file, a scorer's table with one more key `weight`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightedScorer {
    /// The scorer.
    #[serde(flatten)]
    pub scorer: ScorerSpec,
    /// Its weight; only the ratios to the other weights matter.
    pub weight: f64,
}

/// A [`DecayCurve`](crate::DecayCurve) as data; in a file, ages are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecayCurveSpec {
    /// [`DecayCurve::exponential`](crate::DecayCurve::exponential).
    Exponential {
        /// The age at which half of the score is left; key `half_life_secs`.
        #[serde(rename = "half_life_secs", serialize_with = "seconds")]
        half_life: Duration,
    },
    /// [`DecayCurve::step`](crate::DecayCurve::step).
    Step {
        /// From the youngest to the oldest.
        windows: Vec<DecayWindowSpec>,
    },
    /// [`DecayCurve::window`](crate::DecayCurve::window).
    Window {
        /// The age from which on the score is 0; key `max_age_secs`.
        #[serde(rename = "max_age_secs", serialize_with = "seconds")]
        max_age: Duration,
    },
}

/// One step of a [`DecayCurveSpec::Step`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecayWindowSpec {
    /// The step holds below this age; key `max_age_secs`.
    #[serde(rename = "max_age_secs", serialize_with = "seconds")]
    pub max_age: Duration,
    /// The score within the step.
    pub score: f64,
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    if duration.subsec_nanos() == 0 {
        serializer.serialize_u64(duration.as_secs())
    } else {
        serializer.serialize_f64(duration.as_secs_f64())
    }
}
