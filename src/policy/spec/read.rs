//! Reads the parts of a policy from what a file holds.

use serde::de::{Deserialize, Deserializer, Error};

use super::fields::{Fields, FromTree, Reader};
use super::path::{Path, Problems};
use super::tree::Tree;
use super::{
    CountQuotaSpec, DecayCurveSpec, DecayWindowSpec, KindQuotaSpec, PlacerSpec, PolicySpec,
    PolicySpecError, ScorerSpec, SlicerSpec, WeightedScorer,
};
use crate::model::OverflowStrategy;
use crate::slicer::{KnapsackSlice, ScarcityBehavior};

/// Reads a value and fails with everything that is wrong with it.
pub(super) fn read<T: FromTree>(tree: Tree) -> Result<T, PolicySpecError> {
    let mut problems = Problems::default();
    let value = T::from_tree(tree, &Path::Root, &mut problems);
    problems.finish(value)
}

macro_rules! deserialize {
    ($($spec:ident),+) => {$(
        impl<'de> Deserialize<'de> for $spec {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                read(Tree::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    )+};
}

deserialize!(PolicySpec, ScorerSpec, SlicerSpec, PlacerSpec);

impl FromTree for PolicySpec {
    const EXPECTED: &'static str = "a table";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open::<Self>(tree, path, problems)?;
        let scorer = top_scorer(&mut fields);
        let slicer = fields.required("slicer");
        let placer = fields.required("placer");
        let overflow = fields.or("overflow", OverflowStrategy::default());
        let deduplication = fields.or("deduplication", true);
        fields.close();
        Some(Self {
            scorer: scorer?,
            slicer: slicer?,
            placer: placer?,
            overflow: overflow?,
            deduplication: deduplication?,
        })
    }
}

/// `scorers` is a weighted average, `scorer` is one scorer as it is.
fn top_scorer(fields: &mut Fields<'_>) -> Option<ScorerSpec> {
    let (many, one) = (fields.maybe("scorers"), fields.maybe("scorer"));
    let (path, problems) = fields.place();
    match (many?, one?) {
        (Some(scorers), None) => {
            let composite = ScorerSpec::Composite { scorers };
            composite.check_own(path, problems, None);
            Some(composite)
        }
        (None, Some(scorer)) => Some(scorer),
        (Some(_), Some(_)) => {
            problems.add(&path.key("scorer"), "give either scorers or scorer, got both");
            None
        }
        (None, None) => {
            problems.add(
                &path.key("scorers"),
                "missing, expected a list of scorers with weights, or scorer for a single one",
            );
            None
        }
    }
}

impl FromTree for ScorerSpec {
    const EXPECTED: &'static str = "a scorer";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open_part::<Self>(tree, path, problems)?;
        let scorer = scorer(&mut fields);
        fields.close();
        scorer
    }
}

impl FromTree for WeightedScorer {
    const EXPECTED: &'static str = "a scorer with a weight";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open_part::<Self>(tree, path, problems)?;
        let weight = fields.required("weight");
        let scorer = scorer(&mut fields);
        fields.close();
        Some(Self { scorer: scorer?, weight: weight? })
    }
}

fn scorer(fields: &mut Fields<'_>) -> Option<ScorerSpec> {
    let scorer = fields.part(SCORERS)?;
    let (path, problems) = fields.place();
    scorer.check_own(path, problems, None);
    Some(scorer)
}

const SCORERS: &[(&str, Reader<ScorerSpec>)] = &[
    ("recency", |_| Some(ScorerSpec::Recency)),
    ("priority", |_| Some(ScorerSpec::Priority)),
    ("frequency", |_| Some(ScorerSpec::Frequency)),
    ("reflexive", |_| Some(ScorerSpec::Reflexive)),
    ("kind", |fields| match fields.maybe("weights")? {
        Some(weights) => Some(ScorerSpec::Kind { weights }),
        None => Some(ScorerSpec::default_kinds()),
    }),
    ("tag", |fields| {
        let (weights, ignore_case) = (fields.required("weights"), fields.or("ignore_case", false));
        Some(ScorerSpec::Tag { weights: weights?, ignore_case: ignore_case? })
    }),
    ("metadata_trust", |fields| {
        Some(ScorerSpec::MetadataTrust { default_score: fields.required("default_score")? })
    }),
    ("metadata_key", |fields| {
        let (key, value) = (fields.required("key"), fields.required("value"));
        let boost = fields.required("boost");
        Some(ScorerSpec::MetadataKey { key: key?, value: value?, boost: boost? })
    }),
    ("decay", |fields| {
        let (curve, undated) = (fields.required("curve"), fields.or("null_timestamp_score", 0.5));
        Some(ScorerSpec::Decay { curve: curve?, null_timestamp_score: undated? })
    }),
    ("scaled", |fields| Some(ScorerSpec::Scaled { scorer: fields.required("scorer")? })),
    ("composite", |fields| Some(ScorerSpec::Composite { scorers: fields.required("scorers")? })),
    ("custom", |fields| Some(ScorerSpec::Custom { name: fields.required("name")? })),
];

impl FromTree for DecayCurveSpec {
    const EXPECTED: &'static str = "a decay curve";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open_part::<Self>(tree, path, problems)?;
        let curve = fields.part(CURVES);
        fields.close();
        curve
    }
}

const CURVES: &[(&str, Reader<DecayCurveSpec>)] = &[
    ("exponential", |fields| {
        Some(DecayCurveSpec::Exponential { half_life: fields.required("half_life_secs")? })
    }),
    ("step", |fields| Some(DecayCurveSpec::Step { windows: fields.required("windows")? })),
    ("window", |fields| Some(DecayCurveSpec::Window { max_age: fields.required("max_age_secs")? })),
];

impl FromTree for DecayWindowSpec {
    const EXPECTED: &'static str = "a table with max_age_secs and score";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open::<Self>(tree, path, problems)?;
        let (max_age, score) = (fields.required("max_age_secs"), fields.required("score"));
        fields.close();
        Some(Self { max_age: max_age?, score: score? })
    }
}

impl FromTree for SlicerSpec {
    const EXPECTED: &'static str = "a slicer";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open_part::<Self>(tree, path, problems)?;
        let slicer = fields.part(SLICERS);
        if let Some(slicer) = &slicer {
            let (path, problems) = fields.place();
            slicer.check_own(path, problems);
        }
        fields.close();
        slicer
    }
}

const SLICERS: &[(&str, Reader<SlicerSpec>)] = &[
    ("greedy", |_| Some(SlicerSpec::Greedy)),
    ("knapsack", |fields| Some(SlicerSpec::Knapsack { bucket_size: bucket_size(fields)? })),
    ("quota", |fields| {
        let (quotas, inner) = (fields.required("quotas"), fields.required("inner"));
        Some(SlicerSpec::Quota { quotas: quotas?, inner: inner? })
    }),
    ("count_quota", |fields| {
        let (entries, scarcity) = (fields.required("entries"), scarcity(fields));
        let inner = fields.required("inner");
        Some(SlicerSpec::CountQuota { entries: entries?, scarcity: scarcity?, inner: inner? })
    }),
    ("count_constrained_knapsack", |fields| {
        let (entries, scarcity) = (fields.required("entries"), scarcity(fields));
        let bucket_size = bucket_size(fields);
        Some(SlicerSpec::CountConstrainedKnapsack {
            entries: entries?,
            scarcity: scarcity?,
            bucket_size: bucket_size?,
        })
    }),
];

fn bucket_size(fields: &mut Fields<'_>) -> Option<i64> {
    fields.or("bucket_size", KnapsackSlice::default().bucket_size())
}

fn scarcity(fields: &mut Fields<'_>) -> Option<ScarcityBehavior> {
    fields.or("scarcity", ScarcityBehavior::default())
}

impl FromTree for KindQuotaSpec {
    const EXPECTED: &'static str = "a table with kind, require and cap";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open::<Self>(tree, path, problems)?;
        let kind = fields.required("kind");
        let (require, cap) = (fields.or("require", 0.0), fields.or("cap", 100.0));
        fields.close();
        Some(Self { kind: kind?, require: require?, cap: cap? })
    }
}

impl FromTree for CountQuotaSpec {
    const EXPECTED: &'static str = "a table with kind, require_count and cap_count";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open::<Self>(tree, path, problems)?;
        let kind = fields.required("kind");
        let require_count = fields.or("require_count", 0);
        let cap_count = fields.or("cap_count", Self::NO_CAP);
        fields.close();
        Some(Self { kind: kind?, require_count: require_count?, cap_count: cap_count? })
    }
}

impl FromTree for PlacerSpec {
    const EXPECTED: &'static str = "a placer";

    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::open_part::<Self>(tree, path, problems)?;
        let placer = fields.part(PLACERS);
        fields.close();
        placer
    }
}

const PLACERS: &[(&str, Reader<PlacerSpec>)] = &[
    ("chronological", |_| Some(PlacerSpec::Chronological)),
    ("u_shaped", |_| Some(PlacerSpec::UShaped)),
];
