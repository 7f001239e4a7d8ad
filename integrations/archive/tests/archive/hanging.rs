//! A server that hangs holds up nobody for longer than they want to wait.

use std::time::Duration;

use cupel_archive::record::{RecordedTurn, Recorder};
use cupel_archive::{Archive, ArchiveMessage};

use crate::sources::{ask, recall};
use crate::support::logs::Warnings;
use cupel_dev_servers::hanging::HangingServer;
use cupel_dev_servers::postgres;

/// Long enough for a server that answers; nobody waits for it in a test that passes.
const FOREVER: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn flushing_and_closing_end_with_their_deadline_while_the_server_hangs() {
    let Some(server) = postgres::shared() else { return };
    let server = HangingServer::in_front_of(server).await;
    let archive = Archive::builder(&server.address).timeout(FOREVER).open().await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let recorder = Recorder::new();
    let turn = || RecordedTurn::following(conversation.clone(), [ArchiveMessage::user("a")]);
    recorder.open(turn()).answered([ArchiveMessage::assistant("b")]);
    assert_eq!(recorder.flush_within(FOREVER).await, 0);
    server.hang();
    let (warnings, _listening) = Warnings::listen();
    recorder.open(turn()).answered([ArchiveMessage::assistant("b")]);
    recorder.open(turn()).answered([ArchiveMessage::assistant("b")]);
    assert_eq!(recorder.flush_within(SHORT).await, 2);
    assert!(!archive.close_within(SHORT).await);
    let lines = warnings.lines();
    assert!(lines.len() == 1 && lines[0].contains("turns=2"), "{lines:?}");
    assert_eq!((recorder.written(), recorder.dropped()), (2, 0));
}

#[tokio::test]
async fn an_archive_that_answers_is_closed_in_time() {
    let archive = Archive::open("sqlite::memory:").await.unwrap();
    assert!(archive.close_within(FOREVER).await);
}

#[tokio::test]
async fn a_recall_that_fails_is_one_warning_with_its_name_and_counted() {
    let archive = Archive::open("sqlite::memory:").await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let (warnings, _listening) = Warnings::listen();
    let ask = async || {
        let source = recall(&conversation).source("memory");
        let (sent, _) = ask("Which locker is mine?", vec![source], 60, false).await.unwrap();
        assert_eq!(sent, [""; 0]);
        warnings.lines()
    };
    let lines: Vec<String> = ask().await;
    assert_eq!((archive.failed_recalls(), lines.len()), (0, 0));
    archive.close().await;
    let lines: Vec<String> = ask().await;
    assert_eq!((archive.failed_recalls(), lines.len()), (1, 1));
    assert!(lines[0].contains("cupel.source.name=\"memory\""), "{lines:?}");
}

#[tokio::test]
async fn a_recall_that_the_server_does_not_answer_fails_with_its_deadline() {
    let Some(server) = postgres::shared() else { return };
    let server = HangingServer::in_front_of(server).await;
    let archive = Archive::open(&server.address).await.unwrap();
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    server.hang();
    let source = recall(&conversation).deadline(SHORT).source("memory").optional();
    let (sent, selection) = ask("Which locker is mine?", vec![source], 60, false).await.unwrap();
    assert_eq!(sent, [""; 0]);
    let outcome = format!("{:?}", selection.gather);
    assert!(outcome.contains("no answer within 100ms"), "{outcome}");
    assert_eq!(archive.failed_recalls(), 1);
}
