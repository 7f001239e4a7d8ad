//! Scorers as data: a new one is declared, built and described here, and nowhere else in the spec.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serializer;

use super::conversion::Conversion;
use super::nested::{NestedPart, NestedSpec};
use super::parts::{parts, setting, table};
use crate::config::{Fields, FromTree, Path};
use crate::error::CupelError;
use crate::model::ContextKind;
use crate::scorer::{
    AgeScorer, CompositeScorer, DecayCurve, DecayScorer, DecayShape, FrequencyScorer, KindScorer,
    MetadataKeyScorer, MetadataTrustScorer, PriorityScorer, RecencyScorer, ReflexiveScorer,
    ScaledScorer, Scorer, SystemTimeProvider, TagScorer, TimeProvider,
};

parts! {
    /// A scorer as data: a built-in one with its settings, or a registered one by name.
    ///
    /// | scorer | keys; those in parentheses may be left out |
    /// | --- | --- |
    /// | `recency`, `age`, `priority`, `frequency`, `reflexive` | |
    /// | `kind` | (`weights`: a table of kinds and numbers) |
    /// | `tag` | `weights`: a table of tags and numbers, (`ignore_case`) |
    /// | `metadata_trust` | `default_score` |
    /// | `metadata_key` | `key`, `value`, `boost` |
    /// | `decay` | `curve`, (`null_timestamp_score`) |
    /// | `scaled` | `scorer` |
    /// | `composite` | `scorers` |
    /// | `custom` | `name`: what it is called in the [`ScorerRegistry`](crate::policy::spec::ScorerRegistry) |
    ///
    /// | curve of `decay` | keys |
    /// | --- | --- |
    /// | `exponential` | `half_life_secs` |
    /// | `step` | `windows`: a list of `max_age_secs` and `score` |
    /// | `window` | `max_age_secs` |
    ///
    /// ```
    /// use cupel::policy::spec::ScorerSpec;
    ///
    /// let spec: ScorerSpec = serde_json::from_str(
    ///     r#"{ "type": "scaled", "scorer": { "type": "metadata_trust", "default_score": 0.5 } }"#,
    /// )?;
    /// let inner = ScorerSpec::MetadataTrust { default_score: 0.5 };
    /// assert_eq!(spec, ScorerSpec::Scaled { scorer: inner.into() });
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub enum ScorerSpec: "a scorer" else Self::Recency => {
        /// [`RecencyScorer`](crate::scorer::RecencyScorer).
        "recency" Recency,
        /// [`AgeScorer`](crate::scorer::AgeScorer).
        "age" Age,
        /// [`PriorityScorer`](crate::PriorityScorer).
        "priority" Priority,
        /// [`FrequencyScorer`](crate::scorer::FrequencyScorer).
        "frequency" Frequency,
        /// [`ReflexiveScorer`](crate::ReflexiveScorer).
        "reflexive" Reflexive,
        /// [`KindScorer`](crate::scorer::KindScorer).
        "kind" Kind {
            /// The weight of each kind; the default table where the key is left out.
            weights: BTreeMap<ContextKind, f64> = default_kinds(),
        },
        /// [`TagScorer`](crate::scorer::TagScorer).
        "tag" Tag {
            /// The weight of each tag.
            weights: BTreeMap<String, f64>,
            /// `true` to match tags without regard to ASCII case; false where the key is left out.
            ignore_case: bool = false,
        },
        /// [`MetadataTrustScorer`](crate::scorer::MetadataTrustScorer).
        "metadata_trust" MetadataTrust {
            /// The score of items without a usable trust value.
            default_score: f64,
        },
        /// [`MetadataKeyScorer`](crate::scorer::MetadataKeyScorer).
        "metadata_key" MetadataKey {
            /// The metadata key.
            key: String,
            /// The value that is boosted.
            value: String,
            /// The score of items that have it; all others score 1.
            boost: f64,
        },
        /// [`DecayScorer`](crate::scorer::DecayScorer), on the clock of the
        /// [`ScorerRegistry`](crate::policy::spec::ScorerRegistry).
        "decay" Decay {
            /// Curve by which the score falls with age.
            curve: DecayCurveSpec,
            /// The score of items without a timestamp; 0.5 where the key is left out.
            null_timestamp_score: f64 = 0.5,
        },
        /// [`ScaledScorer`](crate::scorer::ScaledScorer).
        "scaled" Scaled {
            /// The scorer whose scores are spread over 0 to 1.
            scorer: NestedSpec<ScorerSpec>,
        },
        /// [`CompositeScorer`](crate::scorer::CompositeScorer).
        "composite" Composite {
            /// The parts of the weighted average.
            scorers: Vec<WeightedScorer>,
        },
        /// A scorer of your own, from the [`ScorerRegistry`](crate::policy::spec::ScorerRegistry).
        "custom" Custom {
            /// The name it is registered under.
            name: String,
        },
    }
}

/// One part of a weighted average; in a file, a scorer's table with one more key `weight`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct WeightedScorer {
    /// The scorer.
    #[serde(flatten)]
    pub scorer: NestedSpec<ScorerSpec>,
    /// Its weight; only the ratios to the other weights matter.
    pub weight: f64,
}

impl WeightedScorer {
    /// A scorer with its weight.
    pub fn new(scorer: ScorerSpec, weight: f64) -> Self {
        Self { scorer: scorer.into(), weight }
    }
}

impl FromTree for WeightedScorer {
    const EXPECTED: &'static str = "a scorer with a weight";
    const IS_PART: bool = true;

    fn from_fields(fields: &mut Fields<'_>) -> Option<Self> {
        let weight = fields.required("weight");
        let scorer = ScorerSpec::from_fields(fields).unwrap_or(ScorerSpec::Recency);
        Some(Self::new(scorer, weight))
    }

    fn stand_in(path: &Path<'_>) -> Self {
        Self::new(ScorerSpec::stand_in(path), f64::stand_in(path))
    }
}

impl NestedPart for ScorerSpec {
    fn depth(&self) -> usize {
        match self {
            Self::Scaled { scorer } => 1 + scorer.depth(),
            Self::Composite { scorers } => {
                2 + scorers.iter().map(|part| part.scorer.depth()).max().unwrap_or(0)
            }
            // A curve with a list of windows.
            Self::Decay { .. } => 4,
            Self::Kind { .. } | Self::Tag { .. } => 2,
            _ => 1,
        }
    }
}

fn default_kinds() -> BTreeMap<ContextKind, f64> {
    KindScorer::default().weights().iter().cloned().collect()
}

impl ScorerSpec {
    /// A kind scorer with the default table.
    pub fn default_kinds() -> Self {
        Self::Kind { weights: default_kinds() }
    }

    /// The scorer, or a stand-in after a problem is recorded.
    pub(super) fn build(&self, path: &Path<'_>, convert: &mut Conversion<'_>) -> Arc<dyn Scorer> {
        self.checked(path, convert).unwrap_or_else(|| Arc::new(ReflexiveScorer))
    }

    fn checked(&self, path: &Path<'_>, convert: &mut Conversion<'_>) -> Option<Arc<dyn Scorer>> {
        Some(match self {
            Self::Recency => Arc::new(RecencyScorer),
            Self::Age => Arc::new(AgeScorer),
            Self::Priority => Arc::new(PriorityScorer),
            Self::Frequency => Arc::new(FrequencyScorer),
            Self::Reflexive => Arc::new(ReflexiveScorer),
            Self::Kind { weights } => {
                Arc::new(convert.check(path, KindScorer::new(weights.clone()))?)
            }
            Self::Tag { weights, ignore_case } => {
                let new = if *ignore_case { TagScorer::case_insensitive } else { TagScorer::new };
                Arc::new(convert.check(path, new(weights.clone()))?)
            }
            Self::MetadataTrust { default_score } => {
                Arc::new(convert.check(path, MetadataTrustScorer::new(*default_score))?)
            }
            Self::MetadataKey { key, value, boost } => {
                Arc::new(convert.check(path, MetadataKeyScorer::new(key, value, *boost))?)
            }
            Self::Decay { curve, null_timestamp_score } => {
                let curve = convert.check(&path.key("curve"), curve.build());
                // The score is judged whether the curve is valid or not.
                let curve = curve.or_else(|| DecayCurveSpec::stand_in(path).build().ok())?;
                let clock: Arc<dyn TimeProvider> = match convert.registry {
                    Some(registry) => registry.clock(),
                    None => Arc::new(SystemTimeProvider),
                };
                let scorer = DecayScorer::new(clock, curve);
                Arc::new(convert.check(path, scorer.null_timestamp_score(*null_timestamp_score))?)
            }
            Self::Scaled { scorer } => {
                let at = path.key("scorer");
                let inner = scorer.open(&at, convert).build(&at, convert);
                Arc::new(convert.check(path, ScaledScorer::new(inner))?)
            }
            Self::Composite { scorers } => {
                let at = path.key("scorers");
                let part = |(index, part): (usize, &WeightedScorer)| {
                    let path = at.index(index);
                    (part.scorer.open(&path, convert).build(&path, convert), part.weight)
                };
                let parts = scorers.iter().enumerate().map(part).collect();
                Arc::new(convert.check(path, CompositeScorer::new(parts))?)
            }
            Self::Custom { name } => {
                convert.registered(name, &path.key("name"), "scorer", |it| &it.scorers)?
            }
        })
    }

    /// The spec of a scorer, or a stand-in after recording that it has none.
    pub(super) fn describe(
        scorer: &dyn Scorer,
        path: &Path<'_>,
        convert: &mut Conversion<'_>,
    ) -> Self {
        let registered = convert.registry.and_then(|registry| registry.name_of(scorer));
        if let Some(name) = registered {
            return Self::Custom { name: name.to_owned() };
        }
        let spec = scorer.as_any().and_then(|any| Self::of(any, path, convert));
        spec.unwrap_or_else(|| {
            convert.not_registered(path, scorer.name(), "get");
            Self::stand_in(path)
        })
    }

    /// As [`describe`](Self::describe), for the scorer of the table at `parent`, which has a weighted
    /// average as a list of its own.
    pub(super) fn describe_in(
        parent: &Path<'_>,
        scorer: &dyn Scorer,
        convert: &mut Conversion<'_>,
    ) -> Self {
        let is_average = scorer.as_any().is_some_and(<dyn Any>::is::<CompositeScorer>)
            && convert.registry.is_none_or(|registry| registry.name_of(scorer).is_none());
        let single = parent.key("scorer");
        Self::describe(scorer, if is_average { parent } else { &single }, convert)
    }

    /// Path of this scorer in the table at `parent`: a weighted average is a list of the table itself.
    pub(super) fn path_in<'p>(&self, parent: &'p Path<'p>) -> Path<'p> {
        if matches!(self, Self::Composite { .. }) { *parent } else { parent.key("scorer") }
    }

    /// The spec of a built-in scorer.
    fn of(any: &dyn Any, path: &Path<'_>, convert: &mut Conversion<'_>) -> Option<Self> {
        let plain = [
            (any.is::<RecencyScorer>(), Self::Recency),
            (any.is::<AgeScorer>(), Self::Age),
            (any.is::<PriorityScorer>(), Self::Priority),
            (any.is::<FrequencyScorer>(), Self::Frequency),
            (any.is::<ReflexiveScorer>(), Self::Reflexive),
        ];
        if let Some((_, spec)) = plain.into_iter().find(|(is, _)| *is) {
            return Some(spec);
        }
        Some(if let Some(kind) = any.downcast_ref::<KindScorer>() {
            Self::Kind { weights: kind.weights().iter().cloned().collect() }
        } else if let Some(tag) = any.downcast_ref::<TagScorer>() {
            Self::Tag {
                weights: tag.weights.iter().cloned().collect(),
                ignore_case: tag.ignore_case,
            }
        } else if let Some(trust) = any.downcast_ref::<MetadataTrustScorer>() {
            Self::MetadataTrust { default_score: trust.default_score }
        } else if let Some(scorer) = any.downcast_ref::<MetadataKeyScorer>() {
            let (key, value) = (scorer.key.clone(), scorer.value.clone());
            Self::MetadataKey { key, value, boost: scorer.boost }
        } else if let Some(decay) = any.downcast_ref::<DecayScorer>() {
            let null_timestamp_score = decay.null_timestamp_score;
            Self::Decay { curve: DecayCurveSpec::of(&decay.curve), null_timestamp_score }
        } else if let Some(scaled) = any.downcast_ref::<ScaledScorer>() {
            let at = path.key("scorer");
            let inner = Self::describe(&*scaled.inner, &at, convert);
            Self::Scaled { scorer: NestedSpec::noted(inner, &at, convert) }
        } else {
            let composite = any.downcast_ref::<CompositeScorer>()?;
            let at = path.key("scorers");
            let part = |(index, (child, weight)): (usize, (&Arc<dyn Scorer>, f64))| {
                let at = at.index(index);
                let scorer = Self::describe(&**child, &at, convert);
                WeightedScorer { scorer: NestedSpec::noted(scorer, &at, convert), weight }
            };
            Self::Composite { scorers: composite.children().enumerate().map(part).collect() }
        })
    }
}

/// A weighted average is written as the policy's own list.
pub(super) fn write_scorer<S: Serializer>(
    scorer: &ScorerSpec,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match scorer {
        ScorerSpec::Composite { scorers } => serializer.collect_map([("scorers", scorers)]),
        scorer => serializer.collect_map([("scorer", scorer)]),
    }
}

parts! {
    /// A [`DecayCurve`](crate::scorer::DecayCurve) as data; in a file, ages are in seconds.
    pub enum DecayCurveSpec: "a decay curve" else Self::Window { max_age: Duration::MAX } => {
        /// [`DecayCurve::exponential`](crate::scorer::DecayCurve::exponential).
        "exponential" Exponential {
            /// The age at which half of the score is left; key `half_life_secs`.
            #[serde(serialize_with = "seconds")]
            half_life: Duration as "half_life_secs",
        },
        /// [`DecayCurve::step`](crate::scorer::DecayCurve::step).
        "step" Step {
            /// From the youngest to the oldest.
            windows: Vec<DecayWindowSpec>,
        },
        /// [`DecayCurve::window`](crate::scorer::DecayCurve::window).
        "window" Window {
            /// The age from which on the score is 0; key `max_age_secs`.
            #[serde(serialize_with = "seconds")]
            max_age: Duration as "max_age_secs",
        },
    }
}

table! {
    /// One step of a [`DecayCurveSpec::Step`].
    pub struct DecayWindowSpec: "a table with max_age_secs and score" {
        /// The step holds below this age; key `max_age_secs`.
        #[serde(serialize_with = "seconds")]
        pub max_age: Duration as "max_age_secs",
        /// The score within the step.
        pub score: f64,
    }
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    match duration.subsec_nanos() {
        0 => serializer.serialize_u64(duration.as_secs()),
        _ => serializer.serialize_f64(duration.as_secs_f64()),
    }
}

impl DecayCurveSpec {
    pub(super) fn build(&self) -> Result<DecayCurve, CupelError> {
        match self {
            Self::Exponential { half_life } => DecayCurve::exponential(*half_life),
            Self::Window { max_age } => DecayCurve::window(*max_age),
            Self::Step { windows } => DecayCurve::step(
                windows.iter().map(|window| (window.max_age, window.score)).collect(),
            ),
        }
    }

    pub(super) fn of(curve: &DecayCurve) -> Self {
        match curve.shape() {
            DecayShape::Exponential { half_life } => Self::Exponential { half_life: *half_life },
            DecayShape::Window { max_age } => Self::Window { max_age: *max_age },
            DecayShape::Step { windows } => {
                let window = |&(max_age, score): &(_, _)| DecayWindowSpec { max_age, score };
                Self::Step { windows: windows.iter().map(window).collect() }
            }
        }
    }
}
