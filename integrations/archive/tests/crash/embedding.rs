//! Killed processes and servers, and a full disk, while messages are embedded: in the end each has its
//! vectors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cupel_archive::{Append, Archive, ArchiveEmbedder, ArchiveMessage};
use cupel_dev_servers::postgres::Server;

use crate::support::Database;
use crate::support::embedders::{Behaviour, Synonyms};
use crate::trouble::SmallDisk;
use crate::writer::Writer;

const FOREVER: Duration = Duration::from_secs(120);

const MESSAGES: &str = "SELECT count(*) FROM cupel_messages";
const VECTORS: &str = "SELECT count(*) FROM cupel_vectors";

/// Waits until all is embedded, through whatever errors there are on the way.
async fn all_embedded(archive: &Archive) {
    let until = Instant::now() + FOREVER;
    while archive.embed_within(Duration::from_millis(500)).await != Ok(0) {
        assert!(Instant::now() < until, "{:?}", archive.embedding_status().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn kill_embedders(database: &Database) {
    for round in 0..6 {
        let writer = Writer::start_embedding(&database.address, round);
        let until = Instant::now() + Duration::from_secs(30);
        while writer.count() == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(7 * round as u64));
        assert!(!writer.kill().is_empty());
    }
    let archive = database.open_with(&Arc::new(Synonyms::new("m"))).await;
    all_embedded(&archive).await;
    let messages = database.number(MESSAGES).await;
    assert!(messages > 0);
    // Each message is one piece.
    assert_eq!(database.number(VECTORS).await, messages);
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_embeds_what_processes_that_were_killed_left() {
    kill_embedders(&Database::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_embeds_what_processes_that_were_killed_left() {
    let Some(database) = Database::postgres().await else { return };
    kill_embedders(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_messages_are_embedded_has_all_vectors_in_the_end() {
    let Some(server) = Server::start() else { return };
    let address = server.address(&server.database());
    let embedder = ArchiveEmbedder::new(Synonyms::new("m")).batch(8);
    let wait = Duration::from_secs(2);
    let builder = Archive::builder(&address).embedder(embedder).lock_timeout(wait);
    let archive = builder.open().await.unwrap();
    let tenant = archive.namespace("t").unwrap();
    for round in 0..4 {
        let conversation = tenant.conversation(format!("{round}")).unwrap();
        let said = (0..150).map(|n| ArchiveMessage::user(format!("round {round} message {n}")));
        conversation.append(Append::new(said)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(13 * round)).await;
        server.kill();
        server.run();
    }
    all_embedded(&archive).await;
    archive.close().await;
    server.sql(
        server_database(&address),
        "DO $$ BEGIN ASSERT (SELECT count(*) FROM cupel_vectors) = 600; END $$",
    );
}

/// The database of an address.
fn server_database(address: &str) -> &str {
    let end = address.find('?').unwrap_or(address.len());
    address[..end].rsplit('/').next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_messages_wait_and_with_room_they_get_their_vectors() {
    let Some(disk) = SmallDisk::mount(8) else { return };
    let address = format!("sqlite://{}", disk.0.join("archive.db").display());
    let model = Arc::new(Synonyms::new("m"));
    model.behave(Behaviour::Fails);
    let embedder = ArchiveEmbedder::new(Arc::clone(&model));
    let archive = Archive::builder(&address).embedder(embedder).open().await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let said = (0..2_000).map(|n| ArchiveMessage::user(format!("message {n}")));
    conversation.append(Append::new(said)).await.unwrap();
    let filler = disk.0.join("filler");
    let mut room = 7 << 20;
    while std::fs::write(&filler, vec![0; room]).is_err() {
        room -= 16 << 10;
    }
    model.behave(Behaviour::Well);
    let left = archive.embed_within(Duration::from_secs(3)).await.unwrap();
    assert!(left > 0, "there is no room for all vectors");
    // It is searched all the same.
    assert!(!conversation.search("Which message 77?").await.unwrap().is_empty());
    std::fs::remove_file(&filler).unwrap();
    all_embedded(&archive).await;
    archive.close().await;
    let database = Archive::open(&address).await.unwrap();
    assert_eq!(database.forget_model("m").await.unwrap(), 2_000);
    database.close().await;
}
