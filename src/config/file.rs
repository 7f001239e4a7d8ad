//! Reads files that are regular and of limited size, and never waits for others.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

use super::limits::MARK;

/// The bytes of a regular file, if there are no more than `limit`.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    // A device may do something when it is opened, so it is asked for before and after.
    only_regular(std::fs::metadata(path)?.file_type())?;
    let mut file = open(path)?;
    let metadata = file.metadata()?;
    only_regular(metadata.file_type())?;
    let mut bytes = Vec::new();
    file.by_ref().take(limit + 1).read_to_end(&mut bytes)?;
    let size = metadata.len().max(bytes.len() as u64);
    if bytes.len() as u64 > limit {
        let message = format!("it has {size} bytes, {MARK} {limit}");
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn only_regular(kind: std::fs::FileType) -> Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let kind = if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {kind}, expected a regular file")))
}

/// Opening a pipe that nobody writes to would wait for a writer.
fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}
