//! Eight processes open a new archive at once.

use std::process::{Command, Stdio};

use cupel_archive::{Archive, ArchiveMessage};

use cupel_dev_servers::postgres;

use crate::support::Database;

const PROCESSES: usize = 8;

/// The body of the processes.
#[test]
#[ignore = "is started by the other tests"]
fn open_and_append() {
    let Ok(address) = std::env::var("CUPEL_TEST_ARCHIVE") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let archive = Archive::open(&address).await.unwrap();
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        conversation.append([ArchiveMessage::user("here")]).await.unwrap();
    });
}

async fn race(address: &str) {
    let processes = (0..PROCESSES).map(|_| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "migrations::open_and_append", "--ignored", "--nocapture"])
            .env("CUPEL_TEST_ARCHIVE", address)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    for process in processes.collect::<Vec<_>>() {
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stdout));
    }
    let archive = Archive::open(address).await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let all = conversation.recent(99).await.unwrap();
    let numbers: Vec<i64> = all.iter().map(|stored| stored.number).collect();
    assert_eq!(numbers, (1..=PROCESSES as i64).collect::<Vec<_>>());
}

#[tokio::test]
async fn eight_processes_open_a_new_file_at_once() {
    for _ in 0..3 {
        race(&Database::sqlite().address).await;
    }
}

#[tokio::test]
async fn eight_processes_open_a_new_database_at_once() {
    let Some(server) = postgres::shared() else { return };
    for _ in 0..3 {
        race(&server.address(&server.database())).await;
    }
}
