//! Files that are wrong in every way anybody thought of: each a message with file and key.

use cupel::contract::{ContractFolder, ContractProblem};

use super::folder::{CHAT, CONFIG, Folder};
use super::words;

/// A good folder with another `config.json`.
fn config(text: impl AsRef<[u8]>) -> String {
    Folder::good().with("config.json", text).failure()
}

/// A good folder with another pipeline.
fn pipeline(text: impl AsRef<[u8]>) -> String {
    Folder::good().with("pipelines/chat.yaml", text).failure()
}

/// A good folder with something replaced in the pipeline.
fn replaced(from: &str, to: &str) -> String {
    assert!(CHAT.contains(from), "{from}");
    pipeline(CHAT.replace(from, to))
}

#[test]
fn a_config_that_is_not_json() {
    assert_eq!(
        config("{\"model_context_window\": 10000,\n}"),
        "config.json: is not JSON: trailing comma at line 2 column 1",
    );
    assert!(config("").starts_with("config.json: is not JSON: EOF"));
    assert!(config(format!("{CONFIG} {CONFIG}")).starts_with("config.json: is not JSON: trailing"));
    assert_eq!(
        config("[]"),
        "config.json: holds a list, expected a table with model_context_window",
    );
}

#[test]
fn a_key_that_is_there_twice() {
    assert_eq!(
        config(format!("{}, \"model_max_tokens\": 700}}", CONFIG.trim_end_matches('}'))),
        "config.json: model_max_tokens: got the key twice, expected it once",
    );
    assert_eq!(
        replaced(
            "  max_history_tokens: 1200",
            "  max_history_tokens: 1200\n  max_history_tokens: 1"
        ),
        "pipelines/chat.yaml: settings.max_history_tokens: got the key twice, expected it once",
    );
    let twice = "evidence: again\n      evidence: { source";
    assert_eq!(
        replaced("evidence: { source", twice),
        "pipelines/chat.yaml: steps.answer.user_parts.evidence: got the key twice, expected it once",
    );
}

#[test]
fn a_pipeline_that_is_not_yaml() {
    let error = pipeline("settings: [1, 2\nsteps: {");
    assert!(error.starts_with("pipelines/chat.yaml: is not YAML: "), "{error}");
    assert!(error.contains("line 2"), "{error}");
    assert_eq!(
        pipeline("- a\n- b"),
        "pipelines/chat.yaml: holds a list, expected a table with settings and steps",
    );
}

#[test]
fn a_pipeline_that_would_grow_without_end() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let before = n - 1;
        let copies = vec![format!("*a{before}"); 9].join(", ");
        bomb += &format!("a{n}: &a{n} [{copies}]\n");
    }
    let error = pipeline(bomb);
    assert!(error.starts_with("pipelines/chat.yaml: is not YAML: "), "{error}");
    let error = pipeline("[".repeat(100_000));
    assert!(error.starts_with("pipelines/chat.yaml: is not YAML: "), "{error}");
}

#[test]
fn values_of_the_wrong_type() {
    assert_eq!(
        config(
            r#"{"model_context_window": "10000", "model_max_tokens": [], "allow_auto_clamp": 1}"#
        ),
        "3 problems:\n  \
         config.json: model_context_window: got \"10000\", expected a whole number of tokens\n  \
         config.json: model_max_tokens: got a list, expected a whole number of tokens\n  \
         config.json: allow_auto_clamp: got 1, expected true or false",
    );
    assert_eq!(
        pipeline("settings: 5\nsteps: { a: call_model }\nextends: [a, b]"),
        "pipelines/chat.yaml: extends: got a list, expected the name of one pipeline in the same \
         folder",
    );
    assert_eq!(
        pipeline("settings: 5\nsteps: many"),
        "3 problems:\n  \
         pipelines/chat.yaml: settings: got 5, expected a table\n  \
         pipelines/chat.yaml: steps: got \"many\", expected a list of steps\n  \
         pipelines/chat.yaml: settings.max_context_tokens is missing, expected a whole number of at least 1",
    );
    assert_eq!(
        pipeline(
            "
settings: { max_context_tokens: { a: 1 } }
steps:
  - { id: a, action: 5 }
  - { id: b, action: call_model, use_history: 'yes', prompt_key: 7, user_parts: x }
  - { id: c, action: call_model, user_parts: { p: 1, q: { template: 2 }, r: { source: x } } }
"
        ),
        "8 problems:\n  \
         pipelines/chat.yaml: settings.max_context_tokens: got a table, expected a whole number of tokens\n  \
         pipelines/chat.yaml: steps.a.action: got 5, expected a text\n  \
         pipelines/chat.yaml: steps.b.use_history: got \"yes\", expected true or false\n  \
         pipelines/chat.yaml: steps.b.prompt_key: got 7, expected a text\n  \
         pipelines/chat.yaml: steps.b.user_parts: got \"x\", expected a table of parts with templates\n  \
         pipelines/chat.yaml: steps.c.user_parts.p: got 1, expected a template, or a table with one\n  \
         pipelines/chat.yaml: steps.c.user_parts.q.template: got 2, expected a text\n  \
         pipelines/chat.yaml: steps.c.user_parts.r.template is missing, expected a text with {} for the value",
    );
}

#[test]
fn negative_numbers() {
    assert_eq!(
        replaced("max_history_tokens: 1200", "max_history_tokens: -1"),
        "pipelines/chat.yaml: settings.max_history_tokens: got -1, expected a whole number of at least 0",
    );
    assert_eq!(
        config(r#"{"model_context_window": -10000, "model_max_tokens": 500}"#),
        "config.json: model_context_window: got -10000, expected a whole number of at least 1",
    );
}

#[test]
fn fractional_numbers() {
    for (text, value) in
        [("6000.5", "6000.5"), ("6000.0", "6000.0"), ("6e3", "6000.0"), (".nan", "NaN")]
    {
        assert_eq!(
            replaced("6000", text),
            format!(
                "pipelines/chat.yaml: settings.max_context_tokens: got {value}, expected a whole \
                 number of tokens"
            ),
        );
    }
    assert_eq!(
        config(r#"{"model_context_window": 10000.0, "model_max_tokens": 1e3}"#),
        "2 problems:\n  \
         config.json: model_context_window: got 10000.0, expected a whole number of tokens\n  \
         config.json: model_max_tokens: got 1000.0, expected a whole number of tokens",
    );
}

#[test]
fn huge_numbers() {
    assert_eq!(
        replaced("6000", "1000000000001"),
        "pipelines/chat.yaml: settings.max_context_tokens: got 1000000000001, expected a whole number of at most 1,000,000,000,000",
    );
    for digits in [19, 25, 45, 400] {
        let error = replaced("6000", &"9".repeat(digits));
        assert!(
            error.starts_with("pipelines/chat.yaml: settings.max_context_tokens: got "),
            "{error}"
        );
        let number = format!(r#"{{"model_context_window": {}}}"#, "9".repeat(digits));
        let error = config(number);
        assert!(
            error.contains("config.json: model_context_window: got ")
                || error.contains("number out of range"),
            "{error}"
        );
    }
}

#[test]
fn empty_pipelines() {
    for empty in ["", "# nothing\n", "~", "---\n"] {
        assert_eq!(pipeline(empty), "pipelines/chat.yaml: is empty, expected settings and steps",);
    }
    for steps in ["steps: []", "steps: {}", "steps:", ""] {
        assert_eq!(
            pipeline(format!("settings: {{ max_context_tokens: 5 }}\n{steps}")),
            "pipelines/chat.yaml: steps is missing, expected at least one step, with an id and an \
             action such as call_model",
        );
    }
}

#[test]
fn steps_without_name_or_action() {
    assert_eq!(
        pipeline(
            "settings: { max_context_tokens: 5 }\nsteps: [{ action: call_model }, 7, { id: '' }, { id: a, action: x }, { id: a, action: y }]"
        ),
        "4 problems:\n  \
         pipelines/chat.yaml: steps[0].id is missing, expected the step's name\n  \
         pipelines/chat.yaml: steps[1]: got 7, expected a table with id and action\n  \
         pipelines/chat.yaml: steps[2].id: got \"\", expected the step's name\n  \
         pipelines/chat.yaml: steps: got a step named \"a\" twice, expected a name of its own for each step",
    );
    assert_eq!(
        pipeline(
            "settings: { max_context_tokens: 5 }\nsteps: [{ id: a }, { id: b, action: call-modle }]"
        ),
        "2 problems:\n  \
         pipelines/chat.yaml: steps.a.action is missing, expected what the step does, such as call_model\n  \
         pipelines/chat.yaml: steps.b.action: got \"call-modle\", expected another action, or \"call_model\"",
    );
}

#[test]
fn unknown_steps() {
    let checked = Folder::good().check().unwrap();
    let error = checked.step("search").unwrap_err();
    assert_eq!(error.to_string(), "no step is named \"search\"; there are router, answer");
}

#[test]
fn missing_prompt_files() {
    let folder = Folder::good();
    folder.remove("prompts/answer.md");
    folder.remove("prompts/router.txt");
    assert_eq!(
        folder.failure(),
        "2 problems:\n  \
         pipelines/chat.yaml: steps.router.prompt_key: got \"router\", expected a prompt file; \
         there is no prompts/router.txt and no prompts/router.md\n  \
         pipelines/chat.yaml: steps.answer.prompt_key: got \"answer\", expected a prompt file; \
         there is no prompts/answer.txt and no prompts/answer.md",
    );
}

#[test]
fn names_that_lead_out_of_the_folder() {
    for name in ["../config.json", "/etc/hostname", "a/../../b", ".."] {
        assert_eq!(
            replaced("prompt_key: router", &format!("prompt_key: {name}")),
            format!(
                "pipelines/chat.yaml: steps.router.prompt_key: got {name:?}, expected the name of \
                 a file below prompts"
            ),
        );
        let error = replaced("settings:", &format!("extends: {name}\nsettings:"));
        assert!(
            error.starts_with(&format!("pipelines/chat.yaml: extends: got {name:?}")),
            "{error}"
        );
        let error = Folder::good().open().load(name).unwrap_err().to_string();
        assert!(error.contains("there is no such pipeline"), "{error}");
    }
}

#[test]
fn files_that_are_not_utf_8() {
    let bytes = b"{\"a\": \"\xFF\"}";
    assert_eq!(config(bytes), "config.json: is not UTF-8: byte 7 is not valid");
    assert_eq!(pipeline(b"\xC3\x28"), "pipelines/chat.yaml: is not UTF-8: byte 0 is not valid");
    assert_eq!(
        Folder::good().with("prompts/answer.md", b"ok \xFE").failure(),
        "prompts/answer.md: is not UTF-8: byte 3 is not valid",
    );
}

#[test]
fn extends_that_go_in_a_circle() {
    assert_eq!(
        pipeline("extends: chat"),
        "pipelines/chat.yaml: extends goes in a circle: pipelines/chat.yaml -> pipelines/chat.yaml",
    );
    let folder = Folder::good()
        .with("pipelines/chat.yaml", "extends: b")
        .with("pipelines/b.yaml", "extends: c.yml")
        .with("pipelines/c.yml", "extends: b.yaml");
    assert_eq!(
        folder.failure(),
        "pipelines/chat.yaml: extends goes in a circle: pipelines/chat.yaml -> pipelines/b.yaml \
         -> pipelines/c.yml -> pipelines/b.yaml",
    );
}

#[test]
fn a_parent_that_is_not_there() {
    let folder = Folder::good()
        .with("pipelines/chat.yaml", "extends: b")
        .with("pipelines/b.yaml", "extends: nobody");
    assert_eq!(
        folder.failure(),
        "pipelines/b.yaml: extends: got \"nobody\", expected the name of a pipeline; there is no \
         pipelines/nobody.yaml",
    );
}

#[test]
fn keys_with_a_slip_or_in_the_wrong_place() {
    let text = CHAT
        .replace("max_history_tokens", "max_histroy_tokens")
        .replace("max_output_tokens: 64", "Max-Output-Token: 64\n    max_context_tokens: 3")
        .replace("use_history: true", "use_historie: true")
        .replace("source: user_query, template", "source: user_query, templete");
    assert_eq!(
        pipeline(text),
        "6 problems:\n  \
         pipelines/chat.yaml: settings.max_histroy_tokens is not read here; did you mean max_history_tokens?\n  \
         pipelines/chat.yaml: steps.router.Max-Output-Token is not read here; did you mean max_output_tokens?\n  \
         pipelines/chat.yaml: steps.router.max_context_tokens is not read here; did you mean max_context_tokens in settings?\n  \
         pipelines/chat.yaml: steps.answer.use_historie is not read here; did you mean use_history?\n  \
         pipelines/chat.yaml: steps.answer.user_parts.question.template is missing, expected a text with {} for the value\n  \
         pipelines/chat.yaml: steps.answer.user_parts.question.templete is not read here; did you mean template?",
    );
    let error = config(r#"{"model_contex_window": 1, "max_output_tokens": 2}"#);
    assert!(
        error.contains(
            "config.json: model_contex_window is not read here; did you mean model_context_window?"
        ),
        "{error}"
    );
    assert!(error.contains("config.json: max_output_tokens is not read here; did you mean max_output_tokens in a call_model step?"), "{error}");
}

#[test]
fn a_slip_in_a_file_does_not_hide_a_step_that_does_not_fit() {
    let folder = Folder::good()
        .with("pipelines/chat.yaml", CHAT.replace("6000", "60000").replace("top_k", "topk"))
        .with("prompts/router.txt", b"\xFF");
    let error = folder.open().load("chat").unwrap().check(&words()).unwrap_err().to_string();
    assert!(error.contains("prompts/router.txt: is not UTF-8"), "{error}");
    assert!(error.contains("answer: 20 fixed + 1,200 + 60,000 + 500 + 128 = 61,848"), "{error}");
}

#[test]
fn files_that_are_missing_or_folders() {
    let folder = Folder::good();
    folder.remove("config.json");
    folder.remove("pipelines/chat.yaml");
    assert_eq!(
        folder.failure(),
        "2 problems:\n  \
         config.json: there is no such file, expected one with model_context_window\n  \
         pipelines/chat: there is no such pipeline, as .yaml or as .yml",
    );
    std::fs::create_dir(folder.0.join("pipelines/chat.yaml")).unwrap();
    assert!(folder.failure().contains("pipelines/chat: there is no such pipeline"));
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read() {
    // A link to itself: unlike permissions, it stops an administrator too.
    let folder = Folder::good();
    folder.remove("prompts/answer.md");
    std::os::unix::fs::symlink("answer.md", folder.0.join("prompts/answer.md")).unwrap();
    let error = folder.failure();
    assert!(error.starts_with("prompts/answer.md: cannot be read: "), "{error}");
}

#[test]
fn a_folder_without_pipelines() {
    let folder = Folder::empty();
    let error = folder.open().pipelines().unwrap_err();
    assert!(matches!(error.problems(), [ContractProblem::File { .. }]), "{error}");
    std::fs::create_dir(folder.0.join("pipelines")).unwrap();
    let error = folder.open().pipelines().unwrap_err().to_string();
    assert!(error.ends_with("pipelines: there is no pipeline, expected a file *.yaml"), "{error}");
    assert!(ContractFolder::open("no/such/folder").unwrap().pipelines().is_err());
}

#[test]
fn missing_limits_are_reported_in_the_file_they_belong_to() {
    let folder = Folder::good()
        .with("config.json", "{}")
        .with("pipelines/chat.yaml", "steps: [{ id: a, action: call_model, use_history: true }]");
    assert_eq!(
        folder.failure(),
        "4 problems:\n  \
         config.json: model_context_window is missing, expected a whole number of at least 1\n  \
         pipelines/chat.yaml: settings.max_context_tokens is missing, expected a whole number of at least 1\n  \
         pipelines/chat.yaml: settings.max_history_tokens is missing, expected a whole number of at least 0, because use_history is true in a\n  \
         pipelines/chat.yaml: steps.a.max_output_tokens is missing, expected a whole number of at least 1, here, as max_tokens, or as model_max_tokens for all steps",
    );
}
