//! The queue between a service and the archive.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::share::{Counts, Share};
use crate::append::Append;
use crate::conversation::ConversationHandle;
use crate::error::Result;

/// Number of attempts while the database is busy or unreachable.
const TRIES: u32 = 5;
/// Wait after the first failed attempt. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Writes messages in the background. Cheap to clone; all clones share their queues.
///
/// Messages of one conversation are written in the order in which their calls ended. When the last
/// clone is gone, what is queued is still written, as long as the runtime lives.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<RecorderState>,
}

struct RecorderState {
    capacity: usize,
    lanes: OnceLock<Vec<mpsc::Sender<RecorderJob>>>,
    hasher: RandomState,
    counts: Arc<Counts>,
}

enum RecorderJob {
    Append(ConversationHandle, Append, Share),
    Flush(oneshot::Sender<()>),
}

impl Recorder {
    /// Default limit of waiting turns per queue.
    pub const DEFAULT_CAPACITY: usize = 256;

    /// Default limit of waiting bytes over all queues: 128 MiB.
    pub const DEFAULT_MAX_BYTES: usize = 128 << 20;

    /// Number of queues. A conversation always uses the same one.
    const LANES: usize = 4;

    /// A recorder with queues of the usual length. Its tasks begin with the first turn.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(Self::DEFAULT_CAPACITY)
    }

    /// A recorder in each of whose four queues so many turns may wait.
    #[must_use]
    pub fn with_capacity(turns: usize) -> Self {
        Self::build(turns.max(1), Self::DEFAULT_MAX_BYTES)
    }

    /// The same recorder, new and empty, that holds at most so many bytes: of turns that wait, and of
    /// calls that are not answered yet. A turn beyond them is dropped.
    #[must_use]
    pub fn with_max_bytes(self, bytes: usize) -> Self {
        Self::build(self.shared.capacity, bytes)
    }

    fn build(capacity: usize, max_bytes: usize) -> Self {
        let (lanes, hasher) = (OnceLock::new(), RandomState::new());
        let counts = Arc::new(Counts::new(max_bytes));
        Self { shared: Arc::new(RecorderState { capacity, lanes, hasher, counts }) }
    }

    /// Number of messages written. Messages that the archive already had are not counted.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.shared.counts.written.load(Ordering::Relaxed)
    }

    /// Number of dropped turns. A turn is dropped if its queue is full, too many bytes wait, there is no
    /// runtime, or the database fails longer than the retries last. Each drop is logged as a warning.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.counts.dropped.load(Ordering::Relaxed)
    }

    /// Bytes that wait to be written, including those of calls that are not answered yet.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.shared.counts.waiting_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn share(&self) -> Share {
        Share::new(Arc::clone(&self.shared.counts))
    }

    /// Waits until everything that was queued before is written or dropped, however long the database
    /// takes for it; see [`flush_within`](Self::flush_within).
    pub async fn flush(&self) {
        let mut flushed = Vec::new();
        for lane in self.shared.lanes.get().into_iter().flatten() {
            let (done, wait) = oneshot::channel();
            if lane.send(RecorderJob::Flush(done)).await.is_ok() {
                flushed.push(wait);
            }
        }
        for wait in flushed {
            let _ = wait.await;
        }
    }

    /// Waits for so long that everything is written or dropped. Returns how many turns still wait; a
    /// warning says it, too. They are tried on as long as the runtime lives.
    pub async fn flush_within(&self, limit: Duration) -> u64 {
        if tokio::time::timeout(limit, self.flush()).await.is_ok() {
            return 0;
        }
        let turns = self.shared.counts.waiting_turns.load(Ordering::Relaxed);
        tracing::warn!(target: "cupel", turns, ?limit, "turns are not archived yet");
        turns
    }

    /// Queues a turn, or counts that there was no room for it.
    pub(super) fn enqueue(
        &self,
        conversation: ConversationHandle,
        append: Append,
        mut share: Share,
    ) {
        let names = (conversation.namespace().name(), conversation.name());
        let hash = self.shared.hasher.hash_one(names);
        share.queue();
        let lanes = self.lanes();
        let lane = usize::try_from(hash % Self::LANES as u64).unwrap_or_default();
        let queued = lanes.and_then(|lanes| lanes.get(lane)).is_some_and(|lane| {
            lane.try_send(RecorderJob::Append(conversation, append, share)).is_ok()
        });
        if !queued {
            self.shared.counts.drop_one("the queue is full");
        }
    }

    /// The queues; none outside of a runtime.
    fn lanes(&self) -> Option<&Vec<mpsc::Sender<RecorderJob>>> {
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(self.shared.lanes.get_or_init(|| {
            let lane = || {
                let (sender, jobs) = mpsc::channel(self.shared.capacity);
                runtime.spawn(work(jobs));
                sender
            };
            std::iter::repeat_with(lane).take(Self::LANES).collect()
        }))
    }
}

/// Writes one queue's turns, one after another.
async fn work(mut jobs: mpsc::Receiver<RecorderJob>) {
    while let Some(job) = jobs.recv().await {
        match job {
            RecorderJob::Append(conversation, append, share) => {
                match write(&conversation, append).await {
                    Ok(count) => {
                        share.counts.written.fetch_add(count, Ordering::Relaxed);
                    }
                    Err(error) => share.counts.drop_one(&error.to_string()),
                }
            }
            RecorderJob::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// Appends messages, with some patience; returns how many were new.
async fn write(conversation: &ConversationHandle, append: Append) -> Result<u64> {
    let mut append = conversation.namespace.shared.prepare(append).await?;
    let mut wait = FIRST_WAIT;
    let mut tries = 1;
    loop {
        match conversation.append_prepared(&append).await {
            Ok(appended) => return Ok(u64::try_from(appended.count()).unwrap_or_default()),
            Err(error) if error.is_transient() && tries < TRIES => {
                if error.is_in_doubt() {
                    // It may have happened all the same: then its messages are there.
                    append.history = append.messages.len();
                }
                tokio::time::sleep(wait).await;
                wait *= 2;
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("capacity", &self.shared.capacity)
            .field("max_bytes", &self.shared.counts.max_bytes)
            .field("waiting_bytes", &self.waiting_bytes())
            .field("written", &self.written())
            .field("dropped", &self.dropped())
            .finish()
    }
}
