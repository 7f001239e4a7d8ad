//! Searching by words and by vectors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cupel_archive::{
    Append, Archive, ArchiveEmbedder, ArchiveMessage, ConversationHandle, Search, SearchHit,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::sources::{ask, recall};
use crate::support::Database;
use crate::support::embedders::{Behaviour, Synonyms};
use crate::support::logs::Warnings;
use crate::with_vectors;

const FOREVER: Duration = Duration::from_secs(60);

/// A conversation that is read whole, and one that is searched by the index.
const LENGTHS: [usize; 2] = [40, 700];

async fn filled(archive: &Archive, messages: usize) -> ConversationHandle {
    let conversation =
        archive.namespace("t").unwrap().conversation(format!("of {messages}")).unwrap();
    let small_talk = |n: usize| ArchiveMessage::user(format!("small talk {n}")).tokens(400);
    let mut said: Vec<ArchiveMessage> = (0..messages).map(small_talk).collect();
    said[12] = ArchiveMessage::user("I sold my automobile.").tokens(400);
    said[20] = ArchiveMessage::user("Which locker? Number 4711.").tokens(400);
    said[30] = ArchiveMessage::user("The physician comes on Monday.").tokens(400);
    conversation.append(Append::new(said)).await.unwrap();
    assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
    conversation
}

async fn with(database: &Database, model: &Arc<Synonyms>) -> Archive {
    let embedder = ArchiveEmbedder::new(Arc::clone(model)).deadline(Duration::from_secs(10));
    database.builder().embedder(embedder).open().await.unwrap()
}

fn numbers(found: &[SearchHit]) -> Vec<i64> {
    found.iter().map(|found| found.stored.number).collect()
}

with_vectors! {
    async fn what_was_said_in_other_words_is_found_and_words_still_find(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = with(database, &model).await;
        for length in LENGTHS {
            let conversation = filled(&archive, length).await;
            let tenant = conversation.namespace();
            for (question, number) in [
                ("Is the car still there?", 13),
                ("When does the doctor come?", 31),
                ("Which locker is mine?", 21),
            ] {
                let found = conversation.search(question).await.unwrap();
                assert_eq!(found[0].stored.number, number, "{question} {found:#?}");
                assert!(found[0].closeness.is_some());
                assert!((0.0..1.0).contains(&found[0].relevance));
                let everywhere = tenant.search(question).await.unwrap();
                assert_eq!(everywhere[0].stored.number, number, "{question} {everywhere:#?}");
            }
            // By words alone there is nothing of it.
            let words = Search::new("Is the car there?").words_only();
            let found = conversation.search(words).await.unwrap();
            assert!(found.iter().all(|found| found.closeness.is_none()));
            assert!(!numbers(&found).contains(&13), "{found:#?}");
            // A question without a telling word finds nothing, and nobody is asked.
            let asked = model.questions.load(Ordering::Relaxed);
            assert_eq!(conversation.search("And then?").await.unwrap(), []);
            assert_eq!(model.questions.load(Ordering::Relaxed), asked);
        }
        assert_eq!(archive.embedding_status().await.unwrap().words_alone, 0);
    }

    async fn without_an_embedder_a_search_is_what_it_was(database) {
        let archive = database.open().await;
        for length in LENGTHS {
            let without = filled(&archive, length).await;
            let before = without.search("Which locker number is mine?").await.unwrap();
            let everywhere = without.namespace().search("Which locker number?").await.unwrap();
            let model = Arc::new(Synonyms::new("m"));
            let other = with(database, &model).await;
            assert_eq!(other.embed_within(FOREVER).await.unwrap(), 0);
            // Vectors that somebody else keeps change nothing, and neither does a search of theirs by words.
            assert_eq!(without.search("Which locker number is mine?").await.unwrap(), before);
            assert_eq!(without.namespace().search("Which locker number?").await.unwrap(), everywhere);
            let with = other.namespace("t").unwrap().conversation(without.name()).unwrap();
            let by_words = Search::new("Which locker number is mine?").words_only();
            assert_eq!(with.search(by_words).await.unwrap(), before);
            other.close().await;
        }
    }

    async fn limits_of_a_search_hold_for_vectors_too(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = with(database, &model).await;
        for length in LENGTHS {
            let conversation = filled(&archive, length).await;
            let search = |before| Search::new("Is the car still there?").before(before).limit(5);
            let before = conversation.search(search(13)).await.unwrap();
            assert!(numbers(&before).iter().all(|number| *number < 13), "{before:#?}");
            assert_eq!(conversation.search(search(14)).await.unwrap()[0].stored.number, 13);
            for before in [i64::MIN, 0, 1] {
                assert_eq!(conversation.search(search(before)).await.unwrap(), []);
            }
            let tenant = conversation.namespace();
            let elsewhere = Search::new("Is the car still there?").except(conversation.name());
            let elsewhere = tenant.search(elsewhere).await.unwrap();
            assert!(elsewhere.iter().all(|found| found.conversation != conversation.name()));
        }
    }

    async fn a_model_that_misbehaves_leaves_the_words_in_time(database) {
        use Behaviour::{Fails, Hangs, Length, NotANumber, OneTooFew, Panics, Well};
        let model = Arc::new(Synonyms::new("m"));
        let embedder = ArchiveEmbedder::new(Arc::clone(&model)).deadline(Duration::from_millis(100));
        let archive = database.builder().embedder(embedder).open().await.unwrap();
        let conversations = [filled(&archive, LENGTHS[0]).await, filled(&archive, LENGTHS[1]).await];
        let all = [Hangs, Panics, Fails, OneTooFew, NotANumber, Length(3), Length(0), Length(100_000)];
        let mut words_alone = 0;
        for (number, behaviour) in all.into_iter().enumerate() {
            model.behave(behaviour);
            for conversation in &conversations {
                // Another one each time: the vector of one that is known is not asked for.
                let question = format!("Which locker or car is mine{}", "?".repeat(number + 1));
                let started = Instant::now();
                let found = conversation.search(question.as_str()).await.unwrap();
                assert!(started.elapsed() < Duration::from_secs(20), "{behaviour:?}");
                assert_eq!(found[0].stored.number, 21, "{behaviour:?}");
                assert!(found.iter().all(|found| found.closeness.is_none()), "{behaviour:?}");
                let words = Search::new(question.as_str()).words_only();
                assert_eq!(found, conversation.search(words).await.unwrap());
                words_alone += 1;
                let status = archive.embedding_status().await.unwrap();
                assert_eq!(status.words_alone, words_alone, "{behaviour:?}");
            }
        }
        // What was wrong is not remembered.
        model.behave(Well);
        for (number, behaviour) in all.into_iter().enumerate() {
            let question = format!("Which locker or car is mine{}", "?".repeat(number + 1));
            let found = conversations[0].search(question.as_str()).await.unwrap();
            assert!(found.iter().any(|found| found.closeness.is_some()), "{behaviour:?}");
        }
    }

    async fn vectors_of_another_model_are_not_compared(database) {
        let (old, new) = (Arc::new(Synonyms::new("old")), Arc::new(Synonyms::new("new")));
        let archive = with(database, &old).await;
        let conversation = filled(&archive, LENGTHS[0]).await;
        archive.close().await;
        new.behave(Behaviour::Fails);
        let archive = with(database, &new).await;
        let conversation = archive.namespace("t").unwrap().conversation(conversation.name()).unwrap();
        let found = conversation.search("Is the car still there?").await.unwrap();
        assert!(found.iter().all(|found| found.closeness.is_none()));
        // There is nothing to compare a question with, so nobody was asked and nothing went wrong.
        assert_eq!(new.questions.load(Ordering::Relaxed), 0);
        assert_eq!(archive.embedding_status().await.unwrap().words_alone, 0);
        new.behave(Behaviour::Length(99));
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        assert_eq!(database.number("SELECT count(*) FROM cupel_vectors").await, 80);
        let found = conversation.search("Is the car still there?").await.unwrap();
        assert!(found.iter().any(|found| found.closeness.is_some()));
        assert_eq!(archive.forget_model("old").await.unwrap(), 40);
        assert_eq!(database.number("SELECT count(*) FROM cupel_vectors").await, 40);
    }

    async fn a_recall_brings_what_was_said_in_other_words(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = with(database, &model).await;
        let conversation = filled(&archive, LENGTHS[1]).await;
        let source = recall(&conversation).limit(3).source("recall");
        let (sent, _) = ask("Is the car still there?", vec![source], 1_000, false).await.unwrap();
        assert!(sent.iter().any(|text| text.contains("automobile")), "{sent:?}");
    }

    async fn a_recall_with_a_deadline_gives_the_model_half_of_it(database) {
        let model = Arc::new(Synonyms::new("m"));
        let embedder = ArchiveEmbedder::new(Arc::clone(&model)).deadline(FOREVER);
        let archive = database.builder().embedder(embedder).open().await.unwrap();
        let conversation = filled(&archive, LENGTHS[1]).await;
        model.behave(Behaviour::Hangs);
        let source = recall(&conversation).deadline(Duration::from_millis(1_600)).limit(3).source("recall");
        let (sent, _) = ask("Which locker is mine?", vec![source], 1_000, false).await.unwrap();
        assert!(sent.iter().any(|text| text.contains("4711")), "{sent:?}");
        assert_eq!(archive.failed_recalls(), 0);
        assert_eq!(archive.embedding_status().await.unwrap().words_alone, 1);
    }

    async fn no_tenant_finds_anothers_messages_by_their_meaning(database) {
        const TENANTS: [&str; 4] = ["a", "A", "a/b", "%"];
        let model = Arc::new(Synonyms::new("m"));
        let archive = with(database, &model).await;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut expected: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
        let words = ["car", "automobile", "vehicle", "boat", "ship", "vessel"];
        let steps = (0..TENANTS.len(), 0..2_usize, 0..words.len(), 0..10_usize);
        for round in 0..120 {
            let (tenant, conversation, word, step) = steps.new_tree(&mut runner).unwrap().current();
            let handle = archive.namespace(TENANTS[tenant]).unwrap();
            let here = handle.conversation(format!("{conversation}")).unwrap();
            match step {
                0 => {
                    handle.forget_all().await.unwrap();
                    expected.retain(|(owner, _), _| *owner != tenant);
                }
                1 => {
                    here.forget().await.unwrap();
                    expected.remove(&(tenant, conversation));
                }
                2 => {
                    let popped = here.pop().await.unwrap().map(|stored| stored.message.content);
                    assert_eq!(popped, expected.entry((tenant, conversation)).or_default().pop());
                }
                _ => {
                    let text = format!("{} of tenant{tenant}", words[word]);
                    here.append([ArchiveMessage::user(text.as_str())]).await.unwrap();
                    expected.entry((tenant, conversation)).or_default().push(text);
                }
            }
            if round % 4 > 0 {
                continue; // often it is not embedded yet
            }
            assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
            for (at, name) in TENANTS.iter().enumerate() {
                let handle = archive.namespace(*name).unwrap();
                let found = handle.search(Search::new("automobile vessel").limit(999)).await.unwrap();
                let texts = expected.iter().filter(|((owner, _), _)| *owner == at);
                let mut texts: Vec<&str> = texts.flat_map(|(_, texts)| texts).map(String::as_str).collect();
                let mut found: Vec<&str> =
                    found.iter().map(|found| found.stored.message.content.as_str()).collect();
                texts.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, texts, "{name}");
            }
        }
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        let messages: usize = expected.values().map(Vec::len).sum();
        assert_eq!(database.number("SELECT count(*) FROM cupel_vectors").await, messages as i64);
    }

    async fn what_is_erased_while_it_is_embedded_leaves_no_vector(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = with(database, &model).await;
        let tenant = archive.namespace("t").unwrap();
        for round in 0..30 {
            let conversation = tenant.conversation(format!("{round}")).unwrap();
            let said = (0..20).map(|n| ArchiveMessage::user(format!("word {round} {n}")));
            conversation.append(Append::new(said)).await.unwrap();
            // Another moment each time.
            tokio::time::sleep(Duration::from_micros(300 * (round % 10))).await;
            match round % 3 {
                0 => drop(conversation.forget().await.unwrap()),
                1 => drop(tenant.forget_all().await.unwrap()),
                _ => while conversation.pop().await.unwrap().is_some() {},
            }
        }
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        // One more, so that everything before it is done.
        let last = tenant.conversation("last").unwrap();
        last.append([ArchiveMessage::user("last")]).await.unwrap();
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        assert_eq!(database.number("SELECT count(*) FROM cupel_vectors").await, 1);
        assert_eq!(archive.embedding_status().await.unwrap().failures, 0);
    }
}

#[tokio::test]
async fn a_search_by_words_alone_is_one_warning_without_content() {
    let model = Arc::new(Synonyms::new("m"));
    let builder = Archive::builder("sqlite::memory:");
    let archive = builder.embedder(ArchiveEmbedder::new(Arc::clone(&model))).open().await.unwrap();
    let conversation = filled(&archive, LENGTHS[0]).await;
    let (warnings, _listening) = Warnings::listen();
    conversation.search("Which locker is mine?").await.unwrap();
    assert_eq!(warnings.lines(), [""; 0]);
    model.behave(Behaviour::Fails);
    conversation.search("Which locker is his?").await.unwrap();
    let lines = warnings.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("by words alone") && lines[0].contains("failed"), "{lines:?}");
    assert!(!lines[0].contains("locker") && !lines[0].contains("away"), "{lines:?}");
}
