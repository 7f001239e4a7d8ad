//! Summaries in the database: found, leased, kept and erased.

use chrono::Utc;
use cupel::conversation::plan::{StoredSummary, SummaryKey};
use cupel::gather::{ClaimOutcome, FoundSummaries, LeaseHolder, SummaryClaim, SummaryLedger};

use super::Store;
use super::backend::{List, Transaction};
use crate::error::{ArchiveError, Result};

const FIND: &str = "find summaries";
const CLAIM: &str = "claim summaries";
const FINISH: &str = "keep a summary";
const ERASE: &str = "erase summaries";

const LEDGER: &str = "SELECT input_cost, spent FROM cupel_summary_costs
                      WHERE namespace = $1 AND conversation = $2";

impl Store {
    pub(crate) async fn find_summaries(
        &self,
        namespace: &str,
        conversation: &str,
        keys: &[SummaryKey],
    ) -> Result<FoundSummaries> {
        const IN_SQLITE: &str = "SELECT key, content, asked_at FROM cupel_summaries
            WHERE namespace = $1 AND key IN (SELECT value FROM json_each($2)) AND content IS NOT NULL";
        const IN_POSTGRES: &str = "SELECT key, content, asked_at FROM cupel_summaries
            WHERE namespace = $1 AND key = ANY($2) AND content IS NOT NULL";
        let wanted: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let mut connection = self.connection(FIND).await?;
        let sql = if connection.is_sqlite() { IN_SQLITE } else { IN_POSTGRES };
        let rows = connection.rows(sql, &[&namespace, &List(wanted.clone())]).await?;
        let ledger = connection.row(LEDGER, &[&namespace, &conversation]).await?;
        drop(connection);
        let ledger = ledger.map(|row| Ok(SummaryLedger::new(row.get(0)?, row.get(1)?)));
        let mut summaries = vec![None; keys.len()];
        for row in rows {
            let (key, content): (&str, &[u8]) = (row.get(0)?, row.get(1)?);
            let text = std::str::from_utf8(content);
            let text = text.map_err(|error| ArchiveError::corrupt(FIND, error))?;
            let asked_at = row.get(2)?;
            for (slot, _) in summaries.iter_mut().zip(&wanted).filter(|(_, it)| *it == key) {
                *slot = Some(StoredSummary::new(text, asked_at));
            }
        }
        Ok(FoundSummaries::new(summaries, ledger.transpose()?.unwrap_or_default()))
    }

    pub(crate) async fn claim_summaries(
        &self,
        namespace: &str,
        conversation: &str,
        input_cost: f64,
        claims: &[SummaryClaim],
    ) -> Result<Vec<ClaimOutcome>> {
        const ADD: &str = "INSERT INTO cupel_summary_costs
            (namespace, conversation, input_cost, spent, changed) VALUES ($1, $2, $3, 0, $4)
            ON CONFLICT (namespace, conversation) DO UPDATE SET
                input_cost = cupel_summary_costs.input_cost + excluded.input_cost,
                changed = excluded.changed";
        const SPEND: &str = "UPDATE cupel_summary_costs SET spent = spent + $3
            WHERE namespace = $1 AND conversation = $2";
        let now = Utc::now().timestamp_micros();
        let mut transaction = self.begin(CLAIM).await?;
        transaction.alone_with_name(namespace, conversation).await?;
        let costs = claims.iter().any(|claim| claim.cost > 0.0) || input_cost > 0.0;
        let mut ledger = SummaryLedger::default();
        if costs {
            let added = input_cost.max(0.0);
            transaction.run(ADD, &[&namespace, &conversation, &added, &now]).await?;
            let row = transaction.one(LEDGER, &[&namespace, &conversation]).await?;
            ledger = SummaryLedger::new(row.get(0)?, row.get(1)?);
        }
        let before = ledger.spent;
        let mut outcomes = Vec::with_capacity(claims.len());
        for claim in claims {
            let outcome = transaction.claim(namespace, conversation, claim, &ledger, now).await?;
            if outcome == ClaimOutcome::Granted {
                ledger.spent += claim.cost;
            }
            outcomes.push(outcome);
        }
        let spent = ledger.spent - before;
        if spent > 0.0 {
            transaction.run(SPEND, &[&namespace, &conversation, &spent]).await?;
        }
        transaction.commit().await?;
        Ok(outcomes)
    }

    pub(crate) async fn finish_summary(
        &self,
        namespace: &str,
        key: &SummaryKey,
        holder: LeaseHolder,
        text: &str,
    ) -> Result<bool> {
        const KEEP: &str = "UPDATE cupel_summaries SET content = $4
            WHERE namespace = $1 AND key = $2 AND holder = $3 AND content IS NULL";
        let mut transaction = self.begin(FINISH).await?;
        let (key, text) = (key.to_string(), text.as_bytes());
        let kept = transaction.run(KEEP, &[&namespace, &key, &holder.0, &text]).await?;
        transaction.commit().await?;
        Ok(kept > 0)
    }

    /// Erases the summaries of a conversation, and what it has cost.
    pub(crate) async fn forget_summaries(&self, namespace: &str, conversation: &str) -> Result<()> {
        let mut transaction = self.begin(ERASE).await?;
        transaction.alone_with_name(namespace, conversation).await?;
        transaction.erase_summaries(namespace, conversation).await?;
        transaction.commit().await
    }

    /// Erases the summaries of a tenant that were begun before a time.
    pub(super) async fn expire_summaries(&self, namespace: &str, before: i64) -> Result<()> {
        const SUMMARIES: &str = "DELETE FROM cupel_summaries WHERE namespace = $1 AND begun < $2";
        const COSTS: &str = "DELETE FROM cupel_summary_costs WHERE namespace = $1 AND changed < $2";
        let mut transaction = self.begin(ERASE).await?;
        transaction.run(SUMMARIES, &[&namespace, &before]).await?;
        transaction.run(COSTS, &[&namespace, &before]).await?;
        transaction.commit().await
    }
}

impl Transaction {
    async fn claim(
        &mut self,
        namespace: &str,
        conversation: &str,
        claim: &SummaryClaim,
        ledger: &SummaryLedger,
        now: i64,
    ) -> Result<ClaimOutcome> {
        const NOTE: &str = "UPDATE cupel_summaries
            SET asked_at = CASE WHEN asked_at < $3 THEN $3 ELSE asked_at END
            WHERE namespace = $1 AND key = $2
            RETURNING CASE WHEN content IS NULL THEN 0 ELSE 1 END, leased_until";
        const LEASE: &str = "INSERT INTO cupel_summaries
            (namespace, key, conversation, asked_at, holder, leased_until, begun)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT (namespace, key) DO UPDATE SET
                holder = excluded.holder, leased_until = excluded.leased_until
            WHERE cupel_summaries.content IS NULL AND cupel_summaries.leased_until <= $7";
        let key = claim.key.to_string();
        let noted = self.row(NOTE, &[&namespace, &key, &claim.asked_at]).await?;
        if let Some(row) = noted {
            let (finished, leased_until): (i32, i64) = (row.get(0)?, row.get(1)?);
            if finished != 0 {
                return Ok(ClaimOutcome::Finished);
            }
            if leased_until > now {
                return Ok(ClaimOutcome::Held);
            }
        }
        let Some(lease) = claim.lease else { return Ok(ClaimOutcome::Held) };
        if !ledger.allows(claim.cost, claim.budget) {
            return Ok(ClaimOutcome::OverBudget);
        }
        let until = now.saturating_add(i64::try_from(lease.as_micros()).unwrap_or(i64::MAX));
        let leased = self
            .run(
                LEASE,
                &[&namespace, &key, &conversation, &claim.asked_at, &claim.holder.0, &until, &now],
            )
            .await?;
        Ok(if leased > 0 { ClaimOutcome::Granted } else { ClaimOutcome::Held })
    }

    /// Erases the summaries of a conversation, and what it has cost.
    pub(super) async fn erase_summaries(
        &mut self,
        namespace: &str,
        conversation: &str,
    ) -> Result<()> {
        for erase in [
            "DELETE FROM cupel_summaries WHERE namespace = $1 AND conversation = $2",
            "DELETE FROM cupel_summary_costs WHERE namespace = $1 AND conversation = $2",
        ] {
            self.run(erase, &[&namespace, &conversation]).await?;
        }
        Ok(())
    }
}
