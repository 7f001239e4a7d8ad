//! Settings of summaries in a layer, and the work on them in the background.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::summary_report::SummaryProblem;
use crate::conversation::plan::{SummaryKey, SummaryRules};
use crate::gather::{Compactor, SummaryScope, SummaryStore};

/// Puts summaries in the place of what left the window.
///
/// A conversation is cut at lines of a grid. The part between two lines is a cell. A cell is summarised in
/// the background while it is still sent, and its summary is used once the cell has left the window. It
/// stands behind the [standing orders](crate::conversation::plan::StandingBlock), as quoted text.
///
/// A call never waits for a summary, unless [`wait`](Self::wait) is set. It looks summaries up in the store
/// for at most [`lookup_deadline`](Self::lookup_deadline). Without a Tokio runtime with timers nothing is
/// looked up or made.
///
/// ```
/// use cupel::gather::{MemorySummaries, OutlineCompactor, SummaryScope};
/// use cupel::layer::{Compaction, ContextRequest, ContextRequestAdapter, CupelLayer};
/// use cupel::{ContextBudget, Policy};
///
/// // The payload of a request is the name of its conversation.
/// let compaction = Compaction::new(
///     OutlineCompactor::new(),
///     MemorySummaries::new(10_000),
///     |request: &ContextRequest<String>| Some(SummaryScope::new("", request.payload.as_str())),
/// );
/// let layer = CupelLayer::builder()
///     .adapter(ContextRequestAdapter)
///     .policy(Policy::chat())
///     .budget(ContextBudget::builder(8_192).build()?)
///     .compaction(compaction)
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Compaction<Req> {
    pub(super) scope: Arc<ScopeOf<Req>>,
    pub(super) settings: Arc<CompactionSettings>,
}

/// Names the conversation of a request, if it has one.
type ScopeOf<Req> = dyn Fn(&Req) -> Option<SummaryScope> + Send + Sync;

/// Everything but the scope, shared with the work in the background.
pub(super) struct CompactionSettings {
    pub(super) compactor: Arc<dyn Compactor>,
    pub(super) store: Arc<dyn SummaryStore>,
    rules: SummaryRules,
    pub(super) lookup_deadline: Duration,
    pub(super) deadline: Duration,
    pub(super) wait: Option<Duration>,
    pub(super) budget: f64,
    most: usize,
    /// One for each summary that is being made.
    work: Arc<Semaphore>,
    /// One for each call whose work is not over.
    tasks: Arc<Semaphore>,
    problems: Arc<Mutex<VecDeque<(SummaryKey, SummaryProblem)>>>,
}

/// Most calls whose work is not over. Further ones begin nothing.
const TASKS: u32 = 64;
/// Most problems that are remembered.
const PROBLEMS: usize = 256;
/// Time that another replica leaves a summary alone after its maker's deadline.
const GRACE: Duration = Duration::from_secs(30);

impl<Req> Compaction<Req> {
    /// Time that looking up takes at most, unless set.
    pub const DEFAULT_LOOKUP_DEADLINE: Duration = Duration::from_millis(50);
    /// Time that making a summary takes at most, unless set.
    pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);
    /// Share of a conversation's input cost that its summaries may cost, unless set.
    pub const DEFAULT_BUDGET: f64 = 0.05;

    /// Summaries by this compactor, kept in this store. `scope` names the conversation of a request; a
    /// request without a name gets no summaries.
    pub fn new(
        compactor: impl Compactor + 'static,
        store: impl SummaryStore + 'static,
        scope: impl Fn(&Req) -> Option<SummaryScope> + Send + Sync + 'static,
    ) -> Self {
        let compactor: Arc<dyn Compactor> = Arc::new(compactor);
        let rules = SummaryRules::new(compactor.name(), compactor.version());
        let settings = CompactionSettings {
            compactor,
            store: Arc::new(store),
            rules,
            lookup_deadline: Self::DEFAULT_LOOKUP_DEADLINE,
            deadline: Self::DEFAULT_DEADLINE,
            wait: None,
            budget: Self::DEFAULT_BUDGET,
            most: 4,
            work: Arc::new(Semaphore::new(4)),
            tasks: Arc::new(Semaphore::new(TASKS as usize)),
            problems: Arc::default(),
        };
        Self { scope: Arc::new(scope), settings: Arc::new(settings) }
    }

    fn set(mut self, change: impl FnOnce(&mut CompactionSettings)) -> Self {
        let settings = &*self.settings;
        let mut changed = settings.clone();
        change(&mut changed);
        self.settings = Arc::new(changed);
        self
    }

    /// Sets the share of the window that summaries take at most. See [`SummaryRules::share`].
    pub fn share(self, share: f64) -> Self {
        self.set(|it| it.rules = it.rules.clone().share(share))
    }

    /// Sets the tokens that one summary has at most. See [`SummaryRules::limit`].
    pub fn limit(self, tokens: i64) -> Self {
        self.set(|it| it.rules = it.rules.clone().limit(tokens))
    }

    /// Sets the time that looking up takes at most; 50 ms unless set.
    pub fn lookup_deadline(self, deadline: Duration) -> Self {
        self.set(|it| it.lookup_deadline = deadline)
    }

    /// Sets the time that making a summary takes at most; 60 s unless set. If it fails or the process dies,
    /// the summary is begun again 30 s after the deadline, by any replica.
    pub fn deadline(self, deadline: Duration) -> Self {
        self.set(|it| it.deadline = deadline)
    }

    /// Waits this long for the summaries of what has left the window; a call does not wait unless set.
    pub fn wait(self, wait: Duration) -> Self {
        self.set(|it| it.wait = Some(wait))
    }

    /// Sets the share of a conversation's input cost that its summaries may cost; 5 % unless set.
    pub fn budget(self, share: f64) -> Self {
        self.set(|it| it.budget = share)
    }

    /// Sets the number of summaries that are made at the same time; 4 unless set.
    pub fn at_once(self, summaries: usize) -> Self {
        self.set(|it| {
            let summaries = summaries.min(Semaphore::MAX_PERMITS);
            (it.most, it.work) = (summaries, Arc::new(Semaphore::new(summaries)));
        })
    }

    /// A handle that waits for the work in the background, for a shutdown.
    pub fn work(&self) -> CompactionWork {
        CompactionWork { tasks: Arc::clone(&self.settings.tasks) }
    }

    /// Error that says which setting is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        let it = &self.settings;
        let _ = it.rules.clone().check().map_err(|error| error.to_string())?;
        let name = it.compactor.name();
        it.compactor.price().check().map_err(|problem| format!("compactor {name:?} {problem}"))?;
        let times = [
            ("lookup_deadline", Some(it.lookup_deadline)),
            ("deadline", Some(it.deadline)),
            ("wait", it.wait),
        ];
        for (field, time) in times {
            if time == Some(Duration::ZERO) {
                return Err(format!("compaction.{field} is zero, expected a time above zero"));
            }
        }
        if !(0.0..=1.0).contains(&it.budget) {
            let budget = it.budget;
            return Err(format!("compaction.budget must be between 0 and 1, got {budget}"));
        }
        if it.most == 0 {
            return Err("compaction.at_once must be at least 1, got 0".to_owned());
        }
        Ok(())
    }
}

/// Waits for the summaries that a layer makes in the background.
#[derive(Clone)]
#[must_use]
pub struct CompactionWork {
    tasks: Arc<Semaphore>,
}

impl CompactionWork {
    /// Waits until no summary is being made. Calls that begin meanwhile make none.
    pub async fn settled(&self) {
        // The semaphore is never closed.
        let _ = self.tasks.acquire_many(TASKS).await;
    }
}

impl CompactionSettings {
    /// The rules for a tenant.
    pub(super) fn rules(&self, tenant: &Arc<str>) -> SummaryRules {
        self.rules.clone().tenant(Arc::clone(tenant))
    }

    /// Time after which another replica may begin a summary.
    pub(super) fn lease(&self) -> Duration {
        self.deadline.saturating_add(GRACE)
    }

    /// Permission to make a summary. None if enough are being made.
    pub(super) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.work).try_acquire_owned().ok()
    }

    /// Permission to leave work behind. None if too much has not ended.
    pub(super) fn task_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.tasks).try_acquire_owned().ok()
    }

    /// Remembers why a summary was not made, for the next report.
    pub(super) fn note(&self, key: SummaryKey, problem: Option<SummaryProblem>) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.retain(|(other, _)| *other != key);
        if let Some(problem) = problem {
            if problems.len() >= PROBLEMS {
                problems.pop_front();
            }
            problems.push_back((key, problem));
        }
    }

    /// Why a summary was not made, if that was tried here.
    pub(super) fn problem(&self, key: &SummaryKey) -> Option<SummaryProblem> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.iter().find(|(other, _)| other == key).map(|(_, problem)| problem.clone())
    }
}

impl Clone for CompactionSettings {
    fn clone(&self) -> Self {
        Self {
            compactor: Arc::clone(&self.compactor),
            store: Arc::clone(&self.store),
            rules: self.rules.clone(),
            lookup_deadline: self.lookup_deadline,
            deadline: self.deadline,
            wait: self.wait,
            budget: self.budget,
            most: self.most,
            work: Arc::clone(&self.work),
            tasks: Arc::clone(&self.tasks),
            problems: Arc::clone(&self.problems),
        }
    }
}

impl<Req> Clone for Compaction<Req> {
    fn clone(&self) -> Self {
        Self { scope: Arc::clone(&self.scope), settings: Arc::clone(&self.settings) }
    }
}

impl<Req> fmt::Debug for Compaction<Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction")
            .field("compactor", &self.settings.compactor)
            .field("rules", &self.settings.rules)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CompactionWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = TASKS as usize - self.tasks.available_permits().min(TASKS as usize);
        f.debug_struct("CompactionWork").field("open", &open).finish()
    }
}
