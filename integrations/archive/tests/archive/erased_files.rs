//! Erased messages are not in the files.

use std::path::Path;
use std::process::Command;

use chrono::{TimeDelta, Utc};
use cupel_archive::{Append, Archive, ArchiveMessage};

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
