//! A full disk, a file that somebody holds, a server that goes away: a clear error, and the next call
//! works.

use std::process::Command;
use std::time::Duration;

use cupel_archive::{Append, Archive, ArchiveError, ArchiveMessage, Failure};
use sqlx::Connection as _;

use crate::support::Database;
use cupel_dev_servers::postgres::{PASSWORD, Server, shared, skip};

fn failure(error: &ArchiveError) -> Failure {
    match error {
        ArchiveError::Database { kind, .. } => *kind,
        other => panic!("{other:?}"),
    }
}

fn big() -> ArchiveMessage {
    // Nothing that a database could make smaller.
    let mut seed = 7_u64;
    let text: String = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + (seed >> 59) as u8 % 26)
    })
    .take(200_000)
    .collect();
    ArchiveMessage::tool(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_somebody_holds_is_an_error_in_time_and_the_next_call_works() {
    let database = Database::sqlite();
    let wait = Duration::from_secs(1);
    let archive = database.builder().lock_timeout(wait).open().await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let path = database.folder().unwrap().join("archive.db").display().to_string();
    let mut holder = sqlx::SqliteConnection::connect(&path).await.unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut holder).await.unwrap();
    let error = conversation.append([ArchiveMessage::user("x")]).await.unwrap_err();
    assert_eq!(failure(&error), Failure::Busy);
    assert!(error.is_transient() && error.to_string().contains("another process"), "{error}");
    // In this mode readers go on.
    assert!(conversation.recent(9).await.unwrap().is_empty());
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    conversation.append([ArchiveMessage::user("x")]).await.unwrap();
    assert_eq!(conversation.recent(9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_somebody_holds_is_an_error_in_time_and_others_go_on() {
    let Some(server) = shared() else { return };
    let address = server.address(&server.database());
    let wait = Duration::from_secs(1);
    let archive = Archive::builder(&address).lock_timeout(wait).open().await.unwrap();
    let tenant = archive.namespace("t").unwrap();
    let (held, free) = (tenant.conversation("held").unwrap(), tenant.conversation("free").unwrap());
    held.append([ArchiveMessage::user("x")]).await.unwrap();
    let mut holder = sqlx::PgConnection::connect(&address).await.unwrap();
    let mut transaction = holder.begin().await.unwrap();
    sqlx::query("SELECT 1 FROM cupel_conversations WHERE name = 'held' FOR UPDATE")
        .execute(&mut *transaction)
        .await
        .unwrap();
    let error = held.append([ArchiveMessage::user("y")]).await.unwrap_err();
    assert_eq!(failure(&error), Failure::Busy, "{error}");
    free.append([ArchiveMessage::user("z")]).await.unwrap();
    // And so is an archive all of whose connections are taken: the server is there.
    let one = Archive::builder(&address).lock_timeout(wait).connections(1).open().await.unwrap();
    let waiting = one.namespace("t").unwrap().conversation("held").unwrap();
    let (first, second) = tokio::join!(
        waiting.append([ArchiveMessage::user("a")]),
        waiting.append([ArchiveMessage::user("b")])
    );
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!(failure(&error), Failure::Busy, "{error}");
    }
    transaction.rollback().await.unwrap();
    assert_eq!(held.append([ArchiveMessage::user("y")]).await.unwrap().numbers(), 2..=2);
}

/// A small disk of memory, where the system lets us have one.
pub(crate) struct SmallDisk(pub(crate) std::path::PathBuf);

impl SmallDisk {
    pub(crate) fn mount(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap().keep();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=777"), "tmpfs"])
            .arg(&folder)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        let _ = std::fs::remove_dir(&folder);
        // No privilege to mount is no fault of the archive: not even where skips are failures.
        if std::env::var_os("CUPEL_REQUIRE_POSTGRES").is_none() {
            skip("a small disk cannot be mounted here, so a full one is not tested");
        }
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_an_error_in_words_and_with_room_the_next_call_works() {
    let Some(disk) = SmallDisk::mount(4) else { return };
    let address = format!("sqlite://{}", disk.0.join("archive.db").display());
    let archive = Archive::open(&address).await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    conversation.append([ArchiveMessage::user("first")]).await.unwrap();
    // Somebody else fills the disk.
    let filler = disk.0.join("filler");
    let mut room = 3 << 20;
    while std::fs::write(&filler, vec![0; room]).is_err() {
        room -= 64 << 10;
    }
    let mut stored = 1;
    let error = loop {
        match conversation.append([big()]).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100);
    };
    assert_eq!(failure(&error), Failure::Full, "{error}");
    assert!(error.to_string().contains("no room left"), "{error}");
    // What was there is there, and with room it goes on.
    assert_eq!(conversation.recent(999).await.unwrap().len(), stored);
    std::fs::remove_file(&filler).unwrap();
    conversation.append([big()]).await.unwrap();
    assert_eq!(conversation.recent(999).await.unwrap().len(), stored + 1);
    archive.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_full_disk_is_an_error_in_words_and_with_room_the_next_call_works() {
    let Some(server) = shared() else { return };
    let Some(disk) = SmallDisk::mount(48) else { return };
    let folder = disk.0.join("tables");
    std::fs::create_dir(&folder).unwrap();
    server.give(&folder);
    let name = server.database();
    let place = format!("CREATE TABLESPACE small_{name} LOCATION '{}'", folder.display());
    server.sql("postgres", &place);
    server.sql("postgres", &format!("ALTER DATABASE {name} SET TABLESPACE small_{name}"));
    let archive = Archive::open(&server.address(&name)).await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let filler = disk.0.join("filler");
    let mut room = 47 << 20;
    while std::fs::write(&filler, vec![0; room]).is_err() {
        room -= 1 << 20;
    }
    let mut stored = 0;
    let error = loop {
        match conversation.append([big()]).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 300);
    };
    assert_eq!(failure(&error), Failure::Full, "{error}");
    assert_eq!(conversation.recent(999).await.unwrap().len(), stored);
    std::fs::remove_file(&filler).unwrap();
    conversation.append([big()]).await.unwrap();
    assert_eq!(conversation.recent(999).await.unwrap().len(), stored + 1);
    archive.close().await;
    server.sql("postgres", &format!("DROP DATABASE {name}"));
    server.sql("postgres", &format!("DROP TABLESPACE small_{name}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_at_its_limit_is_an_error_in_words_everywhere() {
    let database = Database::sqlite();
    let archive = database.builder().connections(1).open().await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    conversation.append(Append::new((0..3).map(|_| big()))).await.unwrap();
    // The file's own limit stands for a disk where none can be mounted.
    let mut stored = 3;
    let path = database.folder().unwrap().join("archive.db");
    let pages = std::fs::metadata(&path).unwrap().len() / 4096 + 20;
    archive.close().await;
    let mut file = sqlx::SqliteConnection::connect(&path.display().to_string()).await.unwrap();
    let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
    sqlx::raw_sql(limit).execute(&mut file).await.unwrap();
    let insert = sqlx::query(
        "INSERT INTO cupel_messages VALUES (?1, 1, 'k', 1, 1, x'00', NULL, NULL, zeroblob(9000000))",
    );
    let full = insert.bind(99_i64 << 32).execute(&mut file).await.unwrap_err();
    assert!(full.to_string().contains("full"), "{full}");
    file.close().await.unwrap();
    let archive = database.open().await;
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    conversation.append([big()]).await.unwrap();
    stored += 1;
    assert_eq!(conversation.recent(99).await.unwrap().len(), stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_an_error_and_with_it_back_the_next_call_works() {
    let Some(server) = Server::start() else { return };
    // Over TCP, where a server that is away refuses, and the pool tries again until its time is over.
    let address = server.tcp_address(&server.database(), PASSWORD);
    let wait = Duration::from_secs(1);
    let archive = Archive::builder(&address).lock_timeout(wait).open().await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    conversation.append([ArchiveMessage::user("before")]).await.unwrap();

    // Its connections are cut, one by one, while it runs on.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name = 'tower-cupel-archive'";
    server.sql("postgres", cut);
    conversation.append([ArchiveMessage::user("after a lost connection")]).await.unwrap();

    server.stop();
    let error = conversation.append([ArchiveMessage::user("x")]).await.unwrap_err();
    assert_eq!(failure(&error), Failure::Connection, "{error}");
    assert!(!error.to_string().contains("lock"), "{error}");
    let error = conversation.search("before").await.unwrap_err();
    assert_eq!(failure(&error), Failure::Connection, "{error}");
    let error = Archive::builder(&address).lock_timeout(wait).open().await.unwrap_err();
    assert_eq!(failure(&error), Failure::Connection, "{error}");
    assert!(error.to_string().contains("does not answer"), "{error}");
    server.run();
    conversation.append([ArchiveMessage::user("after a restart")]).await.unwrap();
    let all = conversation.recent(9).await.unwrap();
    let all: Vec<&str> = all.iter().map(|stored| stored.message.content.as_str()).collect();
    assert_eq!(all, ["before", "after a lost connection", "after a restart"]);
}
