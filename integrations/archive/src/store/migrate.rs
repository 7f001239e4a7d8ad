//! Which steps the tables have to take to the version this crate knows.

use crate::error::ArchiveError;

/// One version: the statements that lead to it from the version before.
pub(super) type Step = &'static [&'static str];

/// The steps that are left from the version found, each with the version it leads to.
pub(super) fn left(found: i64, steps: &[Step]) -> Result<Vec<(i64, Step)>, ArchiveError> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(ArchiveError::Newer { found, known });
    }
    let all = (1..).zip(steps.iter().copied());
    Ok(all.filter(|(version, _)| *version > found).collect())
}
