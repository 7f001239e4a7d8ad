//! Brings the tables to the version this crate knows, and keeps the archive's language.

use cupel::relevance::Language;

use super::dialect::Step;
use super::{Store, alone_with};
use crate::error::ArchiveError;

const MIGRATE: &str = "make the tables";
const OPEN: &str = "open the archive";

/// The number under which all processes that migrate wait for each other.
const MIGRATION_LOCK: i64 = 0x63_75_70_65_6c;

const VERSION: &str = "SELECT coalesce(max(version), 0) FROM cupel_schema";

impl Store {
    pub(super) async fn migrate(&self) -> Result<(), ArchiveError> {
        // Most of the time there is nothing to do, and nobody to wait for.
        let mut connection = self.connection(MIGRATE).await?;
        if connection.one_number(MIGRATE, self.dialect.has_versions).await? > 0 {
            let found = connection.one_number(MIGRATE, VERSION).await?;
            if found > 0 && left(found, self.dialect.steps)?.is_empty() {
                return Ok(());
            }
        }
        drop(connection);
        let mut transaction = self.begin(MIGRATE).await?;
        alone_with(&mut transaction, MIGRATION_LOCK, MIGRATE).await?;
        // Asked first, because a role that may not make tables may well use them.
        if transaction.one_number(MIGRATE, self.dialect.has_versions).await? == 0 {
            transaction.run(MIGRATE, self.dialect.create_versions, &[]).await?;
        }
        let found = transaction.one_number(MIGRATE, VERSION).await?;
        for (version, statements) in left(found, self.dialect.steps)? {
            for statement in statements {
                transaction.run(MIGRATE, statement, &[]).await?;
            }
            const DONE: &str = "INSERT INTO cupel_schema (version) VALUES ($1)";
            transaction.run(MIGRATE, DONE, &[&version]).await?;
        }
        transaction.commit(MIGRATE).await
    }

    /// The language of the index: what was set first stays.
    pub(crate) async fn language(
        &self,
        wanted: Option<Language>,
    ) -> Result<Language, ArchiveError> {
        let kept = self.kept_language(wanted.unwrap_or_default().name()).await?;
        let kept = kept.parse().map_err(|error| ArchiveError::corrupt("open", error))?;
        match wanted {
            Some(wanted) if wanted != kept => Err(ArchiveError::argument(
                "language",
                format!("got {wanted}, but the archive's words are kept in {kept}"),
            )),
            _ => Ok(kept),
        }
    }

    async fn kept_language(&self, wanted: &str) -> Result<String, ArchiveError> {
        const KEPT: &str = "SELECT value FROM cupel_settings WHERE name = 'language'";
        let kept = self.connection(OPEN).await?.row(OPEN, KEPT, &[]).await?;
        if let Some(kept) = kept {
            return kept.get(0);
        }
        let mut transaction = self.begin(OPEN).await?;
        const KEEP: &str = "INSERT INTO cupel_settings (name, value) VALUES ('language', $1)
                            ON CONFLICT (name) DO NOTHING";
        transaction.run(OPEN, KEEP, &[&wanted]).await?;
        let kept = transaction.row(OPEN, KEPT, &[]).await?;
        transaction.commit(OPEN).await?;
        kept.map_or_else(|| Ok(wanted.to_owned()), |kept| kept.get(0))
    }
}

/// The steps that are left from the version found, each with the version it leads to.
fn left(found: i64, steps: &[Step]) -> Result<Vec<(i64, Step)>, ArchiveError> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(ArchiveError::Newer { found, known });
    }
    let all = (1..).zip(steps.iter().copied());
    Ok(all.filter(|(version, _)| *version > found).collect())
}
