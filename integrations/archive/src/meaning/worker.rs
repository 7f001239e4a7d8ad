//! The task that embeds messages after they were appended.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::queue::NewMessages;
use super::rounds::Rounds;
use crate::shared::ArchiveState;

/// Time after which all conversations are looked at again, for what other processes have appended.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Wait after the first failure. Each further wait is twice as long, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Embeds until the archive is gone.
pub(crate) async fn embed_in_background(
    archive: Weak<ArchiveState>,
    new_messages: Arc<NewMessages>,
) {
    let mut looked: Option<Instant> = None;
    let mut wait = FIRST_WAIT;
    loop {
        let (conversations, others) = new_messages.take();
        let again = looked.is_none_or(|looked| looked.elapsed() >= LOOK_AGAIN);
        let done = {
            let Some(archive) = archive.upgrade() else { return };
            let Some(rounds) = Rounds::of(&archive) else { return };
            if others || again {
                looked = Some(Instant::now());
                rounds.all().await
            } else {
                rounds.some(conversations).await
            }
        };
        match done {
            Ok(()) => wait = FIRST_WAIT,
            Err(failure) => {
                failure.report(wait);
                // Nobody knows where it stopped.
                new_messages.add_all();
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
                continue;
            }
        }
        let _ = tokio::time::timeout(LOOK_AGAIN, new_messages.notify.notified()).await;
    }
}
