//! Work that would hold up the executor, on Tokio's blocking pool or on spare threads.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{Either, select};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::Span;

use super::new_timer;
use crate::caught::{caught, message_of};
use crate::tokens::with_estimates;

/// Work that has not started on the pool after this long is taken back: something else may have
/// exhausted the pool, for ever.
const START_WITHIN: Duration = Duration::from_millis(100);

/// Shortest time to wait for a thread.
const LEAST_PATIENCE: Duration = Duration::from_millis(20);

/// Work of so many steps goes to the pool, unless a layer says otherwise: 2 ms.
pub(crate) const DEFAULT_THRESHOLD: u64 = 2_000_000;

/// Work that is taken back runs here below this many steps: 10 ms.
const MOST_HERE: u64 = 10_000_000;

/// Work that gets no spare thread for this long runs here: other work on them may hang for ever. A call
/// waits once, however many steps it has.
const SPARE_WITHIN: Duration = Duration::from_secs(1);

/// Threads of our own in this process, for longer work that is taken back.
static SPARE_THREADS: Semaphore = Semaphore::const_new(8);

/// Need of a call for long work that the pool does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkNeed {
    /// The call cannot go on without it: it runs on a spare thread.
    Required,
    /// The call goes on without it.
    Optional,
}

/// Runs the work of one call here, on Tokio's blocking pool, or on spare threads. It remembers which of them
/// had no room, so that no later step of the call waits for the same again.
#[derive(Debug)]
pub(crate) struct WorkPlace {
    /// Steps of about a nanosecond from which on work goes to the pool.
    threshold: u64,
    /// Longest time that work waits for the pool, and then for a spare thread.
    patience: (Duration, Duration),
    is_pool_full: AtomicBool,
    is_crowded: AtomicBool,
    has_estimates: AtomicBool,
}

impl WorkPlace {
    /// A place that waits for the pool and for spare threads no longer than `most`, together. It waits at least
    /// 20 ms: a thread needs some time to start.
    pub(crate) fn new(threshold: u64, most: Duration) -> Self {
        let most = most.max(LEAST_PATIENCE);
        let start = START_WITHIN.min(most);
        let spare = SPARE_WITHIN.min(most.saturating_sub(start));
        Self {
            threshold,
            patience: (start, spare),
            is_pool_full: AtomicBool::new(false),
            is_crowded: AtomicBool::new(false),
            has_estimates: AtomicBool::new(false),
        }
    }

    /// Returns true if tokens were estimated, because no thread was free to count them.
    pub(crate) fn has_estimates(&self) -> bool {
        self.has_estimates.load(Ordering::Relaxed)
    }

    /// Runs `work` here, or on the blocking pool if it takes at least as many steps as the threshold.
    /// Without a runtime there is no executor to hold up, and it runs here.
    ///
    /// # Errors
    ///
    /// [`NotRun`] if it panicked, was given up, or if the runtime is shutting down.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        steps: u64,
        need: WorkNeed,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        let pool = if steps >= self.threshold { Handle::try_current().ok() } else { None };
        match pool {
            None => caught(work).map_err(NotRun::Panicked),
            // Boxed, since most calls never get here and would carry its state around.
            Some(pool) => Box::pin(self.on_pool(pool, steps, need, work)).await,
        }
    }

    async fn on_pool<T: Send + 'static>(
        &self,
        pool: Handle,
        steps: u64,
        need: WorkNeed,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        let work = match self.is_pool_full.load(Ordering::Relaxed) {
            true => Err(work),
            false => start_on_pool(&pool, self.patience.0, work).await?,
        };
        let work = match work {
            Ok(done) => return Ok(done),
            Err(work) => work,
        };
        self.is_pool_full.store(true, Ordering::Relaxed);
        if steps < MOST_HERE {
            return caught(work).map_err(NotRun::Panicked);
        }
        if need == WorkNeed::Optional {
            return Err(NotRun::PoolBusy);
        }
        self.on_spare_thread(pool, work).await
    }

    /// Runs work on a thread that nobody else uses.
    async fn on_spare_thread<T: Send + 'static>(
        &self,
        runtime: Handle,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        let Some(turn) = self.spare_thread().await else { return self.in_haste(work) };
        let (span, slot) = (Span::current(), Arc::new(Mutex::new(Some(work))));
        let shared = Arc::clone(&slot);
        let (done, outcome) = oneshot::channel();
        let thread = std::thread::Builder::new().name("cupel".to_owned()).spawn(move || {
            let (_turn, _context) = (turn, runtime.enter());
            if let Some(work) = take(&shared).filter(|_| !done.is_closed()) {
                let _ = done.send(span.in_scope(|| caught(work)));
            }
        });
        let outcome = match if thread.is_err() { take(&slot) } else { None } {
            Some(work) => return self.in_haste(work), // the system has no thread left
            None => outcome.await.map_err(|_| NotRun::Cancelled)?,
        };
        outcome.map_err(NotRun::Panicked)
    }

    /// Permit for a spare thread. None if no thread becomes free in time.
    async fn spare_thread(&self) -> Option<SemaphorePermit<'static>> {
        if self.is_crowded.load(Ordering::Relaxed) {
            return SPARE_THREADS.try_acquire().ok();
        }
        let free = pin!(SPARE_THREADS.acquire());
        let timer = Instant::now().checked_add(self.patience.1).and_then(new_timer);
        let turn = match timer {
            None => free.await.ok(),
            Some(timer) => match select(free, timer).await {
                Either::Left((turn, _)) => turn.ok(),
                Either::Right(_) => None,
            },
        };
        self.is_crowded.store(turn.is_none(), Ordering::Relaxed);
        turn
    }

    /// Runs long work here. Texts that no cache knows are not counted, but estimated.
    fn in_haste<T>(&self, work: impl FnOnce() -> T) -> Result<T, NotRun> {
        let (done, has_estimates) = with_estimates(|| caught(work));
        self.has_estimates.fetch_or(has_estimates, Ordering::Relaxed);
        done.map_err(NotRun::Panicked)
    }
}

/// Runs work on the pool. Gives it back if the pool does not start it in time.
async fn start_on_pool<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
    pool: &Handle,
    within: Duration,
    work: W,
) -> Result<Result<T, W>, NotRun> {
    let span = Span::current();
    let slot = Arc::new(Mutex::new(Some(work)));
    let shared = Arc::clone(&slot);
    let mut task = AbortOnDrop(pool.spawn_blocking(move || {
        let work = take(&shared)?;
        Some(span.in_scope(work))
    }));
    let timer = Instant::now().checked_add(within).and_then(new_timer);
    let outcome = match timer {
        None => (&mut task.0).await,
        Some(timer) => match select(&mut task.0, timer).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => match take(&slot) {
                None => (&mut task.0).await, // it has started
                Some(work) => return Ok(Err(work)),
            },
        },
    };
    match outcome {
        Ok(Some(done)) => Ok(Ok(done)),
        Ok(None) => Err(NotRun::Cancelled),
        Err(error) => Err(match error.try_into_panic() {
            Ok(payload) => NotRun::Panicked(message_of(payload)),
            Err(_) => NotRun::Cancelled,
        }),
    }
}

/// Runs work here if it is short, and on Tokio's blocking pool if it would hold up the executor.
///
/// `steps` says how long the work takes, in nanoseconds. A rough number is enough. Work of less than 2 ms
/// ([`CupelLayer::DEFAULT_BLOCKING_THRESHOLD`](crate::layer::CupelLayer::DEFAULT_BLOCKING_THRESHOLD)) runs here.
///
/// Unlike `spawn_blocking`, it also ends if something else has exhausted the pool. Work that the pool does
/// not start within 100 ms runs here if it takes less than 10 ms, and otherwise on one of 8 spare threads.
/// All callers in the process share these threads, so the work must end by itself: give it computations,
/// not waits for others. If none of them is free for a second, the work runs here, and the library's counters
/// estimate new texts in it. Outside of a Tokio runtime all work runs here. In a runtime without timers
/// long work waits for the pool.
///
/// If the future is dropped, work that has not started never does.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let text = "a long text ".repeat(100_000);
/// let steps = text.len() as u64 * 8;
/// let words = cupel::layer::off_executor(steps, move || text.split_whitespace().count()).await?;
/// assert_eq!(words, 300_000);
/// # Ok::<(), cupel::layer::WorkError>(())
/// # }).unwrap();
/// ```
///
/// # Errors
///
/// Returns an error if the work panics, or if the runtime shuts down before the work starts.
pub async fn off_executor<T: Send + 'static>(
    steps: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WorkError> {
    let place = WorkPlace::new(DEFAULT_THRESHOLD, START_WITHIN + SPARE_WITHIN);
    Ok(place.run(steps, WorkNeed::Required, work).await?)
}

/// Error of [`off_executor`]: the work panicked, or the runtime is shutting down.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WorkError(#[from] NotRun);

/// Takes work that nobody has started.
fn take<W>(slot: &Mutex<Option<W>>) -> Option<W> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Reason for work that came to no end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRun {
    /// It panicked, with this message.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    Cancelled,
    /// The pool did not start it in time, and the call can do without it.
    #[error("the blocking pool is busy")]
    PoolBusy,
}

/// Withdraws work that has not begun when its call is dropped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
