//! Opening an archive: new files, other people's files, and addresses that lead nowhere.

use std::sync::Arc;
use std::time::Duration;

use cupel_archive::{Archive, ArchiveError, ArchiveMessage};

use crate::in_both;
use cupel_dev_servers::postgres;

use crate::support::Database;
use crate::support::embedders::Synonyms;

#[cfg(unix)]
#[tokio::test]
async fn the_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let database = Database::sqlite();
    let archive = database.open().await;
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    conversation.append([ArchiveMessage::user("x")]).await.unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(database.folder().unwrap()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        files.push((entry.file_name().into_string().unwrap(), mode));
    }
    files.sort();
    let expected = ["archive.db", "archive.db-shm", "archive.db-wal"];
    assert_eq!(files, expected.map(|name| (name.to_owned(), 0o600)));
}

#[tokio::test]
async fn an_archive_in_memory_is_one_for_all_clones_and_gone_afterwards() {
    let archive = Archive::open("sqlite::memory:").await.unwrap();
    let tasks = (0..8).map(|_| {
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        tokio::spawn(async move { conversation.append([ArchiveMessage::user("x")]).await.unwrap() })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    assert_eq!(conversation.recent(99).await.unwrap().len(), 8);
    let other = Archive::open("sqlite::memory:").await.unwrap();
    let conversation = other.namespace("t").unwrap().conversation("c").unwrap();
    assert!(conversation.recent(99).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_that_cannot_be_one_is_an_error_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "no database at all, but a text of some length ".repeat(50)).unwrap();
    for (path, part) in [
        (text.display().to_string(), "not a database"),
        (folder.path().join("no/such/folder.db").display().to_string(), "No such file"),
        (folder.path().display().to_string(), "open"),
    ] {
        let error = Archive::open(&format!("sqlite://{path}")).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("no database"));
}

in_both! {
    async fn tables_of_a_newer_version_are_refused(database) {
        database.open().await.close().await;
        if let Some(folder) = database.folder() {
            use sqlx::Connection as _;
            let path = folder.join("archive.db").display().to_string();
            let mut file = sqlx::SqliteConnection::connect(&path).await.unwrap();
            let newer = "INSERT INTO cupel_schema (version) VALUES (99)";
            sqlx::query(newer).execute(&mut file).await.unwrap();
        } else {
            use sqlx::Connection as _;
            let mut server = sqlx::PgConnection::connect(&database.address).await.unwrap();
            let newer = "INSERT INTO cupel_schema (version) VALUES (99)";
            sqlx::query(newer).execute(&mut server).await.unwrap();
        }
        let error = database.builder().open().await.unwrap_err();
        assert!(matches!(error, ArchiveError::Newer { found: 99, known: 1.. }), "{error}");
        assert!(error.to_string().contains("update the program"), "{error}");
    }
}

in_both! {
    async fn tables_of_the_first_version_are_brought_up_to_date(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([ArchiveMessage::user("a fern"), ArchiveMessage::user("x").wire("wire")]).await.unwrap();
        archive.close().await;
        for back in [
            "DROP TABLE cupel_embedded",
            "DROP TABLE cupel_text_vectors",
            "DROP TABLE cupel_vectors",
            "DROP TABLE cupel_models",
            "ALTER TABLE cupel_conversations DROP COLUMN bytes",
            "DROP TABLE cupel_summaries",
            "DROP TABLE cupel_summary_costs",
            "DELETE FROM cupel_schema WHERE version >= 2",
        ] {
            database.number(back).await;
        }
        let archive = database.open().await;
        assert_eq!(database.number("SELECT max(version) FROM cupel_schema").await, 4);
        assert_eq!(database.number("SELECT bytes FROM cupel_conversations").await, 11);
        assert_eq!(database.number("SELECT count(*) FROM cupel_summaries").await, 0);
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        assert_eq!(conversation.search("ferns").await.unwrap()[0].stored.number, 1);
    }

    async fn messages_of_the_second_version_get_vectors(database) {
        let archive = database.open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([ArchiveMessage::user("a fern"), ArchiveMessage::user("a car")]).await.unwrap();
        archive.close().await;
        for back in [
            "DROP TABLE cupel_embedded",
            "DROP TABLE cupel_text_vectors",
            "DROP TABLE cupel_vectors",
            "DROP TABLE cupel_models",
            "DROP TABLE cupel_summaries",
            "DROP TABLE cupel_summary_costs",
            "DELETE FROM cupel_schema WHERE version >= 3",
        ] {
            database.number(back).await;
        }
        let archive = database.open_with(&Arc::new(Synonyms::new("m"))).await;
        assert_eq!(archive.embed_within(Duration::from_secs(30)).await.unwrap(), 0);
        assert_eq!(database.number("SELECT count(*) FROM cupel_vectors").await, 2);
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        assert_eq!(conversation.search("Which automobile?").await.unwrap()[0].stored.number, 2);
    }

    async fn the_size_of_a_conversation_is_that_of_its_messages(database) {
        const BYTES: &str = "SELECT bytes FROM cupel_conversations WHERE name = 'c'";
        let archive = database.open().await;
        let tenant = archive.namespace("t").unwrap();
        let conversation = tenant.conversation("c").unwrap();
        let then = chrono::Utc::now() - chrono::TimeDelta::days(40);
        conversation.append([ArchiveMessage::user("12345").time(then), ArchiveMessage::user("é").wire("123")]).await.unwrap();
        assert_eq!(database.number(BYTES).await, 10);
        conversation.append([ArchiveMessage::user("1")]).await.unwrap();
        assert_eq!(database.number(BYTES).await, 11);
        conversation.pop().await.unwrap();
        assert_eq!(database.number(BYTES).await, 10);
        tenant.expire(then + chrono::TimeDelta::days(1)).await.unwrap();
        assert_eq!(database.number(BYTES).await, 5);
    }
}

#[tokio::test]
async fn passwords_show_nowhere() {
    let Some(server) = postgres::shared() else { return };
    let name = server.database();
    let right = Archive::open(&server.tcp_address(&name, postgres::PASSWORD)).await.unwrap();
    let tenant = right.namespace("t").unwrap();
    let conversation = tenant.conversation("c").unwrap();
    let mut shown = format!(
        "{right:?} {tenant:?} {conversation:?} {:?}",
        Archive::builder(server.tcp_address(&name, postgres::PASSWORD),)
    );
    right.close().await;
    let closed = conversation.append([ArchiveMessage::user("x")]).await.unwrap_err();
    shown += &format!("{closed} {closed:?}");
    for address in [
        server.tcp_address(&name, "wr0ng-pa55"),
        server.tcp_address("no_such_database", postgres::PASSWORD),
        format!("postgres://cupel:{}@127.0.0.1:1/x", postgres::PASSWORD),
        format!("postgres://cupel:{}@127.0.0.1:x/x", postgres::PASSWORD),
        format!("postgres://cupel@127.0.0.1:1/x?password={}", postgres::PASSWORD),
        format!("mysql://cupel:{}@127.0.0.1/x", postgres::PASSWORD),
    ] {
        let short = std::time::Duration::from_millis(500);
        let error = Archive::builder(address).lock_timeout(short).open().await.unwrap_err();
        shown += &format!("{error} {error:?} {error:#?}");
    }
    assert!(!shown.contains(postgres::PASSWORD) && !shown.contains("wr0ng"), "{shown}");
    assert!(shown.contains("cupel@127.0.0.1"), "{shown}");
}
