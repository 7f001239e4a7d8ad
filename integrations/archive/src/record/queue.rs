//! The queue between a service and the archive.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::transcript::{OpenTurn, Turn};
use crate::append::Append;
use crate::conversation::Conversation;

/// How often an append is tried while the database is busy or away.
const TRIES: u32 = 5;
/// How long the first wait between two tries is; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Writes messages behind the back of a service. Cheap to clone; all clones share their queues.
///
/// Messages of one conversation are written in the order in which their calls ended. When the last
/// clone is gone, what is queued is still written, as long as the runtime lives.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

struct Shared {
    capacity: usize,
    lanes: OnceLock<Vec<mpsc::Sender<Job>>>,
    hasher: RandomState,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    written: AtomicU64,
    dropped: AtomicU64,
}

enum Job {
    Append(Conversation, Append),
    Flush(oneshot::Sender<()>),
}

impl Recorder {
    /// How many turns may wait in each queue, unless it is said otherwise.
    pub const DEFAULT_CAPACITY: usize = 256;

    /// How many queues there are. A conversation always goes through the same one.
    const LANES: usize = 4;

    /// A recorder with queues of the usual length. Its tasks begin with the first turn.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(Self::DEFAULT_CAPACITY)
    }

    /// A recorder in each of whose four queues so many turns may wait.
    #[must_use]
    pub fn with_capacity(turns: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                capacity: turns.max(1),
                lanes: OnceLock::new(),
                hasher: RandomState::new(),
                counts: Arc::default(),
            }),
        }
    }

    /// How many messages were written. Those that were archived before are not counted.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.shared.counts.written.load(Ordering::Relaxed)
    }

    /// How many turns were dropped: because a queue was full, there was no runtime, or the database
    /// did not take them for longer than it was tried.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.counts.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything that was queued before is written or dropped.
    pub async fn flush(&self) {
        let mut flushed = Vec::new();
        for lane in self.shared.lanes.get().into_iter().flatten() {
            let (done, wait) = oneshot::channel();
            if lane.send(Job::Flush(done)).await.is_ok() {
                flushed.push(wait);
            }
        }
        for wait in flushed {
            let _ = wait.await;
        }
    }

    /// Begins a turn whose answer is handed in later, for whoever is no service.
    pub fn open(&self, turn: Turn) -> OpenTurn {
        OpenTurn::new(self.clone(), turn)
    }

    /// Queues a turn, or counts that there was no room for it.
    pub(super) fn enqueue(&self, conversation: Conversation, append: Append) {
        let names = (conversation.namespace().name(), conversation.name());
        let hash = self.shared.hasher.hash_one(names);
        let lanes = self.lanes();
        let lane = usize::try_from(hash % Self::LANES as u64).unwrap_or_default();
        let queued = lanes
            .and_then(|lanes| lanes.get(lane))
            .is_some_and(|lane| lane.try_send(Job::Append(conversation, append)).is_ok());
        if !queued {
            self.shared.counts.drop_one("the queue is full");
        }
    }

    /// The queues; none outside of a runtime.
    fn lanes(&self) -> Option<&Vec<mpsc::Sender<Job>>> {
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(self.shared.lanes.get_or_init(|| {
            let lane = || {
                let (sender, jobs) = mpsc::channel(self.shared.capacity);
                runtime.spawn(work(jobs, Arc::clone(&self.shared.counts)));
                sender
            };
            std::iter::repeat_with(lane).take(Self::LANES).collect()
        }))
    }
}

impl Counts {
    fn drop_one(&self, why: &str) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(target: "cupel", why, "a turn was not archived");
    }
}

/// Writes one queue's turns, one after another.
async fn work(mut jobs: mpsc::Receiver<Job>, counts: Arc<Counts>) {
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Append(conversation, append) => write(&conversation, append, &counts).await,
            Job::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

async fn write(conversation: &Conversation, append: Append, counts: &Counts) {
    let mut wait = FIRST_WAIT;
    let mut append = append;
    for tried in 1.. {
        match conversation.append(append.clone()).await {
            Ok(appended) => {
                let count = u64::try_from(appended.count()).unwrap_or_default();
                counts.written.fetch_add(count, Ordering::Relaxed);
                return;
            }
            Err(error) if error.is_transient() && tried < TRIES => {
                if error.is_in_doubt() {
                    // It may have happened all the same: then its messages are there.
                    append = append.history(usize::MAX);
                }
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
            Err(error) => return counts.drop_one(&error.to_string()),
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
            .field("written", &self.written())
            .field("dropped", &self.dropped())
            .finish()
    }
}
