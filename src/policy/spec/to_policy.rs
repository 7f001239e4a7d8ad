//! From a spec to a policy.

use std::sync::Arc;

use super::path::{Path, Problems};
use super::{
    CountQuotaSpec, DecayCurveSpec, KindQuotaSpec, PlacerSpec, PolicySpec, PolicySpecError,
    ScorerRegistry, ScorerSpec, SlicerSpec, SpecProblem,
};
use crate::error::CupelError;
use crate::placer::{ChronologicalPlacer, Placer, UShapedPlacer};
use crate::policy::Policy;
use crate::scorer::{
    CompositeScorer, DecayCurve, DecayScorer, FrequencyScorer, KindScorer, MetadataKeyScorer,
    MetadataTrustScorer, PriorityScorer, RecencyScorer, ReflexiveScorer, ScaledScorer, Scorer,
    TagScorer,
};
use crate::slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, GreedySlice, KnapsackSlice,
    QuotaSet, QuotaSlice, Slicer,
};

impl PolicySpec {
    /// The policy this spec describes, with the registry's clock and scorers.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] lists every value that is not allowed and every name that is
    /// not registered, each with its path.
    pub fn to_policy(&self, registry: &ScorerRegistry) -> Result<Policy, PolicySpecError> {
        let mut problems = Problems::default();
        self.check(&mut problems, Some(registry));
        problems.finish(Some(()))?;
        // The check knows every rule of the constructors; should one be stricter, it is heard.
        self.build(registry).map_err(|(path, error)| {
            let problem = SpecProblem { path: path.to_string(), message: error.to_string() };
            PolicySpecError::Invalid(vec![problem])
        })
    }

    fn build(&self, registry: &ScorerRegistry) -> Result<Policy, (Path<'static>, CupelError)> {
        let at = |path: Path<'static>| move |error: CupelError| (path, error);
        let scorer = scorer(&self.scorer, registry).map_err(at(self.scorer.top_path()))?;
        let slicer = slicer(&self.slicer).map_err(at(Path::Key(&Path::Root, "slicer")))?;
        Policy::builder()
            .scorer(scorer)
            .slicer(slicer)
            .placer(placer(self.placer))
            .overflow_strategy(self.overflow)
            .deduplication(self.deduplication)
            .build()
            .map_err(at(Path::Root))
    }
}

fn scorer(spec: &ScorerSpec, registry: &ScorerRegistry) -> Result<Arc<dyn Scorer>, CupelError> {
    Ok(match spec {
        ScorerSpec::Recency => Arc::new(RecencyScorer),
        ScorerSpec::Priority => Arc::new(PriorityScorer),
        ScorerSpec::Frequency => Arc::new(FrequencyScorer),
        ScorerSpec::Reflexive => Arc::new(ReflexiveScorer),
        ScorerSpec::Kind { weights } => {
            let weights = weights.iter().map(|(kind, weight)| (kind.clone(), *weight));
            Arc::new(KindScorer::new(weights)?)
        }
        ScorerSpec::Tag { weights, ignore_case } => {
            let weights = weights.iter().map(|(tag, weight)| (tag, *weight));
            Arc::new(match ignore_case {
                true => TagScorer::case_insensitive(weights)?,
                false => TagScorer::new(weights)?,
            })
        }
        ScorerSpec::MetadataTrust { default_score } => {
            Arc::new(MetadataTrustScorer::new(*default_score)?)
        }
        ScorerSpec::MetadataKey { key, value, boost } => {
            Arc::new(MetadataKeyScorer::new(key, value, *boost)?)
        }
        ScorerSpec::Decay { curve, null_timestamp_score } => {
            let scorer = DecayScorer::new(registry.clock(), decay_curve(curve)?);
            Arc::new(scorer.null_timestamp_score(*null_timestamp_score)?)
        }
        ScorerSpec::Scaled { scorer: inner } => {
            Arc::new(ScaledScorer::new(scorer(inner, registry)?)?)
        }
        ScorerSpec::Composite { scorers } => {
            let parts =
                scorers.iter().map(|part| Ok((scorer(&part.scorer, registry)?, part.weight)));
            Arc::new(CompositeScorer::new(parts.collect::<Result<_, CupelError>>()?)?)
        }
        ScorerSpec::Custom { name } => registry.get(name).map(Arc::clone).ok_or_else(|| {
            CupelError::ScorerConfig(format!("no scorer is registered as {name:?}"))
        })?,
    })
}

fn decay_curve(spec: &DecayCurveSpec) -> Result<DecayCurve, CupelError> {
    match spec {
        DecayCurveSpec::Exponential { half_life } => DecayCurve::exponential(*half_life),
        DecayCurveSpec::Window { max_age } => DecayCurve::window(*max_age),
        DecayCurveSpec::Step { windows } => {
            DecayCurve::step(windows.iter().map(|window| (window.max_age, window.score)).collect())
        }
    }
}

fn slicer(spec: &SlicerSpec) -> Result<Arc<dyn Slicer>, CupelError> {
    Ok(match spec {
        SlicerSpec::Greedy => Arc::new(GreedySlice),
        SlicerSpec::Knapsack { bucket_size } => Arc::new(KnapsackSlice::new(*bucket_size)?),
        SlicerSpec::Quota { quotas, inner } => {
            let add = |set: crate::slicer::QuotaSetBuilder, quota: &KindQuotaSpec| {
                set.require(quota.kind.clone(), quota.require).cap(quota.kind.clone(), quota.cap)
            };
            let quotas = quotas.iter().fold(QuotaSet::builder(), add).build()?;
            Arc::new(QuotaSlice::new(quotas, slicer(inner)?))
        }
        SlicerSpec::CountQuota { entries, scarcity, inner } => {
            Arc::new(CountQuotaSlice::new(count_entries(entries)?, slicer(inner)?, *scarcity)?)
        }
        SlicerSpec::CountConstrainedKnapsack { entries, scarcity, bucket_size } => {
            let knapsack = KnapsackSlice::new(*bucket_size)?;
            let entries = count_entries(entries)?;
            Arc::new(CountConstrainedKnapsackSlice::new(entries, knapsack, *scarcity)?)
        }
    })
}

fn count_entries(entries: &[CountQuotaSpec]) -> Result<Vec<CountQuotaEntry>, CupelError> {
    let entry = |spec: &CountQuotaSpec| {
        CountQuotaEntry::new(spec.kind.clone(), spec.require_count, spec.cap_count)
    };
    entries.iter().map(entry).collect()
}

fn placer(spec: PlacerSpec) -> Arc<dyn Placer> {
    match spec {
        PlacerSpec::Chronological => Arc::new(ChronologicalPlacer),
        PlacerSpec::UShaped => Arc::new(UShapedPlacer),
    }
}
