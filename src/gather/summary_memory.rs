//! Summaries in memory.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::BoxError;
use super::summary_store::{
    ClaimOutcome, FoundSummaries, LeaseHolder, SummaryClaim, SummaryLedger, SummaryScope,
    SummaryStore,
};
use crate::conversation::plan::{StoredSummary, SummaryKey};

/// Summaries in the memory of this process, up to a bound. The entry that was not used for the longest time goes first.
///
/// Cheap to clone; all clones share the same summaries.
///
/// ```
/// use cupel::gather::MemorySummaries;
///
/// let store = MemorySummaries::new(1_000);
/// assert!(store.is_empty());
/// ```
#[derive(Clone)]
#[must_use]
pub struct MemorySummaries {
    kept: Arc<Mutex<SummaryEntries>>,
}

#[derive(Default)]
struct SummaryEntries {
    most: usize,
    entries: HashMap<(Arc<str>, SummaryKey), SummaryEntry>,
    /// Entries by the number of their last use.
    uses: BTreeMap<u64, (Arc<str>, SummaryKey)>,
    ledgers: HashMap<SummaryScope, (SummaryLedger, u64)>,
    ledger_uses: BTreeMap<u64, SummaryScope>,
    next_use: u64,
}

struct SummaryEntry {
    scope: SummaryScope,
    text: Option<Arc<str>>,
    asked_at: i64,
    lease: Option<(LeaseHolder, Instant)>,
    used: u64,
}

impl MemorySummaries {
    /// Keeps at most so many summaries, and the ledgers of as many conversations.
    pub fn new(entries: usize) -> Self {
        let kept = SummaryEntries { most: entries.max(1), ..SummaryEntries::default() };
        Self { kept: Arc::new(Mutex::new(kept)) }
    }

    /// Number of summaries, those that are being made among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock(|kept| kept.entries.len())
    }

    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock<T>(&self, work: impl FnOnce(&mut SummaryEntries) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SummaryEntries {
    fn number(&mut self) -> u64 {
        self.next_use += 1;
        self.next_use
    }

    /// The entry of a key, as the one that was used last.
    fn entry(&mut self, at: &(Arc<str>, SummaryKey)) -> Option<&mut SummaryEntry> {
        let used = self.number();
        let entry = self.entries.get_mut(at)?;
        let before = std::mem::replace(&mut entry.used, used);
        if let Some(at) = self.uses.remove(&before) {
            self.uses.insert(used, at);
        }
        Some(entry)
    }

    fn ledger(&mut self, scope: &SummaryScope) -> &mut SummaryLedger {
        let used = self.number();
        if let Some((_, before)) = self.ledgers.get(scope) {
            self.ledger_uses.remove(before);
        } else if self.ledgers.len() >= self.most {
            if let Some((_, oldest)) = self.ledger_uses.pop_first() {
                self.ledgers.remove(&oldest);
            }
        }
        self.ledger_uses.insert(used, scope.clone());
        let slot = self.ledgers.entry(scope.clone()).or_default();
        slot.1 = used;
        &mut slot.0
    }

    fn claim(&mut self, scope: &SummaryScope, claim: &SummaryClaim) -> ClaimOutcome {
        let now = Instant::now();
        let at = (Arc::clone(&scope.tenant), claim.key);
        if let Some(entry) = self.entry(&at) {
            entry.asked_at = entry.asked_at.max(claim.asked_at);
            if entry.text.is_some() {
                return ClaimOutcome::Finished;
            }
            if entry.lease.as_ref().is_some_and(|(_, until)| *until > now) {
                return ClaimOutcome::Held;
            }
        }
        let Some(lease) = claim.lease else { return ClaimOutcome::Held };
        let ledger = self.ledger(scope);
        if !ledger.allows(claim.cost, claim.budget) {
            return ClaimOutcome::OverBudget;
        }
        ledger.spent += claim.cost;
        // A time too far away never comes.
        let until = now.checked_add(lease).unwrap_or(now + Duration::from_secs(86_400));
        let lease = Some((claim.holder, until));
        if let Some(entry) = self.entry(&at) {
            entry.lease = lease;
            return ClaimOutcome::Granted;
        }
        while self.entries.len() >= self.most {
            let Some((_, oldest)) = self.uses.pop_first() else { break };
            self.entries.remove(&oldest);
        }
        let used = self.number();
        let asked_at = claim.asked_at;
        let entry = SummaryEntry { scope: scope.clone(), text: None, asked_at, lease, used };
        self.uses.insert(used, at.clone());
        self.entries.insert(at, entry);
        ClaimOutcome::Granted
    }
}

#[async_trait]
impl SummaryStore for MemorySummaries {
    async fn find(
        &self,
        scope: &SummaryScope,
        keys: &[SummaryKey],
    ) -> Result<FoundSummaries, BoxError> {
        Ok(self.lock(|kept| {
            let summaries = keys.iter().map(|key| {
                let entry = kept.entry(&(Arc::clone(&scope.tenant), *key))?;
                Some(StoredSummary::new(entry.text.clone()?, entry.asked_at))
            });
            let summaries = summaries.collect();
            let ledger = kept.ledgers.get(scope).map(|(ledger, _)| *ledger).unwrap_or_default();
            FoundSummaries::new(summaries, ledger)
        }))
    }

    async fn claim(
        &self,
        scope: &SummaryScope,
        input_cost: f64,
        claims: &[SummaryClaim],
    ) -> Result<Vec<ClaimOutcome>, BoxError> {
        Ok(self.lock(|kept| {
            if input_cost > 0.0 {
                kept.ledger(scope).input_cost += input_cost;
            }
            claims.iter().map(|claim| kept.claim(scope, claim)).collect()
        }))
    }

    async fn finish(
        &self,
        scope: &SummaryScope,
        key: &SummaryKey,
        holder: LeaseHolder,
        text: &str,
    ) -> Result<bool, BoxError> {
        Ok(self.lock(|kept| {
            let Some(entry) = kept.entry(&(Arc::clone(&scope.tenant), *key)) else { return false };
            let holds = entry.lease.as_ref().is_some_and(|(held_by, _)| *held_by == holder);
            if entry.text.is_some() || !holds {
                return false;
            }
            (entry.text, entry.lease) = (Some(text.into()), None);
            true
        }))
    }

    async fn forget(&self, scope: &SummaryScope) -> Result<(), BoxError> {
        self.lock(|kept| {
            let SummaryEntries { entries, uses, ledgers, ledger_uses, .. } = kept;
            entries.retain(|_, entry| entry.scope != *scope);
            uses.retain(|_, at| entries.contains_key(at));
            if let Some((_, used)) = ledgers.remove(scope) {
                ledger_uses.remove(&used);
            }
        });
        Ok(())
    }
}

impl fmt::Debug for MemorySummaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySummaries").field("entries", &self.len()).finish()
    }
}
