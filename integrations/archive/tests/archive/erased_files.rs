//! Erased messages are not in the files.

use std::path::Path;
use std::process::Command;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{TimeDelta, Utc};
use cupel::gather::{BoxError, EmbedAs, Embedder, TextHash, VectorStore as _};
use cupel_archive::{Append, Archive, ArchiveEmbedder, ArchiveMessage};

use cupel_dev_servers::postgres;

use crate::support::Database;

/// Words that stand nowhere else. The index holds them folded, and they are their own stems.
const WORDS: [&str; 4] = ["xyloqar", "vundrik", "key-of-zamboro", "thread-of-plimquat"];

/// Returns true if a file below a folder holds a word. `grep` reads a database's files faster than
/// we would.
fn holds(folder: &Path, word: &str) -> bool {
    let grep = Command::new("grep").args(["-r", "-a", "-i", "-q", "-F", word]).arg(folder).status();
    grep.unwrap().success()
}

fn found(path: &Path) -> Vec<&'static str> {
    WORDS.into_iter().filter(|word| holds(path, word)).collect()
}

/// A conversation to erase between others that stay.
async fn fill(archive: &Archive, days: i64) {
    let tenant = archive.namespace("t").unwrap();
    let then = Utc::now() - TimeDelta::days(days);
    for other in 0..20 {
        let conversation = tenant.conversation(format!("other {other}")).unwrap();
        conversation
            .append([ArchiveMessage::user("a fern that stays").time(Utc::now())])
            .await
            .unwrap();
    }
    let conversation = tenant.conversation(WORDS[3]).unwrap();
    let long = format!("{} and {} {}", WORDS[0], WORDS[1], "filler ".repeat(2_000));
    let messages = [
        ArchiveMessage::tool(format!("{} met {}", WORDS[0], WORDS[1])),
        ArchiveMessage::user("x")
            .original(long.as_str())
            .metadata_entry("who", WORDS[0])
            .wire(WORDS[1]),
        ArchiveMessage::user(long),
    ];
    let append = Append::new(messages.map(|message| message.time(then))).key(WORDS[2]);
    conversation.append(append).await.unwrap();
    conversation.append([ArchiveMessage::user(WORDS[0]).time(then)]).await.unwrap();
    conversation.pop().await.unwrap();
    for other in 20..40 {
        let conversation = tenant.conversation(format!("other {other}")).unwrap();
        conversation
            .append([ArchiveMessage::user("a fern that stays").time(Utc::now())])
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn sqlite_has_nothing_left_of_a_forgotten_conversation() {
    let database = Database::sqlite();
    let archive = database.open().await;
    let folder = database.folder().unwrap();
    fill(&archive, 0).await;
    assert_eq!(found(folder), WORDS, "the words are there, so a search can find them");
    let conversation = archive.namespace("t").unwrap().conversation(WORDS[3]).unwrap();
    let erased = conversation.forget().await.unwrap();
    assert!(erased.log_emptied);
    assert_eq!(found(folder), [""; 0]);
    assert_eq!(archive.namespace("t").unwrap().conversations(None, 99).await.unwrap().len(), 40);
    let found = archive.namespace("t").unwrap().search("Which ferns?").await.unwrap();
    assert_eq!(found.len(), 10);
}

/// A model whose vectors can be searched for: their bytes are a word.
struct Spelled;

#[async_trait]
impl Embedder for Spelled {
    fn model(&self) -> &str {
        "spelled"
    }

    async fn embed(&self, _: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        let word = f32::from_le_bytes(*b"qlat");
        Ok(texts.iter().map(|text| vec![text.len() as f32, word, word, word]).collect())
    }
}

/// The bytes of three of the numbers.
const SPELLED: &str = "qlatqlatqlat";

async fn fill_vectors(database: &Database) -> Archive {
    let builder = database.builder().embedder(ArchiveEmbedder::new(Spelled));
    let archive = builder.open().await.unwrap();
    let tenant = archive.namespace("t").unwrap();
    let conversation = tenant.conversation("c").unwrap();
    let said = (0..50).map(|n| ArchiveMessage::user(format!("message {n}")));
    conversation.append(Append::new(said)).await.unwrap();
    assert_eq!(archive.embed_within(Duration::from_secs(60)).await.unwrap(), 0);
    let vector: Arc<[f32]> = vec![1.0, f32::from_le_bytes(*b"qlat"), 2.0, 3.0].into();
    tenant.save("spelled", &[(TextHash::of("another text"), vector)]).await.unwrap();
    archive
}

#[tokio::test]
async fn sqlite_has_no_vector_left_of_a_forgotten_conversation() {
    let database = Database::sqlite();
    let archive = fill_vectors(&database).await;
    let folder = database.folder().unwrap();
    assert!(holds(folder, SPELLED));
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    assert!(conversation.forget().await.unwrap().log_emptied);
    assert!(!holds(folder, "qlat"));
}

#[tokio::test]
async fn postgres_has_no_vector_left_in_its_tables_after_scrubbing() {
    for database in [Database::postgres().await, Database::pgvector().await] {
        let Some(database) = database else { continue };
        let Some(server) = postgres::shared() else { return };
        let archive = fill_vectors(&database).await;
        let end = database.address.find('?').unwrap();
        let name = database.address[..end].rsplit('/').next().unwrap();
        server.sql(name, "ANALYZE");
        server.sql(name, "CHECKPOINT");
        let tables = server.data().join("base");
        assert!(holds(&tables, SPELLED));
        archive.namespace("t").unwrap().forget_all().await.unwrap();
        archive.scrub().await.unwrap();
        server.sql(name, "CHECKPOINT");
        assert!(!holds(&tables, "qlatqlat"));
    }
}

#[tokio::test]
async fn sqlite_has_nothing_left_of_what_expired() {
    let database = Database::sqlite();
    let archive = database.open().await;
    fill(&archive, 40).await;
    let tenant = archive.namespace("t").unwrap();
    assert_eq!(tenant.expire(Utc::now() - TimeDelta::days(30)).await.unwrap().messages, 3);
    assert_eq!(found(database.folder().unwrap()), [""; 0]);
}

#[tokio::test]
async fn postgres_has_nothing_left_in_its_tables_after_scrubbing() {
    let Some(server) = postgres::shared() else { return };
    let name = server.database();
    let archive = Archive::open(&server.address(&name)).await.unwrap();
    fill(&archive, 0).await;
    // As the server does by itself, sooner or later: its statistics hold samples of what is there.
    server.sql(&name, "ANALYZE");
    server.sql(&name, "CHECKPOINT");
    let tables = server.data().join("base");
    assert_eq!(found(&tables), WORDS);
    archive.namespace("t").unwrap().conversation(WORDS[3]).unwrap().forget().await.unwrap();
    archive.scrub().await.unwrap();
    server.sql(&name, "CHECKPOINT");
    assert_eq!(found(&tables), [""; 0]);
}
