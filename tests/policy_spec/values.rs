//! Values that have the right type but cannot be meant.

use std::time::Duration;

use cupel::model::TurnPlan;
use cupel::policy::spec::ScorerRegistry;
use cupel::policy::spec::{DecayCurveSpec, PlacerSpec, ScorerSpec, SlicerSpec, WeightedScorer};
use cupel::scorer::SystemTimeProvider;
use cupel::{Policy, PolicySpec};
use serde_json::{Value, json};

/// Problem of a policy with this scorer.
fn scorer_problem(scorer: &Value) -> String {
    let spec = json!({ "scorer": scorer, "slicer": "greedy", "placer": "u_shaped" });
    PolicySpec::from_json_str(&spec.to_string()).unwrap_err().to_string()
}

/// Problem of a policy with this slicer.
fn slicer_problem(slicer: &Value) -> String {
    let spec = json!({ "scorer": "recency", "slicer": slicer, "placer": "u_shaped" });
    PolicySpec::from_json_str(&spec.to_string()).unwrap_err().to_string()
}

#[test]
fn weights_of_a_composite_are_positive_and_add_up() {
    let list = |weights: &[f64]| {
        let entry = |weight: &f64| json!({ "type": "recency", "weight": weight });
        json!({ "scorers": weights.iter().map(entry).collect::<Vec<_>>(), "slicer": "greedy",
                "placer": "u_shaped" })
    };
    let problem = |weights: &[f64]| {
        PolicySpec::from_json_str(&list(weights).to_string()).unwrap_err().to_string()
    };
    assert_eq!(problem(&[1.0, -1.0]), "scorers[1].weight: must be positive, got -1");
    assert_eq!(problem(&[0.0]), "scorers[0].weight: must be positive, got 0");
    assert_eq!(problem(&[]), "scorers: must have at least one scorer, got none");
    assert_eq!(
        problem(&[f64::MAX, f64::MAX]),
        "scorers: the weights must add up to a finite number, got inf"
    );
    assert_eq!(
        scorer_problem(&json!({ "type": "scaled", "scorer": { "type": "composite",
            "scorers": [{ "type": "recency", "weight": -0.5 }] } })),
        "scorer.scorer.scorers[0].weight: must be positive, got -0.5"
    );
    // TOML and YAML have words for numbers that are none.
    let toml =
        "placer = 'u_shaped'\nslicer = 'greedy'\nscorers = [{ type = 'recency', weight = nan }]";
    assert_eq!(
        PolicySpec::from_toml_str(toml).unwrap_err().to_string(),
        "scorers[0].weight: must be a finite number, got NaN"
    );
    let yaml = "placer: u_shaped\nslicer: greedy\nscorers: [{ type: recency, weight: .inf }]";
    assert_eq!(
        PolicySpec::from_yaml_str(yaml).unwrap_err().to_string(),
        "scorers[0].weight: must be a finite number, got inf"
    );
}

#[test]
fn settings_of_scorers_have_their_ranges() {
    assert_eq!(
        scorer_problem(&json!({ "type": "kind", "weights": { "Document": -1 } })),
        "scorer.weights.Document: must be finite and at least 0, got -1"
    );
    assert_eq!(
        scorer_problem(&json!({ "type": "kind", "weights": { "Memory": 1, "memory": 2 } })),
        "scorer.weights.memory: the key is given twice, expected once (kinds ignore case)"
    );
    assert_eq!(
        scorer_problem(
            &json!({ "type": "tag", "weights": { "a": 1, "A": 1 }, "ignore_case": true })
        ),
        "scorer.weights.a: the tag is given twice, expected once (ignore_case)"
    );
    assert_eq!(
        scorer_problem(&json!({ "type": "metadata_trust", "default_score": 1.5 })),
        "scorer.default_score: must be between 0 and 1, got 1.5"
    );
    assert_eq!(
        scorer_problem(&json!({ "type": "metadata_key", "key": "k", "value": "v", "boost": 0 })),
        "scorer.boost: must be positive, got 0"
    );
    assert_eq!(
        scorer_problem(&json!({ "type": "custom", "name": " " })),
        "scorer.name: must not be empty or white space only, got \" \""
    );
}

#[test]
fn decay_needs_ages_above_zero_in_ascending_order() {
    let problem = |curve: Value| scorer_problem(&json!({ "type": "decay", "curve": curve }));
    assert_eq!(
        problem(json!({ "type": "exponential", "half_life_secs": 0 })),
        "scorer.curve.half_life_secs: the halfLife must be greater than 0, got 0"
    );
    assert_eq!(
        problem(json!({ "type": "window", "max_age_secs": -60 })),
        "scorer.curve.max_age_secs: must be a number of seconds of at least 0, got -60"
    );
    assert_eq!(
        problem(json!({ "type": "step", "windows": [] })),
        "scorer.curve.windows: must have at least one window, got none"
    );
    let windows =
        json!([{ "max_age_secs": 60, "score": 1 }, { "max_age_secs": 59.5, "score": 1.25 }]);
    assert_eq!(
        problem(json!({ "type": "step", "windows": windows })),
        "2 problems:\n  \
         scorer.curve.windows[1].max_age_secs: must be greater than 60, got 59.5\n  \
         scorer.curve.windows[1].score: must be between 0 and 1, got 1.25"
    );
    let undated = json!({ "type": "decay", "curve": { "type": "window", "max_age_secs": 1 },
                          "null_timestamp_score": -0.5 });
    assert_eq!(
        scorer_problem(&undated),
        "scorer.null_timestamp_score: must be between 0 and 1, got -0.5"
    );
}

#[test]
fn settings_of_slicers_have_their_ranges() {
    assert_eq!(
        slicer_problem(&json!({ "type": "knapsack", "bucket_size": 0 })),
        "slicer.bucket_size: must be at least 1, got 0"
    );
    let quotas = |quotas: Value| {
        slicer_problem(&json!({ "type": "quota", "quotas": quotas, "inner": "greedy" }))
    };
    assert_eq!(
        quotas(json!([{ "kind": "Memory", "cap": 101 }])),
        "slicer.quotas[0].cap: must be between 0 and 100 percent, got 101 (Memory)"
    );
    assert_eq!(
        quotas(json!([{ "kind": "Memory", "require": 30, "cap": 20 }])),
        "slicer.quotas[0].require: must be at most its cap of 20, got 30 (Memory)"
    );
    assert_eq!(
        quotas(json!([{ "kind": "Memory", "require": 60 }, { "kind": "Message", "require": 50 }])),
        "slicer.quotas: the required shares must not add up to more than 100, got 110"
    );
    assert_eq!(
        quotas(json!([{ "kind": "Memory" }, { "kind": "MEMORY" }])),
        "slicer.quotas[1].kind: MEMORY has an entry already, expected one (kinds ignore case)"
    );
    let entries = json!([{ "kind": "Memory", "require_count": 3, "cap_count": 2 }]);
    assert_eq!(
        slicer_problem(&json!({ "type": "count_constrained_knapsack", "entries": entries })),
        "slicer.entries[0].require_count: must be at most its cap_count of 2, got 3"
    );
    assert_eq!(
        slicer_problem(&json!({ "type": "count_quota", "entries": [], "inner": "knapsack" })),
        "slicer.inner: must not be a knapsack (KnapsackSlice); use greedy, or \
         count_constrained_knapsack instead of count_quota"
    );
    assert_eq!(
        slicer_problem(&json!({ "type": "quota", "quotas": [], "inner":
            { "type": "knapsack", "bucket_size": 2.5 } })),
        "slicer.inner.bucket_size: must be a whole number, got 2.5"
    );
}

#[test]
fn the_scorer_is_given_in_one_way() {
    let both = json!({ "scorer": "recency", "scorers": [{ "type": "recency", "weight": 1 }],
                       "slicer": "greedy", "placer": "u_shaped" });
    assert_eq!(
        PolicySpec::from_json_str(&both.to_string()).unwrap_err().to_string(),
        "scorer: give either scorers or scorer, got both"
    );
}

#[test]
fn a_key_given_twice_is_refused() {
    let twice = r#"{ "scorer": "recency", "slicer": { "type": "knapsack", "bucket_size": 1,
                     "bucket_size": 2 }, "placer": "u_shaped" }"#;
    assert_eq!(
        PolicySpec::from_json_str(twice).unwrap_err().to_string(),
        "slicer.bucket_size: the key is given twice, expected once"
    );
}

#[test]
fn a_spec_built_in_code_is_checked_before_it_becomes_a_policy() {
    let decay = |half_life| ScorerSpec::Decay {
        curve: DecayCurveSpec::Exponential { half_life },
        null_timestamp_score: f64::NAN,
    };
    let inner = ScorerSpec::Composite {
        scorers: vec![WeightedScorer::new(decay(Duration::ZERO), f64::INFINITY)],
    };
    let spec = PolicySpec::new(
        ScorerSpec::Scaled { scorer: inner.into() },
        SlicerSpec::Quota {
            quotas: Vec::new(),
            inner: SlicerSpec::Knapsack { bucket_size: -3, widen_buckets: false }.into(),
        },
        PlacerSpec::UShaped,
    );
    let problems = "4 problems:\n  \
        scorer.scorer.scorers[0].curve.half_life_secs: the halfLife must be greater than 0, got 0\n  \
        scorer.scorer.scorers[0].null_timestamp_score: must be between 0 and 1, got NaN\n  \
        scorer.scorer.scorers[0].weight: must be a finite number, got inf\n  \
        slicer.inner.bucket_size: must be at least 1, got -3";
    assert_eq!(spec.validate().unwrap_err().to_string(), problems);
    let registry = ScorerRegistry::new(SystemTimeProvider);
    assert_eq!(spec.to_policy(&registry).unwrap_err().to_string(), problems);
}

#[test]
fn a_plan_is_a_word_or_its_settings_and_there_is_none_unless_told() {
    let read = |plan: &str| PolicySpec::from_yaml_str(&format!("{PLAIN}{plan}"));
    let plan = |text: &str| read(text).unwrap().plan;
    assert_eq!(plan(""), None);
    assert_eq!(plan("plan: none"), None);
    assert_eq!(plan("plan: default"), Some(TurnPlan::new()));
    assert_eq!(plan("plan: { hash: true }"), Some(TurnPlan::new().hash(true)));
    let registry = ScorerRegistry::new(SystemTimeProvider);
    let built = read("plan: default").unwrap().to_policy(&registry).unwrap();
    assert_eq!(built.plan(), Policy::chat().plan());
    assert_eq!(
        read("plan: off").unwrap_err().to_string(),
        "plan: must be none, default, or a table with the settings of a plan, got \"off\""
    );
    let error = read("plan: { grid_tokens: 0, recal: 0.1 }").unwrap_err().to_string();
    assert!(error.contains("plan.recal: unknown key"), "{error}");
    assert!(error.contains("plan.grid_tokens: must be at least 1 token, got 0"), "{error}");
}

const PLAIN: &str = "scorer: recency\nslicer: greedy\nplacer: age\n";

#[test]
fn a_name_that_is_not_registered_is_named_with_those_that_are() {
    let spec = PolicySpec::new(
        ScorerSpec::Custom { name: "brevty".to_owned() },
        SlicerSpec::Greedy,
        PlacerSpec::UShaped,
    );
    assert_eq!(spec.validate(), Ok(()));
    assert_eq!(
        spec.to_policy(&crate::registry()).unwrap_err().to_string(),
        "scorer.name: no scorer is registered as \"brevty\", expected one of brevity, newest \
         first; did you mean brevity?"
    );
}

#[test]
fn names_are_registered_once_and_are_not_blank() {
    let error = crate::registry().register("brevity", cupel::scorer::RecencyScorer).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scorer configuration: ScorerRegistry: name: \"brevity\" is registered already, \
         expected a new one"
    );
    assert!(crate::registry().register(" ", cupel::scorer::RecencyScorer).is_err());
}

#[test]
fn a_value_is_judged_whatever_is_wrong_beside_it() {
    let spec = json!({
        "scorers": [
            { "type": "recency", "weight": -1 },
            { "type": "recency", "weight": "much" },
            { "type": "metadata_key", "weight": 1, "key": 5, "value": "v", "boost": -2 },
            { "type": "tag", "weight": 1, "weights": { "a": -3, "b": "heavy" } },
            {
                "type": "decay", "weight": 1, "null_timestamp_score": 4,
                "curve": {
                    "type": "step",
                    "windows": [{ "max_age_secs": 9, "score": 1 }, 7, { "max_age_secs": 5, "score": 6 }]
                }
            },
            { "type": "decay", "weight": 1, "null_timestamp_score": 8, "curve": "wave" }
        ],
        "slicer": {
            "type": "count_quota", "inner": "nothing",
            "entries": [{ "kind": 1, "require_count": 3, "cap_count": 2 }, { "kind": "Memory" },
                        { "kind": "memory", "cap_count": "many" }]
        },
        "placer": "u_shaped"
    });
    let error = PolicySpec::from_json_str(&spec.to_string()).unwrap_err();
    let mut paths: Vec<&str> = error.problems().iter().map(|problem| &*problem.path).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "scorers[0].weight",
            "scorers[1].weight",
            "scorers[2].boost",
            "scorers[2].key",
            "scorers[3].weights.a",
            "scorers[3].weights.b",
            "scorers[4].curve.windows[1]",
            "scorers[4].curve.windows[2].max_age_secs",
            "scorers[4].curve.windows[2].score",
            "scorers[4].null_timestamp_score",
            "scorers[5].curve",
            "scorers[5].null_timestamp_score",
            "slicer.entries[0].kind",
            "slicer.entries[0].require_count",
            "slicer.entries[2].cap_count",
            "slicer.entries[2].kind",
            "slicer.inner",
        ]
    );
}
