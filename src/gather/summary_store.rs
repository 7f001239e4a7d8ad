//! Stores of summaries, which replicas share.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::BoxError;
use crate::conversation::plan::{StoredSummary, SummaryKey};

/// The conversation that a summary belongs to. It is deleted with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct SummaryScope {
    /// Tenant; empty where there is only one.
    pub tenant: Arc<str>,
    /// Name of the conversation.
    pub conversation: Arc<str>,
}

impl SummaryScope {
    /// A conversation of a tenant.
    pub fn new(tenant: impl Into<Arc<str>>, conversation: impl Into<Arc<str>>) -> Self {
        Self { tenant: tenant.into(), conversation: conversation.into() }
    }
}

/// Keeps summaries, and the leases of those that are being made.
///
/// All replicas that use one store send the same bytes for the same request. A call looks summaries up once,
/// under a deadline; everything else happens in the background. A store that is down, slow or full costs
/// nothing but the summaries.
///
/// Keys tell tenants apart, so two conversations of one tenant that begin alike share a summary.
#[async_trait]
pub trait SummaryStore: Send + Sync {
    /// Finished summaries by their keys, in the order of `keys`, and the ledger of the conversation.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from answering: the call goes on without summaries.
    async fn find(
        &self,
        scope: &SummaryScope,
        keys: &[SummaryKey],
    ) -> Result<FoundSummaries, BoxError>;

    /// Adds to the conversation's ledger, and claims the work on summaries, in one step for all replicas.
    /// Answers each claim, in their order.
    ///
    /// A claim raises [`StoredSummary::asked_at`] of its entry to its own, if there is an entry. It is granted if there is
    /// no finished summary, nobody holds a lease that has not expired, and the ledger allows the cost,
    /// which is then added to it.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from answering: no summary is made.
    async fn claim(
        &self,
        scope: &SummaryScope,
        input_cost: f64,
        claims: &[SummaryClaim],
    ) -> Result<Vec<ClaimOutcome>, BoxError>;

    /// Keeps a summary, if `holder` still holds the lease. Returns true if it does.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from writing: the summary is lost, and made again when the lease has expired.
    async fn finish(
        &self,
        scope: &SummaryScope,
        key: &SummaryKey,
        holder: LeaseHolder,
        text: &str,
    ) -> Result<bool, BoxError>;

    /// Deletes the summaries and the ledger of a conversation.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from deleting. Nothing may be left if it succeeds.
    async fn forget(&self, scope: &SummaryScope) -> Result<(), BoxError>;
}

#[async_trait]
impl<S: SummaryStore + ?Sized> SummaryStore for Arc<S> {
    async fn find(
        &self,
        scope: &SummaryScope,
        keys: &[SummaryKey],
    ) -> Result<FoundSummaries, BoxError> {
        (**self).find(scope, keys).await
    }

    async fn claim(
        &self,
        scope: &SummaryScope,
        input_cost: f64,
        claims: &[SummaryClaim],
    ) -> Result<Vec<ClaimOutcome>, BoxError> {
        (**self).claim(scope, input_cost, claims).await
    }

    async fn finish(
        &self,
        scope: &SummaryScope,
        key: &SummaryKey,
        holder: LeaseHolder,
        text: &str,
    ) -> Result<bool, BoxError> {
        (**self).finish(scope, key, holder, text).await
    }

    async fn forget(&self, scope: &SummaryScope) -> Result<(), BoxError> {
        (**self).forget(scope).await
    }
}

impl fmt::Debug for dyn SummaryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SummaryStore")
    }
}

/// Answer of [`SummaryStore::find`].
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FoundSummaries {
    /// One for each key.
    pub summaries: Vec<Option<StoredSummary>>,
    /// Costs of the conversation so far.
    pub ledger: SummaryLedger,
}

impl FoundSummaries {
    /// Summaries in the order of their keys, and the ledger.
    #[must_use]
    pub fn new(summaries: Vec<Option<StoredSummary>>, ledger: SummaryLedger) -> Self {
        Self { summaries, ledger }
    }
}

/// Costs of a conversation, in new input tokens of its model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct SummaryLedger {
    /// Input of all its calls.
    pub input_cost: f64,
    /// Summaries that were begun.
    pub spent: f64,
}

impl SummaryLedger {
    /// A ledger with these sums.
    #[must_use]
    pub fn new(input_cost: f64, spent: f64) -> Self {
        Self { input_cost, spent }
    }

    /// Returns true if a share of the input pays for one more summary.
    #[must_use]
    pub fn allows(&self, cost: f64, share: f64) -> bool {
        cost <= 0.0 || self.spent + cost <= self.input_cost * share
    }
}

/// Random number that tells one holder of a lease from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseHolder(pub i64);

impl LeaseHolder {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        Self(RandomState::new().build_hasher().finish() as i64)
    }
}

/// Wish to make a summary.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SummaryClaim {
    /// Key of the summary.
    pub key: SummaryKey,
    /// Place of the cut; see [`StoredSummary::asked_at`].
    pub asked_at: i64,
    /// Time after which another one may begin. None if nothing shall be begun: then only the place is noted.
    pub lease: Option<Duration>,
    /// Holder of the lease.
    pub holder: LeaseHolder,
    /// Cost of the summary, in new input tokens of the conversation's model.
    pub cost: f64,
    /// Share of the conversation's input cost that summaries may cost.
    pub budget: f64,
}

impl SummaryClaim {
    /// A claim for a summary that is asked for under this cut. It costs nothing.
    #[must_use]
    pub fn new(key: SummaryKey, asked_at: i64, lease: impl Into<Option<Duration>>) -> Self {
        let holder = LeaseHolder::random();
        Self { key, asked_at, lease: lease.into(), holder, cost: 0.0, budget: 1.0 }
    }

    /// Sets the cost, and the share of the conversation's input cost that all summaries may cost.
    #[must_use]
    pub fn cost(mut self, cost: f64, budget: f64) -> Self {
        (self.cost, self.budget) = (cost, budget);
        self
    }
}

/// Answer to a [`SummaryClaim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClaimOutcome {
    /// The holder may begin.
    Granted,
    /// The summary is finished.
    Finished,
    /// Another holder has the lease, or nothing was to be begun.
    Held,
    /// The budget is used up.
    OverBudget,
}
