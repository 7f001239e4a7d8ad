//! The work on summaries that a call leaves behind: claims, compactors under a deadline, the store.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{Either, join_all, select};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::compaction::CompactionSettings;
use super::summary_report::SummaryProblem;
use crate::caught::{caught, discard, message_of};
use crate::conversation::plan::{CellContent, is_usable};
use crate::gather::{BoxError, ClaimOutcome, SummaryClaim, SummaryScope, new_timer};
use crate::tokens::TokenCounter;

/// Time that the store may take in the background.
const STORE_DEADLINE: Duration = Duration::from_secs(5);

/// A summary that is to be made, or whose absence is to be noted.
pub(super) struct SummaryJob {
    pub(super) claim: SummaryClaim,
    /// None if it is only noted.
    pub(super) work: Option<SummaryWork>,
}

/// A cell for a compactor.
pub(super) struct SummaryWork {
    pub(super) content: CellContent,
    pub(super) limit: i64,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) permit: OwnedSemaphorePermit,
}

/// The work of one call.
pub(super) struct CompactionTask {
    pub(super) settings: Arc<CompactionSettings>,
    pub(super) scope: SummaryScope,
    pub(super) input_cost: f64,
    pub(super) jobs: Vec<SummaryJob>,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl CompactionTask {
    /// The work of one call. None if too much has not ended.
    pub(super) fn new(
        settings: &Arc<CompactionSettings>,
        scope: SummaryScope,
        input_cost: f64,
        jobs: Vec<SummaryJob>,
    ) -> Option<Self> {
        let _permit = settings.task_permit()?;
        Some(Self { settings: Arc::clone(settings), scope, input_cost, jobs, _permit })
    }

    /// Claims the summaries, and makes those that are granted. Returns true if another holder is at work on
    /// one.
    pub(super) async fn run(self) -> bool {
        let Self { settings, scope, input_cost, jobs, _permit } = self;
        let claims: Vec<SummaryClaim> = jobs.iter().map(|job| job.claim.clone()).collect();
        let claimed = async { settings.store.claim(&scope, input_cost, &claims).await };
        let answers = match within(STORE_DEADLINE, claimed).await {
            Ok(answers) => answers,
            Err(problem) => {
                for claim in claims {
                    settings.note(claim.key, Some(problem.clone()));
                }
                return false;
            }
        };
        let mut others = false;
        let mut granted = Vec::new();
        for (job, answer) in jobs.into_iter().zip(answers) {
            let key = job.claim.key;
            match (answer, job.work) {
                (ClaimOutcome::Granted, Some(work)) => {
                    granted.push(make(&settings, &scope, job.claim, work));
                }
                (ClaimOutcome::OverBudget, _) => {
                    settings.note(key, Some(SummaryProblem::OverBudget));
                }
                (ClaimOutcome::Held, _) => others = true,
                _ => {}
            }
        }
        join_all(granted).await;
        others
    }
}

/// Makes a summary and keeps it.
async fn make(
    settings: &CompactionSettings,
    scope: &SummaryScope,
    claim: SummaryClaim,
    work: SummaryWork,
) {
    let SummaryWork { content, limit, counter, permit } = work;
    let text = async { settings.compactor.compact(&content, limit).await };
    let text = within(settings.deadline, text).await;
    drop(permit);
    let problem = match text {
        Err(problem) => Some(problem),
        Ok(text) => match fault(&text, limit, &*counter) {
            Some(problem) => Some(problem),
            None => {
                let text = text.trim();
                let SummaryClaim { key, holder, .. } = &claim;
                let finish = async { settings.store.finish(scope, key, *holder, text).await };
                within(STORE_DEADLINE, finish).await.err()
            }
        },
    };
    if let Some(problem) = &problem {
        tracing::event!(
            name: "cupel.summary.failed",
            target: crate::diagnostics::TARGET,
            tracing::Level::WARN,
            cupel.compactor.name = settings.compactor.name(),
            cupel.summary.problem = problem.name(),
        );
    }
    settings.note(claim.key, problem);
}

/// Why a text is not used.
fn fault(text: &str, limit: i64, counter: &dyn TokenCounter) -> Option<SummaryProblem> {
    if text.trim().is_empty() {
        return Some(SummaryProblem::Empty);
    }
    let usable = caught(|| is_usable(text.trim(), limit, counter)).unwrap_or(false);
    (!usable).then_some(SummaryProblem::TooLong)
}

/// Runs code that users wrote under a deadline. Its errors and panics are problems.
pub(super) async fn within<T>(
    deadline: Duration,
    work: impl Future<Output = Result<T, BoxError>> + Send,
) -> Result<T, SummaryProblem> {
    let Some(timer) = Instant::now().checked_add(deadline).and_then(new_timer) else {
        return Err(SummaryProblem::NoTimer);
    };
    let work = Box::pin(AssertUnwindSafe(work).catch_unwind());
    match select(work, timer).await {
        Either::Left((Ok(Ok(done)), _)) => Ok(done),
        Either::Left((Ok(Err(error)), _)) => {
            let text = caught(|| error.to_string());
            discard(error);
            Err(SummaryProblem::Failed { error: text.unwrap_or_else(|_| "no message".to_owned()) })
        }
        Either::Left((Err(payload), _)) => {
            Err(SummaryProblem::Panicked { message: message_of(payload) })
        }
        Either::Right((_, work)) => {
            discard(work);
            Err(SummaryProblem::Late)
        }
    }
}
