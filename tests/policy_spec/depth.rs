//! Parts that are nested in code, as deep as anybody likes.

use std::sync::Arc;

use cupel::placer::UShapedPlacer;
use cupel::policy::spec::ScorerRegistry;
use cupel::policy::spec::{PlacerSpec, ScorerSpec, SlicerSpec, WeightedScorer};
use cupel::scorer::{RecencyScorer, ScaledScorer, SystemTimeProvider};
use cupel::{GreedySlice, Policy, PolicySpec, Scorer};

const LIMIT: &str = "nested more than 62 levels deep, the limit is 62";

fn scaled(scorer: ScorerSpec) -> ScorerSpec {
    ScorerSpec::Scaled { scorer: scorer.into() }
}

fn composite(scorer: ScorerSpec) -> ScorerSpec {
    ScorerSpec::Composite { scorers: vec![WeightedScorer::new(scorer, 1.0)] }
}

fn times<T>(levels: usize, first: T, nest: impl Fn(T) -> T) -> T {
    (0..levels).fold(first, |inner, _| nest(inner))
}

/// Does everything with a spec that goes through all its levels.
fn refused(spec: &PolicySpec, path: &str) {
    let error = spec.validate().unwrap_err();
    assert!(error.to_string().ends_with(LIMIT), "{error}");
    assert!(error.problems()[0].path.starts_with(path), "{error}");
    let registry = ScorerRegistry::new(SystemTimeProvider);
    assert!(spec.to_policy(&registry).unwrap_err().to_string().ends_with(LIMIT));
    assert!(serde_json::to_string(spec).unwrap_err().to_string().contains(LIMIT));
    assert_eq!(spec, &spec.clone());
    assert!(format!("{spec:?}").contains(LIMIT));
}

#[test]
fn scorers_without_end_are_refused_and_overflow_nothing() {
    let new = |scorer| PolicySpec::new(scorer, SlicerSpec::Greedy, PlacerSpec::UShaped);
    refused(&new(times(20_000, ScorerSpec::Recency, scaled)), "scorer.scorer");
    refused(&new(times(20_000, ScorerSpec::Recency, composite)), "scorers[0]");
}

#[test]
fn slicers_without_end_are_refused_and_overflow_nothing() {
    let fill = |inner: SlicerSpec| SlicerSpec::Fill { inner: inner.into() };
    let slicer = times(20_000, SlicerSpec::Greedy, fill);
    refused(&PolicySpec::new(ScorerSpec::Recency, slicer, PlacerSpec::UShaped), "slicer.inner");
}

#[test]
fn what_is_nested_as_deep_as_it_may_be_can_be_written_and_read() {
    let scorers =
        [times(61, ScorerSpec::Recency, scaled), times(30, ScorerSpec::Recency, composite)];
    for scorer in scorers {
        let spec = PolicySpec::new(scorer.clone(), SlicerSpec::Greedy, PlacerSpec::UShaped);
        spec.validate().unwrap();
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<PolicySpec>(&text).unwrap(), spec);
        let deeper =
            PolicySpec::new(times(2, scorer, scaled), SlicerSpec::Greedy, PlacerSpec::UShaped);
        assert!(deeper.validate().is_err());
    }
}

#[test]
fn scorers_of_a_policy_that_nest_deeper_than_a_file_are_refused() {
    let scorer = (0..100).fold(Arc::new(RecencyScorer) as Arc<dyn Scorer>, |inner, _| {
        Arc::new(ScaledScorer::new(inner).unwrap())
    });
    let policy =
        Policy::builder().scorer(scorer).slicer(GreedySlice).placer(UShapedPlacer).build().unwrap();
    let registry = ScorerRegistry::new(SystemTimeProvider);
    let error = PolicySpec::from_policy(&policy, &registry).unwrap_err();
    assert!(error.to_string().ends_with(LIMIT), "{error}");
}

#[test]
fn scorers_without_end_cannot_be_built() {
    let mut scorer: Arc<dyn Scorer> = Arc::new(RecencyScorer);
    let error = (0..20_000).find_map(|_| match ScaledScorer::new(Arc::clone(&scorer)) {
        Ok(scaled) => {
            scorer = Arc::new(scaled);
            None
        }
        Err(error) => Some(error.to_string()),
    });
    assert!(error.unwrap().ends_with("nested more than 256 levels deep, the limit is 256"));
}
