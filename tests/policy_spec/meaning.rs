//! Models that judge by meaning in policy files: what is read, and every mistake.

use cupel::PolicySpec;
use cupel::policy::spec::{MeaningModel, MeaningSpec, ScorerRegistry};
use cupel::relevance::{Candidate, Hint, Question, judge_fn};
use cupel::scorer::SystemTimeProvider;
use cupel::{ContextBudget, ContextItem, Policy};
use serde_json::{Value, json};

fn spec(relevance: &Value) -> String {
    json!({"scorer": "reflexive", "slicer": "best_first", "placer": "age", "overflow": "truncate",
           "relevance": relevance})
    .to_string()
}

/// Opens every model2vec model as one that knows automobiles, and no folder named `none`.
fn registry() -> ScorerRegistry {
    ScorerRegistry::new(SystemTimeProvider).models(|spec| {
        let MeaningSpec::Model2Vec { path } = spec else { return None };
        if path == "none" {
            return Some(Err("path: there is no folder \"none\"".to_owned()));
        }
        let knows = |_: &Question, candidate: &Candidate<'_>| {
            Hint::new(f64::from(u8::from(candidate.text.contains("automobile"))))
        };
        Some(Ok(MeaningModel::judge(judge_fn("topics", knows))))
    })
}

fn problems(relevance: &Value) -> Vec<String> {
    let error = match PolicySpec::from_json_str(&spec(relevance)) {
        Ok(spec) => spec.to_policy(&registry()).unwrap_err(),
        Err(error) => error,
    };
    error.problems().iter().map(|it| format!("{}: {}", it.path, it.message)).collect()
}

#[test]
fn a_blend_with_a_model_selects_by_both() {
    let blend = json!({"type": "blend", "words": {"type": "lexical"}, "weight": 0.5,
                       "meaning": {"type": "model2vec", "path": "models/potion"}});
    let policy = PolicySpec::from_json_str(&spec(&blend)).unwrap().to_policy(&registry()).unwrap();
    let items = ["An automobile for hire.", "Nice weather.", "Thank you!"]
        .map(|text| ContextItem::new(text, 8).unwrap());
    let budget = ContextBudget::builder(8).build().unwrap();
    let question = Question::new("Where can I rent a car?");
    let report = policy.dry_run_for(&question, &items, &budget).unwrap();
    assert_eq!(report.included[0].item.content(), "An automobile for hire.");
}

#[test]
fn a_blend_comes_back_as_it_was_written() {
    let embeddings = json!({
        "type": "embeddings", "url": "https://llm.example.org/v1", "model": "e5", "key": {"env": "KEY"},
        "deadline_seconds": 0.3, "dimensions": 256, "question_prefix": "query: ",
        "passage_prefix": "passage: ", "range": [0.75, 0.95], "batch": 16
    });
    let models = [json!({"type": "model2vec", "path": "models/potion"}), embeddings];
    let registry = registry().models(|spec| match spec {
        MeaningSpec::Embeddings(_) => {
            Some(Ok(MeaningModel::judge(judge_fn("none", |_, _| Hint::new(0.0)))))
        }
        _ => None,
    });
    for model in models {
        let blend = json!({"type": "blend", "words": {"type": "lexical", "language": "german"},
                           "weight": 0.4, "meaning": model, "blend": 0.0});
        let read = PolicySpec::from_json_str(&spec(&blend)).unwrap();
        let written: Value = serde_json::from_str(&read.to_json_string().unwrap()).unwrap();
        assert_eq!(written["relevance"], blend);
        let policy = read.to_policy(&registry).unwrap();
        assert_eq!(PolicySpec::from_policy(&policy, &registry).unwrap(), read);
    }
}

#[test]
fn what_is_left_out_has_defaults() {
    let short = json!({"type": "blend",
        "meaning": {"type": "embeddings", "url": "http://127.0.0.1:8080/v1", "model": "minilm"}});
    let read = PolicySpec::from_json_str(&spec(&short)).unwrap();
    let written: Value = serde_json::from_str(&read.to_json_string().unwrap()).unwrap();
    let expected = json!({"type": "blend", "words": {"type": "lexical", "language": "english"},
        "weight": 0.5, "blend": 0.0,
        "meaning": {"type": "embeddings", "url": "http://127.0.0.1:8080/v1", "model": "minilm",
                    "deadline_seconds": 0.5, "range": [0.15, 0.6], "batch": 32}});
    assert_eq!(written["relevance"], expected);
}

#[test]
fn every_mistake_is_listed() {
    let wrong = json!({"type": "blend", "weight": 2, "words": {"type": "blend",
            "meaning": {"type": "model2vec", "path": "m"}},
        "meaning": {"type": "embeddings", "url": "ftp://user:secret@host", "model": " ",
            "key": {"env": "sk-secret"}, "deadline_seconds": 0, "dimensions": 0, "range": [0.9, 0.2],
            "batch": 0}});
    let listed = problems(&wrong);
    let expected = [
        "relevance.words: is a blend, expected a judge of words, such as lexical",
        "relevance.meaning.url: is no address, expected http:// or https:// and a host, without a user; \
         a key goes into `key`",
        "relevance.meaning.model: is blank, expected the name of a model",
        "relevance.meaning.deadline_seconds: must be more than 0, got 0",
        "relevance.meaning.dimensions: must be at least 1, got 0",
        "relevance.meaning.batch: must be at least 1, got 0",
        "relevance.meaning.range: is [0.9, 0.2], expected two cosines from -1 to 1, the smaller one first",
        "relevance.meaning.key.env: expected the name of a variable, such as OPENAI_API_KEY",
        "relevance.weight: must be from 0 to 1, got 2",
    ];
    assert_eq!(listed, expected);
    assert!(!listed.concat().contains("secret"));
}

#[test]
fn unknown_keys_and_models_are_named() {
    let cases = [
        (json!({"type": "blend"}), "relevance.meaning: missing, expected a model"),
        (
            json!({"type": "blend", "meaning": {"type": "model2vek", "path": "m"}}),
            "relevance.meaning.type: got \"model2vek\", expected one of model2vec, embeddings; \
             did you mean model2vec?",
        ),
        (
            json!({"type": "blend", "meaning": {"type": "model2vec", "path": " "}}),
            "relevance.meaning.path: is blank, expected the folder of a model",
        ),
        (
            json!({"type": "blend", "meaning": {"type": "model2vec", "path": "none"}}),
            "relevance.meaning: path: there is no folder \"none\"",
        ),
        (
            json!({"type": "blend",
                   "meaning": {"type": "embeddings", "url": "http://h/v1", "model": "m", "urls": 1}}),
            "relevance.meaning.urls: unknown key, expected one of type, url, model, key, \
             deadline_seconds, dimensions, question_prefix, passage_prefix, range, batch",
        ),
        (
            json!({"type": "blend", "meaning": {"type": "embeddings", "url": "http://h/v1", "model": "m"}}),
            "relevance.meaning: nothing opens models of type \"embeddings\"; call \
             cupel_async_openai::register",
        ),
    ];
    for (relevance, expected) in cases {
        assert_eq!(problems(&relevance), [expected]);
    }
}

#[test]
fn another_judge_takes_the_place_of_a_blend() {
    let blend = json!({"type": "blend", "meaning": {"type": "model2vec", "path": "m"}});
    let policy = PolicySpec::from_json_str(&spec(&blend)).unwrap().to_policy(&registry()).unwrap();
    let lexical = policy.relevance().unwrap().clone().with_judge(cupel::relevance::Lexical::new());
    let policy: Policy = policy.with_relevance(lexical);
    let written = PolicySpec::from_policy(&policy, &registry()).unwrap().to_json_string().unwrap();
    assert!(written.contains("lexical") && !written.contains("blend\","), "{written}");
}
