//! Summaries of what left the window, in the archive's database.

use std::sync::Arc;

use async_trait::async_trait;
use cupel::conversation::plan::SummaryKey;
use cupel::gather::{
    BoxError, ClaimOutcome, FoundSummaries, LeaseHolder, SummaryClaim, SummaryScope, SummaryStore,
};

use crate::archive::Archive;
use crate::error::Result;
use crate::names;
use crate::shared::ArchiveState;

/// Keeps [summaries](cupel::layer::Compaction) beside the conversations, for all replicas.
///
/// The tenant of a [`SummaryScope`] is a namespace of the archive, and its conversation one of that namespace.
/// Both have a name. The conversation's messages need not be in the archive. Erasing messages of a
/// conversation erases its summaries.
///
/// Leases are compared with the clocks of the replicas. A clock that is wrong by more than 30 seconds may
/// have a summary made twice; only one is kept.
///
/// ```
/// use cupel::gather::{SummaryScope, SummaryStore as _};
/// use cupel_archive::Archive;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), cupel::gather::BoxError> {
/// let archive = Archive::open("sqlite::memory:").await?;
/// let found = archive.summaries().find(&SummaryScope::new("acme", "thread-1"), &[]).await?;
/// assert_eq!(found.ledger.spent, 0.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ArchiveSummaries {
    shared: Arc<ArchiveState>,
}

impl Archive {
    /// The store of summaries in this archive.
    #[must_use]
    pub fn summaries(&self) -> ArchiveSummaries {
        ArchiveSummaries { shared: Arc::clone(&self.shared) }
    }
}

/// Names of a scope that the database takes.
fn names_of(scope: &SummaryScope) -> Result<(&str, &str)> {
    names::checked("namespace", &scope.tenant)?;
    names::checked("conversation", &scope.conversation)?;
    Ok((&scope.tenant, &scope.conversation))
}

#[async_trait]
impl SummaryStore for ArchiveSummaries {
    async fn find(
        &self,
        scope: &SummaryScope,
        keys: &[SummaryKey],
    ) -> std::result::Result<FoundSummaries, BoxError> {
        let (namespace, conversation) = names_of(scope)?;
        let found = self.shared.store.find_summaries(namespace, conversation, keys);
        Ok(self.shared.within("find summaries", found).await?)
    }

    async fn claim(
        &self,
        scope: &SummaryScope,
        input_cost: f64,
        claims: &[SummaryClaim],
    ) -> std::result::Result<Vec<ClaimOutcome>, BoxError> {
        let (namespace, conversation) = names_of(scope)?;
        let store = &self.shared.store;
        let claimed = store.claim_summaries(namespace, conversation, input_cost, claims);
        Ok(self.shared.within("claim summaries", claimed).await?)
    }

    async fn finish(
        &self,
        scope: &SummaryScope,
        key: &SummaryKey,
        holder: LeaseHolder,
        text: &str,
    ) -> std::result::Result<bool, BoxError> {
        let (namespace, _) = names_of(scope)?;
        let kept = self.shared.store.finish_summary(namespace, key, holder, text);
        Ok(self.shared.within("keep a summary", kept).await?)
    }

    async fn forget(&self, scope: &SummaryScope) -> std::result::Result<(), BoxError> {
        let (namespace, conversation) = names_of(scope)?;
        let forgotten = self.shared.store.forget_summaries(namespace, conversation);
        Ok(self.shared.however_long(forgotten).await?)
    }
}
