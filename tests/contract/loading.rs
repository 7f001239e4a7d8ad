//! Contracts from good files: what is read, inherited, noted and resolved.

use std::process::Command;

use cupel::contract::{BudgetContract, ContractFolder, LimitsPolicy};

use super::folder::{CHAT, CONFIG, Folder};
use super::words;

#[test]
fn a_folder_becomes_a_contract() {
    assert_eq!(
        Folder::good().check().unwrap().to_string(),
        "router: 14 fixed + 0 + 6,000 + 64 + 128 = 6,206 <= 10,000, 3,794 to spare\n\
         answer: 20 fixed + 1,200 + 6,000 + 500 + 128 = 7,848 <= 10,000, 2,152 to spare",
    );
}

#[test]
fn a_violation_names_the_pipelines_file() {
    let folder = Folder::good()
        .with("config.json", r#"{"model_context_window": 7000, "model_max_tokens": 500}"#);
    let error = folder.check().unwrap_err().to_string();
    let file = folder.0.join("pipelines/chat.yaml");
    assert_eq!(
        error,
        format!(
            "{}: answer: 20 fixed + 1,200 + 6,000 + 500 + 128 = 7,848 > 7,000, over by 848",
            file.display()
        ),
    );
}

#[test]
fn steps_may_be_a_map_and_user_parts_may_be_short() {
    let folder = Folder::good().with(
        "pipelines/chat.yaml",
        "
settings: { max_context_tokens: 100 }
steps:
  map: { action: call_model, user_parts: { a: 'one {}', b: 'two three {}' } }
  list: { action: call_model, user_parts: ['one {}', { template: 'two three {}' }] }
",
    );
    let checked = folder.check().unwrap();
    let fixed: Vec<_> = checked.steps().iter().map(|step| step.parts().fixed_prompt).collect();
    assert_eq!(fixed, [7 + 3, 7 + 3]);
}

#[test]
fn a_prompt_key_is_a_files_name_with_or_without_its_extension() {
    let fixed = |key: &str| {
        let folder = Folder::good().with("prompts/deep/er.txt", "one two").with(
            "pipelines/chat.yaml",
            format!(
                "
settings: {{ max_context_tokens: 100 }}
steps: [{{ id: a, action: call_model, prompt_key: {key} }}]"
            ),
        );
        folder.check().unwrap().steps()[0].parts().fixed_prompt - 11
    };
    assert_eq!(["router", "router.txt", "answer", "deep/er"].map(fixed), [3, 3, 5, 2]);
}

#[test]
fn a_child_overrides_its_parents_key_by_key() {
    let folder = Folder::good()
        .with("pipelines/chat.yaml", "extends: middle\nsettings: { max_context_tokens: 10 }")
        .with(
            "pipelines/middle.yml",
            "
extends: base.yaml
settings: { max_context_tokens: 20, max_history_tokens: 20 }
steps:
  - { id: answer, max_output_tokens: 22 }
  - { id: extra, action: call_model, max_output_tokens: 23 }
",
        )
        .with(
            "pipelines/base.yaml",
            "
settings: { max_context_tokens: 30, max_history_tokens: 30, budget_safety_margin_tokens: 30 }
steps:
  - { id: answer, action: call_model, max_output_tokens: 33, use_history: true, prompt_key: answer }
  - { id: last, action: call_model, max_output_tokens: 33 }
",
        );
    assert_eq!(
        folder.check().unwrap().to_string(),
        "answer: 16 fixed + 20 + 10 + 22 + 30 = 98 <= 10,000, 9,902 to spare\n\
         last: 7 fixed + 0 + 10 + 33 + 30 = 80 <= 10,000, 9,920 to spare\n\
         extra: 7 fixed + 0 + 10 + 23 + 30 = 70 <= 10,000, 9,930 to spare",
    );
}

#[test]
fn a_value_without_content_takes_the_parents_away() {
    let folder = Folder::good()
        .with("pipelines/base.yaml", CHAT)
        .with("pipelines/chat.yaml", "extends: base\nsettings:\n  max_history_tokens:\n");
    let error = folder.failure();
    assert!(error.contains("settings.max_history_tokens is missing"), "{error}");
}

#[test]
fn a_wrong_value_is_reported_in_the_file_it_stands_in() {
    let folder = Folder::good()
        .with("pipelines/base.yaml", CHAT.replace("6000", "-6000"))
        .with("pipelines/chat.yaml", "extends: base");
    assert_eq!(
        folder.failure(),
        "pipelines/base.yaml: settings.max_context_tokens: got -6000, expected a whole number of at least 1",
    );
}

#[test]
fn keys_of_other_programs_are_noted() {
    let folder = Folder::good()
        .with(
            "config.json",
            r#"{"model_context_window": 10000, "model_max_tokens": 500, "host": 1}"#,
        )
        .with(
            "pipelines/chat.yaml",
            CHAT.replace("settings:", "version: 2\nsettings:\n  top_k: 5"),
        );
    let checked = folder.check().unwrap();
    let root = folder.0.display();
    assert_eq!(
        checked.notes(),
        [
            format!("{root}/config.json: host is not part of the contract"),
            format!("{root}/pipelines/chat.yaml: version is not part of the contract"),
            format!("{root}/pipelines/chat.yaml: settings.top_k is not part of the contract"),
        ],
    );
    assert!(checked.to_string().contains("\nnote: "), "{checked}");
}

#[test]
fn a_pipeline_that_never_calls_the_model_is_noted() {
    let pipeline = "settings: { max_context_tokens: 5 }\nsteps: [{ id: a, action: search }]";
    let folder = Folder::good().with("pipelines/chat.yaml", pipeline);
    let checked = folder.check().unwrap();
    assert!(checked.steps().is_empty());
    assert!(checked.notes()[0].ends_with("no step has the action call_model"), "{checked}");
}

#[test]
fn pipelines_that_are_there_to_be_extended_are_not_checked_by_themselves() {
    let folder = Folder::good()
        .with("pipelines/_shared.yaml", "steps: [{ id: a, action: call_model }]")
        .with("pipelines/base.yaml", "settings: { max_context_tokens: 5 }")
        .with("pipelines/forgotten.yaml", "settings: { max_context_tokens: 5 }")
        .with("pipelines/child.yml", "extends: base\nsteps: [{ id: a, action: call_model }]")
        .with("pipelines/readme.txt", "not a pipeline");
    // Nobody extends the forgotten one: an empty pipeline must be seen.
    assert_eq!(folder.open().pipelines().unwrap(), ["chat", "child", "forgotten"]);
}

#[test]
fn a_mark_of_the_editor_before_the_text_does_no_harm() {
    let folder = Folder::good()
        .with("config.json", format!("\u{FEFF}{CONFIG}"))
        .with("pipelines/chat.yaml", format!("\u{FEFF}{}", CHAT.trim_start()));
    assert!(folder.check().is_ok());
}

#[test]
fn the_folders_of_the_example_are_as_good_and_as_bad_as_they_say() {
    let folder = |name: &str| {
        let root = format!("{}/examples/contract/{name}", env!("CARGO_MANIFEST_DIR"));
        ContractFolder::open(root).unwrap()
    };
    let check = |folder: &ContractFolder, name: &str| folder.load(name)?.check(&words());
    let good = folder("good");
    assert_eq!(good.pipelines().unwrap(), ["chat", "digest"]);
    for name in good.pipelines().unwrap() {
        let checked = check(&good, &name).unwrap();
        assert_eq!((checked.clamps().len(), checked.notes().len()), (0, 0), "{checked}");
    }
    let bad = folder("bad");
    let problems = |name: &str| check(&bad, name).unwrap_err().problems().len();
    assert_eq!(["chat", "digest", "knot", "loop"].map(problems), [2, 5, 1, 1]);
}

#[test]
fn the_config_may_name_the_model() {
    let named = r#"{"model_context_window": 7000, "model": "gpt-4o"}"#;
    let contract = Folder::good().with("config.json", named).open().load("chat").unwrap();
    assert_eq!(contract.model_name(), Some("gpt-4o"));
    assert_eq!(Folder::good().open().load("chat").unwrap().model_name(), None);
}

#[test]
fn the_config_may_allow_clamping() {
    let folder = Folder::good().with(
        "config.json",
        r#"{"model_context_window": 7000, "model_max_tokens": 500, "allow_auto_clamp": true}"#,
    );
    let checked = folder.check().unwrap();
    assert_eq!((checked.policy(), checked.clamps().len()), (LimitsPolicy::AutoClamp, 1));
    // In memory only.
    assert_eq!(std::fs::read_to_string(folder.0.join("pipelines/chat.yaml")).unwrap(), CHAT);
    // An explicit policy comes first.
    assert!(
        folder.open().policy(LimitsPolicy::FailFast).load("chat").unwrap().check(&words()).is_err()
    );
}

/// Runs in a process of its own, whose environment a test may set.
#[test]
fn child_that_prints_the_policy() {
    let Ok(root) = std::env::var("CUPEL_TEST_FOLDER") else { return };
    let check = |contract: BudgetContract| contract.check(&words());
    match ContractFolder::open(root).and_then(|folder| folder.load("chat")).and_then(check) {
        Ok(checked) => println!("policy is {}.", checked.policy()),
        Err(error) => println!("error is {error}."),
    }
}

#[test]
fn the_environment_may_choose_the_policy() {
    let allowed =
        r#"{"model_context_window": 7000, "model_max_tokens": 500, "allow_auto_clamp": true}"#;
    let silent = r#"{"model_context_window": 7000, "model_max_tokens": 500}"#;
    let run = |config: &str, word: Option<&str>| {
        let folder = Folder::good().with("config.json", config);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "loading::child_that_prints_the_policy", "--nocapture"]);
        command.env("CUPEL_TEST_FOLDER", &folder.0).env_remove("PIPELINE_LIMITS_POLICY");
        if let Some(word) = word {
            command.env("PIPELINE_LIMITS_POLICY", word);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(run(silent, None).contains("over by 848."));
    assert!(run(silent, Some("auto_clamp")).contains("policy is auto_clamp."));
    assert!(run(allowed, None).contains("policy is auto_clamp."));
    // The environment has the last word, so that production can be made strict.
    assert!(run(allowed, Some("fail_fast")).contains("over by 848."));
    for word in ["clamp", "", "AUTO_CLAMP"] {
        let expected = format!(
            "error is PIPELINE_LIMITS_POLICY: got {word:?}, expected \"fail_fast\" or \"auto_clamp\"."
        );
        let output = run(silent, Some(word));
        assert!(output.contains(&expected), "{output}");
    }
}
