//! Brings the tables to the version this crate knows, and keeps the archive's language.

use cupel::relevance::Language;

use super::Store;
use super::dialect::Migration;
use crate::error::{ArchiveError, Result};

const MIGRATE: &str = "make the tables";
const OPEN: &str = "open the archive";

/// The number under which all processes that migrate wait for each other.
const MIGRATION_LOCK: i64 = 0x63_75_70_65_6c;

const VERSION: &str = "SELECT coalesce(max(version), 0) FROM cupel_schema";

impl Store {
    pub(super) async fn migrate(&self) -> Result<()> {
        // Most of the time there is nothing to do, and nobody to wait for.
        let mut connection = self.connection(MIGRATE).await?;
        if connection.one(self.dialect.has_versions, &[]).await?.get::<i64>(0)? > 0 {
            let found = connection.one(VERSION, &[]).await?.get::<i64>(0)?;
            if found > 0 && left(found, self.dialect.steps)?.is_empty() {
                return Ok(());
            }
        }
        drop(connection);
        let mut transaction = self.begin(MIGRATE).await?;
        transaction.alone_with(MIGRATION_LOCK).await?;
        // Asked first, because a role that may not make tables may well use them.
        if transaction.one(self.dialect.has_versions, &[]).await?.get::<i64>(0)? == 0 {
            transaction.run(self.dialect.create_versions, &[]).await?;
        }
        let found = transaction.one(VERSION, &[]).await?.get::<i64>(0)?;
        for (version, statements) in left(found, self.dialect.steps)? {
            for statement in statements {
                transaction.run(statement, &[]).await?;
            }
            const DONE: &str = "INSERT INTO cupel_schema (version) VALUES ($1)";
            transaction.run(DONE, &[&version]).await?;
        }
        transaction.commit().await
    }

    /// The language of the index: what was set first stays.
    pub(crate) async fn language(&self, wanted: Option<Language>) -> Result<Language> {
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

    async fn kept_language(&self, wanted: &str) -> Result<String> {
        const KEPT: &str = "SELECT value FROM cupel_settings WHERE name = 'language'";
        let kept = self.connection(OPEN).await?.row(KEPT, &[]).await?;
        if let Some(kept) = kept {
            return kept.get(0);
        }
        let mut transaction = self.begin(OPEN).await?;
        const KEEP: &str = "INSERT INTO cupel_settings (name, value) VALUES ('language', $1)
                            ON CONFLICT (name) DO NOTHING";
        transaction.run(KEEP, &[&wanted]).await?;
        let kept = transaction.one(KEPT, &[]).await?;
        transaction.commit().await?;
        kept.get(0)
    }
}

/// The steps that are left from the version found, each with the version it leads to.
fn left(found: i64, steps: &[Migration]) -> Result<Vec<(i64, Migration)>> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(ArchiveError::Newer { found, known });
    }
    let all = (1..).zip(steps.iter().copied());
    Ok(all.filter(|(version, _)| *version > found).collect())
}
