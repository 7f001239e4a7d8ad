//! Every place of a spec, spoiled in every way: the error names that place.

use cupel::PolicySpec;
use serde_json::{Value, json};

use crate::samples;

/// One step from a value to a value inside it.
#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

/// Spelling of a path in errors, written independently of the library.
fn spelled(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Index(index) => text += &format!("[{index}]"),
            Step::Key(key) if key.contains([' ', '.']) => text += &format!("[\"{key}\"]"),
            Step::Key(key) if text.is_empty() => text += key,
            Step::Key(key) => text += &format!(".{key}"),
        }
    }
    text
}

/// Every value inside `value`, by the steps that lead there; itself first.
fn places(value: &Value) -> Vec<Vec<Step>> {
    let inside: Vec<(Step, &Value)> = match value {
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (Step::Index(index), value)).collect()
        }
        _ => Vec::new(),
    };
    let mut all = vec![Vec::new()];
    for (step, value) in inside {
        for rest in places(value) {
            all.push([vec![step.clone()], rest].concat());
        }
    }
    all
}

fn at<'v>(value: &'v mut Value, steps: &[Step]) -> &'v mut Value {
    steps.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key],
        Step::Index(index) => &mut value[index],
    })
}

/// Returns true if any key may be in this table: the kinds and tags of `weights`.
fn has_free_keys(steps: &[Step]) -> bool {
    matches!(steps.last(), Some(Step::Key(key)) if key == "weights")
}

fn paths_of_problems(spec: &Value) -> Vec<String> {
    let error = match PolicySpec::from_json_str(&spec.to_string()) {
        Ok(spec) => panic!("expected an error, read {spec:?}"),
        Err(error) => error,
    };
    error.problems().iter().map(|problem| problem.path.clone()).collect()
}

#[test]
fn every_sample_is_valid_before_it_is_spoiled() {
    for sample in samples() {
        PolicySpec::from_json_str(&sample.to_string()).unwrap();
    }
}

#[test]
fn an_unknown_key_is_named_wherever_it_stands() {
    let mut tables = 0;
    for sample in samples() {
        for steps in places(&sample) {
            let mut spoiled = sample.clone();
            let Some(table) = at(&mut spoiled, &steps).as_object_mut() else { continue };
            if has_free_keys(&steps) {
                continue;
            }
            table.insert("surprise".to_owned(), json!(1));
            let expected = spelled(&[steps, vec![Step::Key("surprise".to_owned())]].concat());
            assert_eq!(paths_of_problems(&spoiled), [expected]);
            tables += 1;
        }
    }
    assert!(tables > 100, "only {tables} tables were spoiled");
}

#[test]
fn a_value_of_the_wrong_kind_is_named_wherever_it_stands() {
    for sample in samples() {
        for steps in places(&sample) {
            for wrong in [json!(null), json!([[]]), json!({ "a": { "b": [] } }), json!(true)] {
                let mut spoiled = sample.clone();
                let value = at(&mut spoiled, &steps);
                let fits = value.is_boolean() && wrong.is_boolean()
                    // A list of wrong things and a table of wrong things are wrong further in.
                    || value.is_array() && wrong.is_array()
                    || value.is_object() && wrong.is_object();
                if fits {
                    continue;
                }
                *value = wrong;
                assert_eq!(paths_of_problems(&spoiled), [spelled(&steps)]);
            }
        }
    }
}

#[test]
fn a_key_that_is_left_out_has_a_documented_default_or_is_named() {
    let optional = [
        "ignore_case",
        "null_timestamp_score",
        "bucket_size",
        "widen_buckets",
        "within_budget",
        "require",
        "cap",
        "require_count",
        "cap_count",
        "scarcity",
        "overflow",
        "deduplication",
        "language",
        "blend",
        "relevance",
    ];
    for sample in samples() {
        for steps in places(&sample) {
            let Some((Step::Key(key), table)) = steps.split_last() else { continue };
            let mut shortened = sample.clone();
            let entries = at(&mut shortened, table).as_object_mut().unwrap();
            let of_kind_scorer = key == "weights" && entries["type"] == "kind";
            entries.remove(key);
            let read = PolicySpec::from_json_str(&shortened.to_string());
            let with_question = spelled(table) == "relevance" && key != "type" && key != "name";
            if optional.contains(&key.as_str())
                || with_question
                || of_kind_scorer
                || has_free_keys(table)
            {
                assert!(read.is_ok(), "{}: {}", spelled(&steps), read.unwrap_err());
            } else if spelled(&steps) == "scorer" {
                assert_eq!(paths_of_problems(&shortened), ["scorers"]);
            } else {
                assert_eq!(paths_of_problems(&shortened), [spelled(&steps)]);
            }
        }
    }
}

#[test]
fn all_problems_are_listed_at_once() {
    let spec = json!({
        "scorers": [
            { "type": "recency", "weight": -1, "half_life": 3 },
            { "type": "recensy", "weight": "much" },
            "priority",
            { "type": "scaled", "weight": 1, "scorer": { "type": "tag", "weights": { "a": -2 } } }
        ],
        "slicer": { "type": "count_quota", "entries": [{ "kind": " ", "cap_count": -1 }] },
        "placer": "diagonal",
        "deduplicate": true
    });
    let error = PolicySpec::from_json_str(&spec.to_string()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\
11 problems:
  scorers[0].half_life: unknown key, expected one of weight, type
  scorers[1].weight: must be a number, got \"much\"
  scorers[1].type: got \"recensy\", expected one of recency, age, priority, frequency, reflexive, \
kind, tag, metadata_trust, metadata_key, decay, scaled, composite, custom; did you mean recency?
  scorers[2].weight: missing, expected a number
  slicer.entries[0].kind: must be a kind, which is a text that is not blank, got \" \"
  slicer.entries[0].cap_count: must be a whole number of at least 0, got -1
  slicer.inner: missing, expected a slicer
  placer: got \"diagonal\", expected one of age, chronological, u_shaped
  deduplicate: unknown key, expected one of scorers, scorer, slicer, placer, overflow, deduplication, \
plan, relevance, tools
  scorers[3].scorer.weights.a: must be finite and at least 0, got -2
  scorers[0].weight: must be positive, got -1"
    );
}
