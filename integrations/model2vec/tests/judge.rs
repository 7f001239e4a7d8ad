//! Verdicts of a judge over static embeddings, with a model that the tests write.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "judge/bad_files.rs"]
mod bad_files;
#[path = "judge/support.rs"]
mod support;

use cupel::placer::AgePlacer;
use cupel::policy::Relevance;
use cupel::relevance::{Blend, Candidate, Hint, Judge, Lexical, Question};
use cupel::slicer::BestFirstSlice;
use cupel::{ContextBudget, ContextItem, ContextKind, Policy, ReflexiveScorer};
use cupel_model2vec::Model2Vec;
use serde_json::json;
use support::{Folder, WORDS, table, tensors, tokenizer};

fn hints(judge: &dyn Judge, question: &str, texts: &[&str]) -> Vec<f64> {
    let candidates: Vec<_> = texts.iter().map(|text| Candidate::new(text, 5)).collect();
    let verdict = judge.judge(&Question::new(question), &candidates).expect("words to go by");
    let further: Vec<f64> = candidates.iter().map(|it| verdict.further(it).value()).collect();
    let hints: Vec<f64> = verdict.hints.iter().map(Hint::value).collect();
    assert_eq!(hints, further, "later ones are judged alike");
    hints
}

#[test]
fn texts_that_mean_the_same_are_close_without_a_word_in_common() {
    let folder = Folder::new("meaning");
    let model = Model2Vec::load(&folder.0).unwrap();
    assert_eq!(model.dimensions(), 3);
    let texts = ["An automobile for hire!", "rain", "Tea, tea.", "zzz", ""];
    let found = hints(&model, "Rent a car?", &texts);
    assert!(found[0] > 0.95 && found[1] < 0.3 && found[2] < 0.4, "{found:?}");
    assert_eq!(found[3..], [0.0, 0.0], "nothing that it knows");
    assert!(found.iter().all(|hint| (0.0..=1.0).contains(hint)));
    assert_eq!(model.closeness("Rent a car?", texts[0]), found[0]);
}

#[test]
fn equal_texts_have_equal_hints_in_any_company_and_any_process() {
    let folder = Folder::new("equal");
    let (first, second) =
        (Model2Vec::load(&folder.0).unwrap(), Model2Vec::load(&folder.0).unwrap());
    let texts = ["hire an automobile", "tea and rain", "car"];
    let alone: Vec<f64> = texts.iter().map(|text| hints(&first, "rent", &[text])[0]).collect();
    assert_eq!(hints(&second, "rent", &texts), alone);
    assert_eq!(hints(&first.clone().remember(0), "rent", &texts), alone, "without memory, too");
}

#[test]
fn a_question_of_unknown_words_has_nothing_to_go_by_and_its_copy_is_no_answer() {
    let folder = Folder::new("unknown");
    let model = Model2Vec::load(&folder.0).unwrap();
    for question in ["", "zzz", "?!"] {
        assert!(model.judge(&Question::new(question), &[Candidate::new("car", 1)]).is_none());
    }
    assert_eq!(hints(&model, "rent a car", &["rent a car"]), [0.0]);
}

#[test]
fn a_long_text_is_as_close_as_its_closest_piece() {
    let folder = Folder::new("long");
    let model = Model2Vec::load(&folder.0).unwrap();
    let weather = "The weather, rain and more rain. ".repeat(100);
    let hire = "There is an automobile, a car for hire. ".repeat(30);
    let long = format!("{weather}{hire}{weather}");
    let found = hints(&model, "rent a car", &[&weather, &long]);
    assert!(found[0] < 0.2 && found[1] > 0.9, "{found:?}");
    let huge = "rain ".repeat(4 << 20);
    assert!(model.closeness("rain", &huge) > 0.99);
    assert!(model.closeness(&huge, "rain") > 0.99);
}

#[test]
fn strange_texts_have_hints() {
    let folder = Folder::new("strange");
    let model = Model2Vec::load(&folder.0).unwrap();
    let strange =
        ["\0", "🚗 car", "\u{202e}car", "c\u{301}ar", "日本語", "ﷺ", "[UNK]", "carcar", "\u{feff}"];
    for hint in hints(&model, "car", &strange) {
        assert!((0.0..=1.0).contains(&hint), "{hint}");
    }
}

#[test]
fn beside_the_words_it_finds_what_they_miss() {
    let folder = Folder::new("blend");
    let model = Model2Vec::load(&folder.0).unwrap();
    let policy = |relevance: Relevance| {
        let policy = Policy::builder().scorer(ReflexiveScorer).slicer(BestFirstSlice);
        policy.placer(AgePlacer).relevance(relevance).build().unwrap()
    };
    let items = ["A cup of tea.", "Is there rain?", "An automobile for hire."].map(|text| {
        let item = ContextItem::builder(text, 10).kind(ContextKind::document());
        item.build().unwrap()
    });
    let budget = ContextBudget::builder(10).build().unwrap();
    let question = Question::new("Where can I rent a car?");
    let kept = |policy: Policy| {
        policy.run_for(&question, &items, &budget).unwrap()[0].content().to_owned()
    };
    let words = Relevance::new(Lexical::new());
    assert_ne!(kept(policy(words.clone())), "An automobile for hire.");
    let blend = words.with_judge(Blend::new(Lexical::new(), model));
    assert_eq!(blend.judge().name(), "lexical and model2vec");
    assert_eq!(kept(policy(blend)), "An automobile for hire.");
}

#[test]
fn it_says_how_long_it_takes() {
    let folder = Folder::new("steps");
    let model = Model2Vec::load(&folder.0).unwrap();
    let text = "rain ".repeat(10_000);
    let candidates = [Candidate::new(&text, 1)];
    let new = model.steps(&candidates).unwrap();
    let _ = model.judge(&Question::new("car"), &candidates);
    assert!(new > 2 * model.steps(&candidates).unwrap(), "what is known is quick");
}

#[test]
fn all_kinds_of_files_are_read() {
    let folder = Folder::new("kinds");
    let halves: Vec<u8> = table()
        .chunks_exact(4)
        .flat_map(|bytes| {
            let value = f32::from_le_bytes(bytes.try_into().unwrap());
            half_of(value).to_le_bytes()
        })
        .collect();
    let bytes: Vec<u8> =
        WORDS.iter().flat_map(|(_, v)| v.map(|value| (value * 10.0) as i8 as u8)).collect();
    let ids = |order: &[i64]| order.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
    let ones: Vec<u8> = [1.0_f32; 8].iter().flat_map(|one| one.to_le_bytes()).collect();
    let backwards: Vec<u8> = table().chunks(12).rev().flatten().copied().collect();
    let files = [
        tensors(&[("0", "F16", &[8, 3], halves)]),
        tensors(&[("embedding.weight", "I8", &[8, 3], bytes)]),
        tensors(&[
            ("embeddings", "F32", &[8, 3], backwards),
            ("mapping", "I64", &[8], ids(&[7, 6, 5, 4, 3, 2, 1, 0])),
            ("weights", "F32", &[8], ones),
        ]),
    ];
    for file in files {
        folder.write("model.safetensors", file);
        folder.write("config.json", "{}");
        let model = Model2Vec::load(&folder.0).unwrap();
        let found = hints(&model, "rent a car", &["hire an automobile", "tea"]);
        assert!(found[0] > 0.9 && found[1] < 0.4, "{found:?}");
    }
    // A tokenizer that is no BERT's.
    let mut words = tokenizer();
    words["normalizer"] = json!({"type": "Lowercase"});
    words["pre_tokenizer"] = json!({"type": "Whitespace"});
    words["model"] =
        json!({"type": "WordLevel", "unk_token": "[UNK]", "vocab": words["model"]["vocab"]});
    words["decoder"] = json!(null);
    folder.write("tokenizer.json", words.to_string());
    let model = Model2Vec::load(&folder.0).unwrap();
    assert!(hints(&model, "rent a car", &["hire an automobile"])[0] > 0.9);
}

/// A number of half the bits, for the few values here.
fn half_of(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = ((bits >> 23) & 0xff) as i32 - 127 + 15;
    if exponent <= 0 {
        return 0;
    }
    ((exponent as u16) << 10) | ((bits >> 13) & 0x3ff) as u16
}

#[test]
fn judges_go_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>() {}
    shared::<Model2Vec>();
}
