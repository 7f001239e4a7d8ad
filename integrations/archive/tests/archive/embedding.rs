//! Messages get vectors in the background, once each, whatever the model does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cupel_archive::{Append, Archive, ArchiveEmbedder, ArchiveMessage};

use crate::support::embedders::{Behaviour, DIMENSIONS, Synonyms};
use crate::support::logs::Warnings;
use crate::with_vectors;

/// Long enough for everything to be embedded; nobody waits for it in a test that passes.
const FOREVER: Duration = Duration::from_secs(60);

const VECTORS: &str = "SELECT count(*) FROM cupel_vectors";

fn said(number: usize) -> ArchiveMessage {
    ArchiveMessage::user(format!("sentence number {number} of many"))
}

async fn all_embedded(archive: &Archive) {
    assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
}

with_vectors! {
    async fn what_is_appended_gets_vectors_and_a_text_is_embedded_once(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = database.open_with(&model).await;
        let tenant = archive.namespace("t").unwrap();
        let conversation = tenant.conversation("c").unwrap();
        conversation.append(Append::new((0..50).map(said))).await.unwrap();
        all_embedded(&archive).await;
        assert_eq!(model.passages.load(Ordering::Relaxed), 50);
        // The same words elsewhere are known.
        tenant.conversation("d").unwrap().append(Append::new((0..50).map(said))).await.unwrap();
        all_embedded(&archive).await;
        assert_eq!(model.passages.load(Ordering::Relaxed), 50);
        let status = archive.embedding_status().await.unwrap();
        assert_eq!((status.waiting, status.embedded, status.refused, status.failures), (0, 100, 0, 0));
        assert_eq!(database.number(VECTORS).await, 100);
        assert_eq!(database.number("SELECT max(dimensions) FROM cupel_models").await, DIMENSIONS as i64);
        let bytes = database.number("SELECT CAST(max(length(vector)) AS bigint) FROM cupel_vectors").await;
        assert_eq!(bytes, 4 * DIMENSIONS as i64);
    }

    async fn a_restart_embeds_what_is_missing_and_nothing_else(database) {
        let model = Arc::new(Synonyms::new("m"));
        model.behave(Behaviour::Hangs);
        let archive = database.open_with(&model).await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append(Append::new((0..100).map(said))).await.unwrap();
        assert_eq!(archive.embedding_status().await.unwrap().waiting, 100);
        // Closing does not wait for a model that hangs.
        archive.close_within(FOREVER).await;
        // Somebody without a model appends, too.
        let without = database.open().await;
        let other = without.namespace("u").unwrap().conversation("c").unwrap();
        other.append(Append::new((0..10).map(said))).await.unwrap();
        assert_eq!(without.embedding_status().await.unwrap().waiting, 0);
        model.behave(Behaviour::Well);
        let archive = database.open_with(&model).await;
        all_embedded(&archive).await;
        assert_eq!(database.number(VECTORS).await, 110);
        archive.close().await;
        let asked = model.passages.load(Ordering::Relaxed);
        let archive = database.open_with(&model).await;
        all_embedded(&archive).await;
        assert_eq!(model.passages.load(Ordering::Relaxed), asked);
    }

    async fn a_model_that_misbehaves_delays_no_append_and_vectors_come_when_it_is_well(database) {
        use Behaviour::{Fails, Hangs, Length, NotANumber, OneTooFew, Panics};
        for (number, behaviour) in [Hangs, Panics, Fails, OneTooFew, NotANumber, Length(0)].into_iter().enumerate() {
            let model = Arc::new(Synonyms::new("m"));
            model.behave(behaviour);
            let embedder = ArchiveEmbedder::new(Arc::clone(&model)).timeout(Duration::from_millis(50));
            let archive = database.builder().embedder(embedder).open().await.unwrap();
            let conversation = archive.namespace("t").unwrap().conversation(format!("{number}")).unwrap();
            for at in 0..3 {
                conversation.append([said(1_000 * number + at)]).await.unwrap();
            }
            while archive.embedding_status().await.unwrap().failures == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(archive.embedding_status().await.unwrap().waiting, 3, "{behaviour:?}");
            assert_eq!(database.number(VECTORS).await, 3 * number as i64, "{behaviour:?}");
            model.behave(Behaviour::Well);
            all_embedded(&archive).await;
            assert_eq!(database.number(VECTORS).await, 3 * (number as i64 + 1), "{behaviour:?}");
            assert_eq!(archive.embedding_status().await.unwrap().refused, 0);
            archive.close().await;
        }
    }

    async fn a_text_that_the_model_refuses_holds_up_no_other(database) {
        let model = Arc::new(Synonyms::new("m"));
        model.behave(Behaviour::Refuses("poison"));
        let archive = database.open_with(&model).await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let mut messages: Vec<ArchiveMessage> = (0..40).map(said).collect();
        messages[7] = ArchiveMessage::user("poison");
        // Nothing to embed is nothing to wait for.
        messages[8] = ArchiveMessage::user("");
        messages[9] = ArchiveMessage::user(" \n\t ");
        conversation.append(messages).await.unwrap();
        all_embedded(&archive).await;
        let status = archive.embedding_status().await.unwrap();
        assert_eq!((status.waiting, status.embedded, status.refused), (0, 37, 1));
        assert_eq!(database.number(VECTORS).await, 37);
        assert_eq!(conversation.search("Which poison?").await.unwrap()[0].stored.number, 8);
    }

    async fn messages_without_any_text_are_looked_at_once(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = database.open_with(&model).await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append(Append::new((0..100).map(|_| ArchiveMessage::user("")))).await.unwrap();
        all_embedded(&archive).await;
        assert_eq!(database.number(VECTORS).await, 0);
        assert!(model.passages.load(Ordering::Relaxed) <= 1);
    }

    async fn a_long_message_has_a_vector_for_each_piece_of_its_beginning(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = database.open_with(&model).await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        let filler = "Größere Mengen von Füllwörtern stehen hier. ".repeat(40);
        let long = format!("{filler}\nThe automobile is red.\n{filler}");
        let endless = "Sätze ohne Ende. ".repeat(20_000);
        conversation.append([ArchiveMessage::tool(long), ArchiveMessage::tool(endless)]).await.unwrap();
        all_embedded(&archive).await;
        const OF: &str = "SELECT max(piece) FROM cupel_vectors";
        assert!((40..64).contains(&database.number(OF).await));
        let found = conversation.search("Which car?").await.unwrap();
        assert_eq!(found[0].stored.number, 1);
        assert!(found[0].closeness.unwrap() > 0.3, "{:?}", found[0].closeness);
    }

    async fn vectors_of_another_length_are_refused_until_the_model_is_forgotten(database) {
        let model = Arc::new(Synonyms::new("m"));
        let archive = database.open_with(&model).await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([ArchiveMessage::user("a car")]).await.unwrap();
        all_embedded(&archive).await;
        model.behave(Behaviour::Length(5));
        conversation.append([ArchiveMessage::user("a boat")]).await.unwrap();
        assert_eq!(archive.embed_within(Duration::from_millis(400)).await.unwrap(), 1);
        assert_eq!(database.number(VECTORS).await, 1);
        assert_eq!(archive.forget_model("m").await.unwrap(), 1);
        all_embedded(&archive).await;
        assert_eq!(database.number("SELECT CAST(max(length(vector)) AS bigint) FROM cupel_vectors").await, 20);
        assert_eq!(database.number("SELECT CAST(min(length(vector)) AS bigint) FROM cupel_vectors").await, 20);
        assert_eq!(archive.forget_model("never heard of").await.unwrap(), 0);
    }

    async fn two_processes_that_embed_the_same_texts_agree(database) {
        let model = Arc::new(Synonyms::new("m"));
        let (one, two) = (database.open_with(&model).await, database.open_with(&model).await);
        let conversation = one.namespace("t").unwrap().conversation("c").unwrap();
        for at in 0..60 {
            let append = Append::new((0..5).map(|part| said(5 * at + part)));
            conversation.append(append).await.unwrap();
            // The other one hears of it as well.
            let other = two.namespace("t").unwrap().conversation("d").unwrap();
            other.append([said(at)]).await.unwrap();
        }
        all_embedded(&one).await;
        all_embedded(&two).await;
        assert_eq!(database.number(VECTORS).await, 360);
        for archive in [&one, &two] {
            assert_eq!(archive.embedding_status().await.unwrap().failures, 0);
        }
    }
}

#[tokio::test]
async fn warnings_say_that_messages_wait_and_nothing_of_what_they_say() {
    let archive = {
        let model = Arc::new(Synonyms::new("m"));
        model.behave(Behaviour::Fails);
        Archive::builder("sqlite::memory:").embedder(ArchiveEmbedder::new(model))
    };
    let (warnings, _listening) = Warnings::listen();
    let archive = archive.open().await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    conversation.append([ArchiveMessage::user("xyloqar")]).await.unwrap();
    let warned = async {
        while warnings.lines().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(FOREVER, warned).await.unwrap();
    archive.close().await;
    let lines = warnings.lines();
    assert!(lines.iter().any(|line| line.contains("messages wait for their vectors")), "{lines:?}");
    assert!(
        !lines.iter().any(|line| line.contains("xyloqar") || line.contains("away")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused_in_words() {
    let model = |name| ArchiveEmbedder::new(Synonyms::new(name));
    for (embedder, expected) in [
        (model(""), "model: is empty"),
        (model("m").weight(1.5), "embedder weight: got 1.5"),
        (model("m").weight(f64::NAN), "embedder weight: got NaN"),
        (model("m").deadline(Duration::ZERO), "embedder deadline: got zero"),
        (model("m").timeout(Duration::ZERO), "embedder timeout: got zero"),
    ] {
        let opened = Archive::builder("sqlite::memory:").embedder(embedder).open().await;
        let error = opened.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
