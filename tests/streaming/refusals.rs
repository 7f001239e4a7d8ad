//! Settings that a streaming layer refuses when it is built, and its messages.

use std::time::Duration;

use cupel::layer::{ContextRequestAdapter, CupelLayer};
use cupel::placer::UShapedPlacer;
use cupel::scorer::{
    CompositeScorer, DecayCurve, DecayScorer, RecencyScorer, ScaledScorer, ScorerFacts,
    SystemTimeProvider,
};
use cupel::slicer::KnapsackSlice;
use cupel::{
    ContextBudget, ContextItem, GreedySlice, Pipeline, Policy, PriorityScorer, ReflexiveScorer,
    Scorer, Slicer,
};

use crate::support::{Request, layer};

fn refusal(scorer: impl Scorer + 'static, slicer: impl Slicer + 'static) -> String {
    let pipeline =
        Pipeline::builder().scorer(scorer).slicer(slicer).placer(UShapedPlacer).build().unwrap();
    let built = CupelLayer::<Request, _>::builder()
        .adapter(ContextRequestAdapter)
        .pipeline(pipeline)
        .budget(ContextBudget::builder(100).build().unwrap())
        .select_while_gathering(true)
        .build();
    built.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn a_relative_scorer_is_named_with_what_to_use_instead() {
    let text = refusal(RecencyScorer, GreedySlice);
    assert_eq!(
        text,
        "CupelLayer: RecencyScorer compares an item with all others, so it cannot score while \
         items arrive; use DecayScorer, which goes by age instead of rank, or leave .select_while_gathering(..) \
         out"
    );
}

#[test]
fn a_relative_scorer_is_found_inside_others() {
    let composite = CompositeScorer::builder()
        .add(ReflexiveScorer, 1.0)
        .add(CompositeScorer::builder().add(PriorityScorer, 1.0).build().unwrap(), 1.0)
        .build()
        .unwrap();
    assert!(refusal(composite, GreedySlice).contains("PriorityScorer compares"));
    let scaled = ScaledScorer::new(ReflexiveScorer).unwrap();
    assert!(refusal(scaled, GreedySlice).contains("ScaledScorer compares"));
}

#[test]
fn any_slicer_but_greedy_is_refused() {
    let text = refusal(ReflexiveScorer, KnapsackSlice::default());
    assert_eq!(
        text,
        "CupelLayer: KnapsackSlice needs all items at once, so it cannot select while they arrive; \
         use GreedySlice or BestFirstSlice, or leave .select_while_gathering(..) out"
    );
    assert_eq!(refusal(ReflexiveScorer, Box::new(GreedySlice)), "");
}

#[test]
fn a_scorer_that_depends_on_time_must_be_able_to_stop_its_clock() {
    struct Hour;
    impl Scorer for Hour {
        fn score(&self, _: &ContextItem, _: &[ContextItem]) -> f64 {
            0.5
        }
        fn facts(&self) -> ScorerFacts {
            ScorerFacts::ABSOLUTE.with_time(true)
        }
    }
    assert!(refusal(Hour, GreedySlice).contains("Hour depends on time but cannot stop its clock"));
    let curve = DecayCurve::exponential(Duration::from_secs(60)).unwrap();
    assert_eq!(refusal(DecayScorer::new(SystemTimeProvider, curve), GreedySlice), "");
}

#[test]
fn options_of_streaming_need_streaming() {
    let error = layer(10).dropped_sample(5).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "CupelLayer: .dropped_sample(..) needs .select_while_gathering(true)"
    );
    let error = layer(10).on_progress(|_| {}).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "CupelLayer: .on_progress(..) needs .select_while_gathering(true)"
    );
}

#[test]
fn the_presets_say_whether_they_stream() {
    let streams = |policy: Policy| {
        CupelLayer::<Request, _>::builder()
            .adapter(ContextRequestAdapter)
            .policy(policy)
            .budget(ContextBudget::builder(100).build().unwrap())
            .select_while_gathering(true)
            .build()
            .is_ok()
    };
    assert!(streams(Policy::rag()));
    assert!(!streams(Policy::chat()));
}
