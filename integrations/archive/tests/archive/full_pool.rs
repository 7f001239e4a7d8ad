//! Calls end although something else holds the only thread of Tokio's blocking pool.

use std::sync::mpsc::channel;
use std::time::Duration;

use cupel_archive::{ArchiveMessage, Search};
use tokio::runtime::Builder;

use crate::support::Database;

/// Longer than anything takes that is going to happen.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_large_message_is_appended_and_found_while_the_blocking_pool_is_full() {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let (_release, busy) = channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    runtime.block_on(async {
        let archive = Database::sqlite().open().await;
        let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
        // One that takes long, and one that takes very long.
        for (times, number) in [(30_000, 1), (200_000, 2)] {
            let content = "the parcel is blue ".repeat(times);
            let append = conversation.append([ArchiveMessage::user(content.as_str())]);
            let appended = tokio::time::timeout(PATIENCE, append).await.unwrap().unwrap();
            assert_eq!(appended.numbers(), number..=number);
        }
        let search = conversation.search(Search::new("Which parcel is blue?"));
        let found = tokio::time::timeout(PATIENCE, search).await.unwrap().unwrap();
        assert_eq!(found.len(), 2);
    });
}
