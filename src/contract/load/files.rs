//! Reads files below a folder and remembers what it read, so that a change can be noticed.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::contract::problem::ContractProblem;

/// What a file held when it was read; `None` for one that was looked for and not there.
type Content = Option<Arc<[u8]>>;

/// The inputs of one contract.
#[derive(Debug, Clone)]
pub(super) struct Files {
    root: PathBuf,
    read: Vec<(PathBuf, Content)>,
}

impl Files {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), read: Vec::new() }
    }

    /// The path of a file below the folder, for messages.
    pub(super) fn display(&self, name: &Path) -> String {
        self.root.join(name).display().to_string()
    }

    /// The text of a file; `None` if there is no such file.
    pub(super) fn text(&mut self, name: &Path) -> Result<Option<String>, ContractProblem> {
        let path = self.root.join(name);
        let file = path.display().to_string();
        let problem = |reason: String| ContractProblem::file(&file, reason);
        let content =
            content(&path).map_err(|error| problem(format!("cannot be read: {error}")))?;
        self.read.push((path, content.clone()));
        let Some(bytes) = content else { return Ok(None) };
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            problem(format!("is not UTF-8: byte {} is not valid", error.valid_up_to()))
        })?;
        Ok(Some(text.to_owned()))
    }

    /// Whether every file still holds, to the byte, what it held when it was read.
    pub(super) fn unchanged(&self) -> bool {
        self.read.iter().all(|(path, before)| content(path).is_ok_and(|now| now == *before))
    }
}

fn content(path: &Path) -> io::Result<Content> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // `prompts/answer` may be a folder beside `prompts/answer.txt`.
        Err(_) if path.is_dir() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a name from a file stays below the folder it is looked for in.
pub(super) fn stays_below(name: &str) -> bool {
    let mut components = Path::new(name).components().peekable();
    components.peek().is_some() && components.all(|part| matches!(part, Component::Normal(_)))
}
