//! Spec to policy to spec, policy to spec to policy, and through every format.

use cupel::placer::UShapedPlacer;
use cupel::policy::spec::{PlacerSpec, ScorerSpec, SlicerSpec, WeightedScorer};
use cupel::scorer::{CompositeScorer, RecencyScorer, ScaledScorer};
use cupel::slicer::{QuotaSet, QuotaSlice, SliceResult};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, CupelError, GreedySlice, Placer, Policy,
    PolicySpec, ScoredItem, Slicer,
};
use proptest::prelude::*;
use serde_json::json;

use crate::arbitrary::{items, spec};
use crate::{Brevity, registry, samples};

/// Decisions of a policy about the items, with scores and reasons.
fn decisions(policy: &Policy, items: &[ContextItem], budget: &ContextBudget) -> String {
    match policy.dry_run(items, budget) {
        Ok(report) => format!(
            "{:#?}\n{:#?}\n{:#?}",
            report.included, report.excluded, report.count_requirement_shortfalls
        ),
        Err(error) => error.to_string(),
    }
}

fn presets() -> [(&'static str, Policy); 4] {
    [
        ("chat", Policy::chat()),
        ("rag", Policy::rag()),
        ("tool_use", Policy::tool_use()),
        ("document_qa", Policy::document_qa()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_spec_comes_back_from_its_policy(spec in spec()) {
        prop_assert_eq!(spec.validate(), Ok(()));
        let registry = registry();
        let policy = spec.to_policy(&registry).unwrap();
        prop_assert_eq!(PolicySpec::from_policy(&policy, &registry).unwrap(), spec);
    }

    #[test]
    fn a_spec_comes_back_from_every_format(spec in spec()) {
        let json = spec.to_json_string().unwrap();
        prop_assert_eq!(&PolicySpec::from_json_str(&json).unwrap(), &spec, "{}", json);
        let toml = spec.to_toml_string().unwrap();
        prop_assert_eq!(&PolicySpec::from_toml_str(&toml).unwrap(), &spec, "{}", toml);
        let yaml = spec.to_yaml_string().unwrap();
        prop_assert_eq!(&PolicySpec::from_yaml_str(&yaml).unwrap(), &spec, "{}", yaml);
    }

    #[test]
    fn a_policy_from_its_own_spec_decides_the_same(
        spec in spec(), items in items(), tokens in 0_i64..900,
    ) {
        let registry = registry();
        let policy = spec.to_policy(&registry).unwrap();
        let again = PolicySpec::from_policy(&policy, &registry).unwrap();
        let again = again.to_policy(&registry).unwrap();
        let budget = ContextBudget::builder(tokens).build().unwrap();
        prop_assert_eq!(decisions(&policy, &items, &budget), decisions(&again, &items, &budget));
    }

    #[test]
    fn every_preset_decides_the_same_after_a_trip_through_a_file(
        items in items(), tokens in 0_i64..900,
    ) {
        let registry = registry();
        let budget = ContextBudget::builder(tokens).build().unwrap();
        for (name, preset) in presets() {
            let spec = PolicySpec::from_policy(&preset, &registry).unwrap();
            let yaml = spec.to_yaml_string().unwrap();
            let again = PolicySpec::from_yaml_str(&yaml).unwrap().to_policy(&registry).unwrap();
            prop_assert_eq!(
                decisions(&preset, &items, &budget),
                decisions(&again, &items, &budget),
                "{}", name
            );
        }
    }
}

/// A part that is declared, but not built or not described, does not come back from a policy.
#[test]
fn the_samples_have_every_type_that_a_file_may_name() {
    let samples: Vec<String> = samples().iter().map(ToString::to_string).collect();
    let mut types = 0;
    for part in ["scorer", "slicer", "placer"] {
        let mut spec = json!({ "scorer": "recency", "slicer": "greedy", "placer": "u_shaped" });
        spec[part] = json!("?");
        let error = PolicySpec::from_json_str(&spec.to_string()).unwrap_err().to_string();
        let (_, known) = error.split_once("expected one of ").unwrap();
        for name in known.split(", ") {
            let written = format!("\"type\":\"{name}\"");
            assert!(samples.iter().any(|sample| sample.contains(&written)), "{part} {name}");
            types += 1;
        }
    }
    assert!(types >= 19, "{types}");
}

#[test]
fn every_sample_comes_back_from_its_policy() {
    let registry = registry();
    for sample in samples() {
        let spec = PolicySpec::from_json_str(&sample.to_string()).unwrap();
        let policy = spec.to_policy(&registry).unwrap();
        assert_eq!(PolicySpec::from_policy(&policy, &registry).unwrap(), spec);
        // Nothing but the written form of whole numbers differs from what was read.
        let written: serde_json::Value = serde_json::to_value(&spec).unwrap();
        // As values: the order of keys is not data, and a feature of serde_json changes it.
        let same = |value: &serde_json::Value| -> serde_json::Value {
            serde_json::from_str(&value.to_string().replace(".0", "")).unwrap()
        };
        assert_eq!(same(&written), same(&sample));
    }
}

#[test]
fn a_composite_of_one_is_not_the_scorer_itself() {
    let registry = registry();
    let bare = "scorer: recency\nslicer: greedy\nplacer: u_shaped\n";
    let bare = PolicySpec::from_yaml_str(bare).unwrap();
    let one = "scorers: [{ type: recency, weight: 1 }]\nslicer: greedy\nplacer: u_shaped\n";
    let one = PolicySpec::from_yaml_str(one).unwrap();
    assert_ne!(bare, one);
    for spec in [&bare, &one] {
        let policy = spec.to_policy(&registry).unwrap();
        assert_eq!(PolicySpec::from_policy(&policy, &registry).unwrap(), *spec);
    }
    let nested = "
scorer: { type: composite, scorers: [{ type: recency, weight: 1 }] }
slicer: greedy
placer: u_shaped
";
    assert_eq!(PolicySpec::from_yaml_str(nested).unwrap(), one);
}

#[test]
fn a_bare_name_is_a_part_without_other_keys() {
    let short = "scorer: kind\nslicer: knapsack\nplacer: u_shaped\n";
    let long = "
scorer: { type: kind }
slicer: { type: knapsack, bucket_size: 100 }
placer: { type: u_shaped }
overflow: throw
deduplication: true
";
    let spec = PolicySpec::from_yaml_str(short).unwrap();
    assert_eq!(spec, PolicySpec::from_yaml_str(long).unwrap());
    let by_hand = PolicySpec::new(
        ScorerSpec::default_kinds(),
        SlicerSpec::Knapsack { bucket_size: 100, widen_buckets: false },
        PlacerSpec::UShaped,
    );
    assert_eq!(spec, by_hand);
}

#[test]
fn a_policy_built_in_code_is_described_through_its_handles() {
    let registry = registry();
    let brevity = registry.get("brevity").unwrap().clone();
    let policy = Policy::builder()
        .scorer(Box::new(ScaledScorer::new(Box::new(brevity)).unwrap()))
        .slicer(std::sync::Arc::new(GreedySlice))
        .placer(Box::new(ChronologicalPlacer))
        .build()
        .unwrap();
    let spec = PolicySpec::from_policy(&policy, &registry).unwrap();
    let custom = ScorerSpec::Custom { name: "brevity".to_owned() };
    assert_eq!(spec.scorer, ScorerSpec::Scaled { scorer: custom.into() });
}

struct TakeNothing;

impl Slicer for TakeNothing {
    fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<SliceResult, CupelError> {
        Ok(SliceResult::default())
    }
}

struct AsGiven;

impl Placer for AsGiven {
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        (0..items.len()).collect()
    }
}

#[test]
fn parts_that_are_not_data_are_named_with_their_place() {
    let scorer = CompositeScorer::builder().add(RecencyScorer, 1.0).add(Brevity, 1.0);
    let policy = Policy::builder()
        .scorer(scorer.build().unwrap())
        .slicer(QuotaSlice::new(QuotaSet::default(), TakeNothing))
        .placer(AsGiven)
        .build()
        .unwrap();
    // The registry has a scorer of this type, but not this one.
    let error = PolicySpec::from_policy(&policy, &registry()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 problems:\n  \
         scorers[1]: Brevity cannot be written as data: it is neither built in nor registered; \
         build the policy with the handle from ScorerRegistry::get\n  \
         slicer.inner: TakeNothing cannot be written as data: only the built-in slicers can\n  \
         placer: AsGiven cannot be written as data: only the built-in placers can"
    );
    let bare = Policy::builder().scorer(Brevity).slicer(GreedySlice).placer(UShapedPlacer);
    let error = PolicySpec::from_policy(&bare.build().unwrap(), &registry()).unwrap_err();
    assert_eq!(error.problems()[0].path, "scorer");
}

#[test]
fn weights_may_be_changed_in_code() {
    let registry = registry();
    let mut spec = PolicySpec::from_policy(&Policy::chat(), &registry).unwrap();
    let ScorerSpec::Composite { scorers } = &mut spec.scorer else { panic!("chat is a composite") };
    scorers.push(WeightedScorer::new(ScorerSpec::Reflexive, 2.0));
    let policy = spec.to_policy(&registry).unwrap();
    assert_eq!(PolicySpec::from_policy(&policy, &registry).unwrap(), spec);
}
