//! Vectors in PostgreSQL with the extension `pgvector`, which comes and goes.

use std::sync::Arc;
use std::time::Duration;

use cupel_archive::{Append, ArchiveMessage, Search};

use crate::support::Database;
use crate::support::embedders::Synonyms;

const FOREVER: Duration = Duration::from_secs(60);

const CONVERTED: &str = "SELECT count(*) FROM cupel_vectors WHERE embedding IS NOT NULL";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_find_the_same_and_the_extension_may_come_and_go() {
    let Some(database) = Database::pgvector().await else { return };
    database.number("DROP EXTENSION vector").await;
    let model = Arc::new(Synonyms::new("m"));
    let questions =
        ["Is the car still there?", "When does the doctor come?", "Which ship number 7?"];
    let mut found = Vec::new();
    for step in ["without", "it comes", "it is there", "it goes"] {
        match step {
            "it comes" => drop(database.number("CREATE EXTENSION vector").await),
            "it goes" => drop(database.number("DROP EXTENSION vector CASCADE").await),
            _ => {}
        }
        let archive = database.open_with(&model).await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        if step == "without" {
            let said = |n: usize| match n {
                12 => ArchiveMessage::user("I sold my automobile.").tokens(400),
                30 => ArchiveMessage::user("The physician comes on Monday.").tokens(400),
                _ => ArchiveMessage::user(format!("vessel {n} talk {}", n % 7)).tokens(400),
            };
            conversation.append(Append::new((0..600).map(said))).await.unwrap();
        }
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        // It is looked for before the first message is embedded.
        let new = ArchiveMessage::user(format!("{step} {step}"));
        archive.namespace("u").unwrap().conversation("c").unwrap().append([new]).await.unwrap();
        assert_eq!(archive.embed_within(FOREVER).await.unwrap(), 0);
        let mut here = Vec::new();
        for question in questions {
            let search = Search::new(question).limit(20);
            let hits = conversation.search(search.clone()).await.unwrap();
            let everywhere = conversation.namespace().search(search).await.unwrap();
            for hit in hits.into_iter().chain(everywhere) {
                // The server adds numbers of four bytes.
                let cosine = hit.closeness.map(|cosine| (cosine * 10_000.0).round());
                here.push((hit.stored.number, (hit.relevance * 10_000.0).round(), cosine));
            }
        }
        found.push(here);
        assert_eq!(archive.embedding_status().await.unwrap().words_alone, 0, "{step}");
        archive.close().await;
        match step {
            "it comes" => assert_eq!(database.number(CONVERTED).await, 602, "all are converted"),
            "it is there" => assert_eq!(database.number(CONVERTED).await, 603),
            _ => {}
        }
    }
    assert!(found[0].len() > 40, "{}", found[0].len());
    assert!(found[0].iter().all(|hit| hit.2.is_some()), "{:?}", found[0]);
    for other in &found[1..] {
        assert_eq!(&found[0], other);
    }
}
