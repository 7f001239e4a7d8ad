//! A namespace as a store of vectors: tenants and models never mix, and what is erased is gone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cupel::gather::{AsyncJudge as _, EmbeddingsJudge, TextHash, VectorStore};
use cupel::relevance::{Candidate, Question};
use cupel_archive::{Append, ArchiveMessage, Namespace};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::in_both;
use crate::support::embedders::Synonyms;

const FOREVER: Duration = Duration::from_secs(60);

async fn load(tenant: &Namespace, model: &str, text: &str) -> Option<Vec<f32>> {
    let found = tenant.load(model, &[TextHash::of(text)]).await.unwrap();
    assert_eq!(found.len(), 1);
    found[0].as_ref().map(|vector| vector.to_vec())
}

async fn save(tenant: &Namespace, model: &str, text: &str, vector: &[f32]) -> Result<(), String> {
    let vectors = [(TextHash::of(text), Arc::from(vector))];
    tenant.save(model, &vectors).await.map_err(|error| error.to_string())
}

/// Tenants and models whose names look alike, and texts that all of them have.
const TENANTS: [&str; 4] = ["a", "A", "a/b", "%"];
const MODELS: [(&str, usize); 3] = [("m", 3), ("M", 4), ("m ", 3)];
const TEXTS: [&str; 4] = ["ok", "OK", "", "a longer text"];

#[derive(Debug, Clone, Copy)]
enum Step {
    Save,
    Load,
    Append,
    Forget,
    ForgetAll,
}

in_both! {
    async fn vectors_come_back_as_they_were_kept(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        let vector = [0.1_f32, -0.0, f32::MIN_POSITIVE, f32::MAX];
        save(&tenant, "m", "a text", &vector).await.unwrap();
        save(&tenant, "m", "another", &[1.0, 2.0, 3.0, 4.0]).await.unwrap();
        let hashes = ["another", "unknown", "a text"].map(TextHash::of);
        let found = tenant.load("m", &hashes).await.unwrap();
        assert_eq!(found[0].as_deref(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!(found[1], None);
        let bits = |vector: &[f32]| vector.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(found[2].as_deref().unwrap()), bits(&vector));
        assert_eq!(tenant.load("m", &[]).await.unwrap(), []);
        assert_eq!(load(&tenant, "another model", "a text").await, None);
        tenant.save("m", &[]).await.unwrap();
        // Many at once.
        let many: Vec<(TextHash, Arc<[f32]>)> = (0..1_200)
            .map(|n| (TextHash::of(&format!("text {n}")), Arc::from([n as f32, 0.0, 0.0, 1.0])))
            .collect();
        tenant.save("m", &many).await.unwrap();
        let hashes: Vec<TextHash> = many.iter().map(|(hash, _)| *hash).collect();
        let found = tenant.load("m", &hashes).await.unwrap();
        assert!(found.iter().zip(&many).all(|(found, (_, vector))| found.as_ref() == Some(vector)));
    }

    async fn vectors_that_are_none_are_refused_in_words(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        save(&tenant, "m", "x", &[1.0, 2.0]).await.unwrap();
        for (model, vector, part) in [
            ("m", &[1.0][..], "has 1 numbers, but the archive keeps 2 for the model \"m\""),
            ("m", &[f32::NAN, 1.0], "not finite"),
            ("m", &[1.0, f32::INFINITY], "not finite"),
            ("m", &[], "of 0 numbers"),
            ("", &[1.0, 2.0], "model: is empty"),
            ("n\0", &[1.0, 2.0], "holds a NUL"),
        ] {
            let error = save(&tenant, model, "y", vector).await.unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let mixed: [(TextHash, Arc<[f32]>); 2] =
            [(TextHash::of("a"), Arc::from([1.0])), (TextHash::of("b"), Arc::from([1.0, 2.0]))];
        let error = tenant.save("new", &mixed).await.unwrap_err().to_string();
        assert!(error.contains("of 1 and of 2 numbers"), "{error}");
        assert_eq!(load(&tenant, "m", "y").await, None);
        assert_eq!(database.number("SELECT count(*) FROM cupel_models").await, 1);
    }

    async fn a_text_that_a_judge_embedded_is_not_embedded_again_when_it_is_archived(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = database.open_with(&model).await;
        let tenant = archive.namespace("t").unwrap();
        save(&tenant, "m", "said already", &Synonyms::vector("said already")).await.unwrap();
        let conversation = tenant.conversation("c").unwrap();
        conversation.append([ArchiveMessage::user("said already")]).await.unwrap();
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        assert_eq!(model.passages.load(std::sync::atomic::Ordering::Relaxed), 0);
        // It belongs to the message now, and goes with it.
        assert_eq!(database.number("SELECT count(*) FROM cupel_text_vectors").await, 0);
        assert!(load(&tenant, "m", "said already").await.is_some());
        save(&tenant, "m", "said already", &Synonyms::vector("other")).await.unwrap();
        assert_eq!(load(&tenant, "m", "said already").await, Some(Synonyms::vector("said already")));
        conversation.pop().await.unwrap();
        assert_eq!(load(&tenant, "m", "said already").await, None);
    }

    async fn a_judge_that_embeds_finds_the_archives_vectors_and_keeps_its_own(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = database.open_with(&model).await;
        let tenant = archive.namespace("t").unwrap();
        let said = ArchiveMessage::user("I sold my automobile.");
        tenant.conversation("c").unwrap().append([said]).await.unwrap();
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        let asked = || model.passages.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(asked(), 1);
        let question = Question::new("Is the car there?");
        let texts = ["I sold my automobile.", "Nice weather."];
        let candidates = texts.map(|text| Candidate::new(text, 6));
        // Another process each time.
        let judge = || EmbeddingsJudge::new(Arc::clone(&model)).store(tenant.clone());
        let hints = judge().judge(&question, &candidates).await.unwrap();
        assert!(hints[0] > hints[1], "{hints:?}");
        assert_eq!(asked(), 2, "the archived text is known");
        // It is kept behind the answer.
        while load(&tenant, "m", "Nice weather.").await.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let again = judge().judge(&question, &candidates).await.unwrap();
        assert!(hints.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-6), "{hints:?} {again:?}");
        assert_eq!(asked(), 2, "and so is the other one");
    }

    async fn of_texts_without_a_message_those_kept_last_stay(database) {
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        save(&archive.namespace("u").unwrap(), "m", "elsewhere", &[1.0]).await.unwrap();
        for part in 0..6 {
            let texts = (0..2_000).map(|n| (TextHash::of(&format!("{part} {n}")), Arc::from([1.0_f32])));
            tenant.save("m", &texts.collect::<Vec<_>>()).await.unwrap();
        }
        let count = database.number("SELECT count(*) FROM cupel_text_vectors").await;
        assert!((8_000..=11_001).contains(&count), "{count}");
        assert!(load(&tenant, "m", "5 1999").await.is_some());
        assert_eq!(load(&tenant, "m", "0 0").await, None);
        assert!(load(&archive.namespace("u").unwrap(), "m", "elsewhere").await.is_some());
    }

    async fn whatever_is_erased_takes_the_vectors_of_the_tenants_other_texts_with_it(database) {
        let archive = database.open().await;
        for erase in ["forget", "expire", "forget_all", "forget_all of nothing"] {
            let (tenant, other) = (archive.namespace("t").unwrap(), archive.namespace("u").unwrap());
            let conversation = tenant.conversation("c").unwrap();
            if erase != "forget_all of nothing" {
                conversation.append([ArchiveMessage::user("a secret in a long message")]).await.unwrap();
            }
            // A judge may have cut it.
            for tenant in [&tenant, &other] {
                save(tenant, "m", "a secret", &[1.0, 2.0]).await.unwrap();
            }
            let later = chrono::Utc::now() + chrono::TimeDelta::seconds(1);
            match erase {
                "forget" => drop(conversation.forget().await.unwrap()),
                "expire" => drop(tenant.expire(later).await.unwrap()),
                _ => drop(tenant.forget_all().await.unwrap()),
            }
            assert_eq!(load(&tenant, "m", "a secret").await, None, "{erase}");
            assert!(load(&other, "m", "a secret").await.is_some(), "{erase}");
        }
    }

    async fn no_tenant_and_no_model_has_anothers_vectors(database) {
        let archive = database.open().await;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        // The vectors that each tenant has of a model and a text.
        let mut expected: BTreeMap<(usize, usize, usize), Vec<f32>> = BTreeMap::new();
        let mut messages = [0_usize; TENANTS.len()];
        let step = prop_oneof![
            6 => Just(Step::Save),
            6 => Just(Step::Load),
            2 => Just(Step::Append),
            1 => Just(Step::Forget),
            1 => Just(Step::ForgetAll),
        ];
        let steps = (0..TENANTS.len(), 0..MODELS.len(), 0..TEXTS.len(), step);
        for round in 0..200 {
            let (tenant, model, text, step) = steps.new_tree(&mut runner).unwrap().current();
            let handle = archive.namespace(TENANTS[tenant]).unwrap();
            let conversation = handle.conversation("c").unwrap();
            match step {
                Step::Save => {
                    let vector = vec![round as f32; MODELS[model].1];
                    save(&handle, MODELS[model].0, TEXTS[text], &vector).await.unwrap();
                    // What is there stays.
                    expected.entry((tenant, model, text)).or_insert(vector);
                }
                Step::Load => {}
                Step::Append => {
                    conversation.append(Append::new([ArchiveMessage::user(TEXTS[text])])).await.unwrap();
                    messages[tenant] += 1;
                }
                Step::Forget => {
                    let erased = conversation.forget().await.unwrap();
                    assert_eq!(erased.messages, messages[tenant] as u64);
                    if messages[tenant] > 0 {
                        expected.retain(|(owner, ..), _| *owner != tenant);
                    }
                    messages[tenant] = 0;
                }
                Step::ForgetAll => {
                    handle.forget_all().await.unwrap();
                    expected.retain(|(owner, ..), _| *owner != tenant);
                    messages[tenant] = 0;
                }
            }
            for (at, name) in TENANTS.iter().enumerate() {
                let handle = archive.namespace(*name).unwrap();
                let found = handle.load(MODELS[model].0, &TEXTS.map(TextHash::of)).await.unwrap();
                for (text, found) in found.iter().enumerate() {
                    let expected = expected.get(&(at, model, text)).map(Vec::as_slice);
                    assert_eq!(found.as_deref(), expected, "{name} {:?} {:?}", MODELS[model], TEXTS[text]);
                }
            }
        }
    }
}
