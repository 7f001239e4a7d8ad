//! Files and the three formats.

use std::fs;
use std::path::PathBuf;

use cupel::PolicySpec;
use cupel::policy::spec::PolicySpecError;
use serde_json::json;

use crate::samples;

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("cupel-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_three_formats_read_the_same() {
    for sample in samples() {
        let spec = PolicySpec::from_json_str(&sample.to_string()).unwrap();
        let toml = toml::to_string(&sample).unwrap();
        assert_eq!(PolicySpec::from_toml_str(&toml).unwrap(), spec);
        let yaml = yaml_serde::to_string(&sample).unwrap();
        assert_eq!(PolicySpec::from_yaml_str(&yaml).unwrap(), spec);
    }
}

#[test]
fn the_three_formats_complain_the_same() {
    let spoiled = json!({
        "scorers": [{ "type": "tag", "weight": 1.5, "weights": { "a": "heavy" }, "case": true }],
        "slicer": { "type": "knapsack", "bucket_size": -1 },
        "placer": []
    });
    let errors = [
        PolicySpec::from_json_str(&spoiled.to_string()).unwrap_err(),
        PolicySpec::from_toml_str(&toml::to_string(&spoiled).unwrap()).unwrap_err(),
        PolicySpec::from_yaml_str(&yaml_serde::to_string(&spoiled).unwrap()).unwrap_err(),
    ];
    assert_eq!(errors[0].problems().len(), 4);
    assert_eq!(errors[0], errors[1]);
    assert_eq!(errors[0], errors[2]);
}

#[test]
fn a_file_is_read_by_its_extension() {
    let folder = Folder::new("extensions");
    for sample in samples() {
        let spec = PolicySpec::from_json_str(&sample.to_string()).unwrap();
        for (name, text) in [
            ("policy.json", spec.to_json_string()),
            ("policy.toml", spec.to_toml_string()),
            ("policy.yaml", spec.to_yaml_string()),
            ("policy.YML", spec.to_yaml_string()),
        ] {
            let file = folder.file(name, &text.unwrap());
            assert_eq!(PolicySpec::from_file(&file).unwrap(), spec, "{name}");
        }
    }
}

#[test]
fn an_error_names_the_file_and_what_is_wrong_with_it() {
    let folder = Folder::new("errors");
    let message = |file: &PathBuf| {
        let text = PolicySpec::from_file(file).unwrap_err().to_string();
        let rest = text.strip_prefix(&format!("{}: ", file.display()));
        rest.unwrap_or_else(|| panic!("{text} does not begin with the file")).to_owned()
    };

    let file = folder.file("policy.yaml", "scorer: recency\nslicer: gready\nplacer: u_shaped\n");
    assert_eq!(
        message(&file),
        "slicer: got \"gready\", expected one of greedy, best_first, knapsack, fill, quota, count_quota, \
         count_constrained_knapsack; did you mean greedy?"
    );
    let error = PolicySpec::from_file(&file).unwrap_err();
    assert!(matches!(&error, PolicySpecError::File { file: named, .. } if *named == file));
    assert_eq!(error.problems()[0].path, "slicer");

    let file = folder.file("policy.ini", "");
    assert_eq!(message(&file), "unknown extension \"ini\", expected json, toml, yaml or yml");
    let file = folder.file("policy", "");
    assert_eq!(message(&file), "no extension, expected json, toml, yaml or yml");
    let file = folder.file("empty.yaml", "");
    assert_eq!(message(&file), "must be a table, got nothing");
    assert!(message(&folder.0.join("gone.toml")).starts_with("cannot be read: "));

    for (name, format) in [("a.json", "JSON"), ("a.toml", "TOML"), ("a.yaml", "YAML")] {
        let message = message(&folder.file(name, "scorers: [\n\n"));
        assert!(message.starts_with(&format!("not valid {format}: ")), "{message}");
        assert!(message.contains("line"), "{message} does not say where");
    }
}

#[test]
fn words_of_a_file_may_be_in_any_case_but_types_may_not() {
    let yaml = |overflow: &str, slicer: &str| {
        PolicySpec::from_yaml_str(&format!(
            "scorer: recency\nslicer: {slicer}\nplacer: u_shaped\noverflow: {overflow}\n"
        ))
    };
    assert_eq!(yaml("Truncate", "greedy"), yaml("truncate", "greedy"));
    assert!(yaml("truncate", "Greedy").is_err());
    assert_eq!(
        yaml("explode", "greedy").unwrap_err().to_string(),
        "overflow: must be throw, truncate or proceed, got \"explode\""
    );
}
