//! Checks the names of namespaces, conversations and keys.

use crate::error::ArchiveError;

/// The longest name, in bytes: what every database can put into an index.
pub(crate) const LONGEST: usize = 512;

/// Checks a name that comes from the caller.
pub(crate) fn checked(field: &'static str, name: &str) -> Result<(), ArchiveError> {
    let expected = format!("expected 1 to {LONGEST} bytes without NUL");
    if name.is_empty() {
        return Err(ArchiveError::argument(field, format!("is empty, {expected}")));
    }
    if name.len() > LONGEST {
        let problem = format!("has {} bytes, {expected}", name.len());
        return Err(ArchiveError::argument(field, problem));
    }
    if name.contains('\0') {
        return Err(ArchiveError::argument(field, format!("{name:?} holds a NUL, {expected}")));
    }
    Ok(())
}
