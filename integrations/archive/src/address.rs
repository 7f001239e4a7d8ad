//! The address of a database, and how it is shown: without its password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;

use crate::error::ArchiveError;

/// Location of an archive.
#[derive(Clone)]
pub(crate) enum Address {
    Memory,
    File(PathBuf),
    Postgres { options: Box<PgConnectOptions>, shown: String, password: Option<String> },
}

impl Address {
    pub(crate) fn parse(address: &str) -> Result<Self, ArchiveError> {
        let wrong = |problem: &str| ArchiveError::Address {
            address: redacted(address),
            problem: problem.to_owned(),
        };
        let Some((scheme, rest)) = address.split_once(':') else {
            return Err(wrong("has no scheme"));
        };
        match scheme {
            "sqlite" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                match path {
                    ":memory:" => Ok(Self::Memory),
                    "" => Err(wrong("names no file")),
                    _ if path.contains('\0') => Err(wrong("holds a NUL")),
                    _ if path.contains('?') => {
                        Err(wrong("takes no parameters: the archive sets its own"))
                    }
                    _ => Ok(Self::File(PathBuf::from(path))),
                }
            }
            "postgres" | "postgresql" => {
                let password = password(address);
                let options = PgConnectOptions::from_str(address).map_err(|error| {
                    ArchiveError::Address { address: redacted(address), problem: error.to_string() }
                        .without(password.as_deref())
                })?;
                let options = Box::new(options.application_name("tower-cupel-archive"));
                Ok(Self::Postgres { options, shown: redacted(address), password })
            }
            _ => Err(wrong("has a scheme that is not known")),
        }
    }

    /// Password of the address. It must never be in an error or a log.
    pub(crate) fn secret(&self) -> Option<&str> {
        match self {
            Self::Postgres { password, .. } => password.as_deref().filter(|it| !it.is_empty()),
            Self::Memory | Self::File(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("sqlite::memory:"),
            Self::File(path) => write!(f, "sqlite://{}", path.display()),
            Self::Postgres { shown, .. } => f.write_str(shown),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// The part of an address that may hold a user and a password: up to the last `@` in front of the
/// parameters, since a password may itself hold an `@` or a `/`.
fn credentials(address: &str) -> Option<(usize, usize)> {
    let start = address.find("://").map_or(0, |scheme| scheme + 3);
    let rest = address.get(start..)?;
    let end = rest.split('?').next()?.rfind('@')?;
    Some((start, start + end))
}

fn password(address: &str) -> Option<String> {
    let (start, end) = credentials(address)?;
    let (_, password) = address.get(start..end)?.split_once(':')?;
    Some(password.to_owned())
}

/// The address without its password. Parameters go as well: a password may stand among them.
pub(crate) fn redacted(address: &str) -> String {
    let shown = match credentials(address) {
        Some((start, end)) => {
            let user = address.get(start..end).unwrap_or_default();
            let user = user.split(':').next().unwrap_or_default();
            let (before, after) = (address.get(..start), address.get(end..));
            format!("{}{user}{}", before.unwrap_or_default(), after.unwrap_or_default())
        }
        None => without_what_is_no_port(address),
    };
    match shown.split_once('?') {
        Some((shown, _)) => format!("{shown}?…"),
        None => shown,
    }
}

/// An address without an `@`: what stands in the place of a port and is none may be a password whose
/// host was left out, or that holds a `?`.
fn without_what_is_no_port(address: &str) -> String {
    let Some(start) = address.find("://").map(|scheme| scheme + 3) else {
        return address.to_owned();
    };
    let (before, rest) = address.split_at(start);
    let Some((host, port)) = rest.split_once(':') else { return address.to_owned() };
    let end = port.find(['/', '?']).unwrap_or(port.len());
    let is_port = port.get(..end).is_some_and(|port| port.parse::<u16>().is_ok());
    // A host that is a number has its colons in brackets, a file has them anywhere.
    if is_port || host.starts_with('[') || before == "sqlite://" {
        return address.to_owned();
    }
    format!("{before}{host}:…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for address in [
            "postgres://me:s3cret@host/db",
            "postgres://me:s3cret@p@host/db?options=s3cret",
            "postgresql://me:s3cret@host:99999/db",
            "postgres://me@host/db?password=s3cret",
            "mysql://me:s3cret@host/db",
            "sqlite://db?key=s3cret",
            // Signs that an address must not have as they are, and parts that were left out.
            "postgres://me:s3cret?x@host/db",
            "postgres://me:s3cret/x@host/db",
            "postgres://me:s3cret#x@host/db",
            "postgres://me:s3cret",
            "postgres://me:s3cret/db",
            "postgres:me:s3cret@host/db",
            "mysql:me:s3cret@host/db",
            "me:s3cret@host/db",
        ] {
            let shown = match Address::parse(address) {
                Ok(address) => format!("{address} {address:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }

    #[test]
    fn what_is_no_database_of_ours_is_refused_in_words() {
        for (address, part) in [
            ("conversations.db", "no scheme"),
            ("mysql://host/db", "not known"),
            ("sqlite://", "names no file"),
            ("sqlite://a.db?mode=ro", "takes no parameters"),
        ] {
            let error = Address::parse(address).err().map(|error| error.to_string());
            let error = error.unwrap_or_default();
            assert!(error.contains(part) && error.contains("sqlite://path"), "{address}: {error}");
        }
    }
}
