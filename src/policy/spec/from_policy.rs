//! From a policy to a spec.

use super::path::{Path, Problems};
use super::{
    CountQuotaSpec, DecayCurveSpec, DecayWindowSpec, KindQuotaSpec, PlacerSpec, PolicySpec,
    PolicySpecError, ScorerRegistry, ScorerSpec, SlicerSpec, WeightedScorer,
};
use crate::placer::{ChronologicalPlacer, Placer, UShapedPlacer};
use crate::policy::Policy;
use crate::scorer::{
    CompositeScorer, DecayCurve, DecayScorer, DecayShape, FrequencyScorer, KindScorer,
    MetadataKeyScorer, MetadataTrustScorer, PriorityScorer, RecencyScorer, ReflexiveScorer,
    ScaledScorer, Scorer, TagScorer,
};
use crate::slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, GreedySlice, KnapsackSlice,
    QuotaSlice, Slicer,
};

impl PolicySpec {
    /// The spec that describes a policy.
    ///
    /// A scorer that is registered in `registry` is written by its name. A decay scorer's clock is
    /// not data: [`to_policy`](Self::to_policy) takes the registry's.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] names every part that is neither built in nor registered.
    pub fn from_policy(
        policy: &Policy,
        registry: &ScorerRegistry,
    ) -> Result<Self, PolicySpecError> {
        let pipeline = policy.pipeline();
        let mut describe = Describe { registry, problems: Problems::default() };
        let scorer = describe.top_scorer(&**pipeline.scorer());
        let slicer = describe.slicer(&**pipeline.slicer(), &Path::Root.key("slicer"));
        let placer = describe.placer(&**pipeline.placer());
        let spec = || {
            Some(Self {
                scorer: scorer?,
                slicer: slicer?,
                placer: placer?,
                overflow: pipeline.overflow_strategy(),
                deduplication: pipeline.deduplication(),
            })
        };
        describe.problems.finish(spec())
    }
}

struct Describe<'r> {
    registry: &'r ScorerRegistry,
    problems: Problems,
}

impl Describe<'_> {
    fn top_scorer(&mut self, scorer: &dyn Scorer) -> Option<ScorerSpec> {
        let composite = is::<CompositeScorer>(scorer.as_any()).is_some()
            && self.registry.name_of(scorer).is_none();
        let path = if composite { Path::Root } else { Path::Key(&Path::Root, "scorer") };
        self.scorer(scorer, &path)
    }

    fn scorer(&mut self, scorer: &dyn Scorer, path: &Path<'_>) -> Option<ScorerSpec> {
        if let Some(name) = self.registry.name_of(scorer) {
            return Some(ScorerSpec::Custom { name: name.to_owned() });
        }
        if let Some(scaled) = is::<ScaledScorer>(scorer.as_any()) {
            let inner = self.scorer(&**scaled.inner(), &path.key("scorer"))?;
            return Some(ScorerSpec::Scaled { scorer: Box::new(inner) });
        }
        if let Some(composite) = is::<CompositeScorer>(scorer.as_any()) {
            let path = path.key("scorers");
            let parts: Vec<Option<WeightedScorer>> = composite
                .children()
                .enumerate()
                .map(|(index, (child, weight))| {
                    let scorer = self.scorer(&**child, &path.index(index))?;
                    Some(WeightedScorer { scorer, weight })
                })
                .collect();
            let scorers = parts.into_iter().collect::<Option<_>>()?;
            return Some(ScorerSpec::Composite { scorers });
        }
        let spec = leaf(scorer);
        if spec.is_none() {
            let name = scorer.name();
            let message = format!(
                "{name} cannot be written as data: it is neither built in nor registered; build \
                 the policy with the handle from ScorerRegistry::get"
            );
            self.problems.add(path, message);
        }
        spec
    }

    fn slicer(&mut self, slicer: &dyn Slicer, path: &Path<'_>) -> Option<SlicerSpec> {
        let any = slicer.as_any();
        if is::<GreedySlice>(any).is_some() {
            return Some(SlicerSpec::Greedy);
        }
        if let Some(knapsack) = is::<KnapsackSlice>(any) {
            return Some(SlicerSpec::Knapsack { bucket_size: knapsack.bucket_size() });
        }
        if let Some(quota) = is::<QuotaSlice>(any) {
            let quotas = quota.quotas().iter().map(|(kind, require, cap)| KindQuotaSpec {
                kind: kind.clone(),
                require,
                cap,
            });
            let inner = self.slicer(&**quota.inner(), &path.key("inner"))?;
            return Some(SlicerSpec::Quota { quotas: quotas.collect(), inner: Box::new(inner) });
        }
        if let Some(count) = is::<CountQuotaSlice>(any) {
            let inner = self.slicer(&**count.inner(), &path.key("inner"))?;
            return Some(SlicerSpec::CountQuota {
                entries: count_entries(count.entries()),
                scarcity: count.scarcity(),
                inner: Box::new(inner),
            });
        }
        if let Some(count) = is::<CountConstrainedKnapsackSlice>(any) {
            return Some(SlicerSpec::CountConstrainedKnapsack {
                entries: count_entries(count.entries()),
                scarcity: count.scarcity(),
                bucket_size: count.knapsack().bucket_size(),
            });
        }
        self.problems.add(path, not_built_in(slicer.name(), "slicers"));
        None
    }

    fn placer(&mut self, placer: &dyn Placer) -> Option<PlacerSpec> {
        if is::<ChronologicalPlacer>(placer.as_any()).is_some() {
            return Some(PlacerSpec::Chronological);
        }
        if is::<UShapedPlacer>(placer.as_any()).is_some() {
            return Some(PlacerSpec::UShaped);
        }
        self.problems.add(&Path::Root.key("placer"), not_built_in(placer.name(), "placers"));
        None
    }
}

fn is<T: 'static>(any: Option<&dyn std::any::Any>) -> Option<&T> {
    any?.downcast_ref()
}

fn not_built_in(name: &str, what: &str) -> String {
    format!("{name} cannot be written as data: only the built-in {what} can")
}

/// The built-in scorers that have no others inside.
fn leaf(scorer: &dyn Scorer) -> Option<ScorerSpec> {
    let any = scorer.as_any()?;
    if any.is::<RecencyScorer>() {
        return Some(ScorerSpec::Recency);
    }
    if any.is::<PriorityScorer>() {
        return Some(ScorerSpec::Priority);
    }
    if any.is::<FrequencyScorer>() {
        return Some(ScorerSpec::Frequency);
    }
    if any.is::<ReflexiveScorer>() {
        return Some(ScorerSpec::Reflexive);
    }
    if let Some(kind) = any.downcast_ref::<KindScorer>() {
        return Some(ScorerSpec::Kind { weights: kind.weights().iter().cloned().collect() });
    }
    if let Some(tag) = any.downcast_ref::<TagScorer>() {
        return Some(ScorerSpec::Tag {
            weights: tag.weights().iter().cloned().collect(),
            ignore_case: tag.ignores_case(),
        });
    }
    if let Some(trust) = any.downcast_ref::<MetadataTrustScorer>() {
        return Some(ScorerSpec::MetadataTrust { default_score: trust.default_score() });
    }
    if let Some(scorer) = any.downcast_ref::<MetadataKeyScorer>() {
        return Some(ScorerSpec::MetadataKey {
            key: scorer.key().to_owned(),
            value: scorer.value().to_owned(),
            boost: scorer.boost(),
        });
    }
    let decay = any.downcast_ref::<DecayScorer>()?;
    Some(ScorerSpec::Decay {
        curve: decay_curve(decay.curve()),
        null_timestamp_score: decay.undated_score(),
    })
}

fn decay_curve(curve: &DecayCurve) -> DecayCurveSpec {
    match curve.shape() {
        DecayShape::Exponential { half_life } => {
            DecayCurveSpec::Exponential { half_life: *half_life }
        }
        DecayShape::Window { max_age } => DecayCurveSpec::Window { max_age: *max_age },
        DecayShape::Step { windows } => {
            let window =
                |(max_age, score): &(_, _)| DecayWindowSpec { max_age: *max_age, score: *score };
            DecayCurveSpec::Step { windows: windows.iter().map(window).collect() }
        }
    }
}

fn count_entries(entries: &[CountQuotaEntry]) -> Vec<CountQuotaSpec> {
    let entry = |entry: &CountQuotaEntry| CountQuotaSpec {
        kind: entry.kind().clone(),
        require_count: entry.require_count(),
        cap_count: entry.cap_count(),
    };
    entries.iter().map(entry).collect()
}
