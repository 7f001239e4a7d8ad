//! Reads files below a folder and remembers what it read, so that a change can be noticed.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::config::limits::{FILE_BYTES, KEY_BYTES, PROMPT_BYTES};
use crate::config::read_file;
use crate::contract::problem::ContractProblem;

/// The folder of prompts, which may be longer than settings.
pub(super) const PROMPTS: &str = "prompts";

/// Bytes of a file when it was read; `None` if it was looked for and not there.
type Content = Option<Arc<[u8]>>;

/// The inputs of one contract.
#[derive(Debug, Clone)]
pub(super) struct Files {
    root: PathBuf,
    /// Path of the folder without links; none if there is no such folder.
    real_root: Option<PathBuf>,
    /// By their names below the folder.
    read: Vec<(PathBuf, Content)>,
}

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        let real_root = root.canonicalize().ok();
        Self { root: root.to_owned(), real_root, read: Vec::new() }
    }

    /// The path of a file below the folder, for messages.
    pub(super) fn display(&self, name: &Path) -> String {
        self.root.join(name).display().to_string()
    }

    /// The text of a file; `None` if there is no such file.
    pub(super) fn text(&mut self, name: &Path) -> Result<Option<String>, ContractProblem> {
        let problem = |reason| ContractProblem::File { file: self.display(name), reason };
        let content = self.content(name, self.below(name));
        let content = content.map_err(|error| problem(format!("cannot be read: {error}")))?;
        let text = content.as_deref().map(std::str::from_utf8).transpose();
        let text = text.map_err(|error| {
            problem(format!("is not UTF-8: byte {} is not valid", error.valid_up_to()))
        })?;
        let text = text.map(str::to_owned);
        self.read.push((name.to_owned(), content));
        Ok(text)
    }

    /// Returns `true` if every file still has the bytes that it had when it was read. If the bytes are
    /// the same, the target of a link does not matter.
    pub(super) fn unchanged(&self) -> bool {
        self.read.iter().all(|(name, before)| {
            let now = self.content(name, Ok(self.root.join(name)));
            now.is_ok_and(|now| now == *before)
        })
    }

    fn content(&self, name: &Path, file: io::Result<PathBuf>) -> io::Result<Content> {
        let limit = if name.starts_with(PROMPTS) { PROMPT_BYTES } else { FILE_BYTES };
        match file.and_then(|file| read_file(&file, limit)) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // `prompts/answer` may be a folder beside `prompts/answer.txt`.
            Err(_) if self.root.join(name).is_dir() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Path of a file without links. Links may lead to another file of the folder, but not out of it.
    fn below(&self, name: &Path) -> io::Result<PathBuf> {
        let file = self.root.join(name).canonicalize()?;
        if !self.real_root.as_ref().is_some_and(|root| file.starts_with(root)) {
            let message = format!("it is a link out of the folder, to {}", file.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(file)
    }
}

/// Returns `true` if a name from a file stays below the folder it is looked for in.
pub(super) fn stays_below(name: &str) -> bool {
    let mut components = Path::new(name).components().peekable();
    name.len() <= KEY_BYTES
        && components.peek().is_some()
        && components.all(|part| matches!(part, Component::Normal(_)))
}
