//! Files of a contract: their bytes, so that a change can be noticed, and the findings in them.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::config::limits::{FILE_BYTES, KEY_BYTES, PROMPT_BYTES};
use crate::config::{Finding, Path as KeyPath, Report, Value, meant, plain, read_file};
use crate::contract::problem::{ContractPlace, ContractProblem};
use crate::error::QuotedText;

/// The folder of prompts, which may be longer than settings.
pub(super) const PROMPTS: &str = "prompts";

/// Bytes of a file when it was read; `None` if it was looked for and not there.
type FileContent = Option<Arc<[u8]>>;

/// The inputs of one contract.
#[derive(Debug, Clone)]
pub(super) struct Files {
    root: PathBuf,
    /// Path of the folder without links; none if there is no such folder.
    real_root: Option<PathBuf>,
    /// By their names below the folder.
    read: Vec<(PathBuf, FileContent)>,
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

    fn content(&self, name: &Path, file: io::Result<PathBuf>) -> io::Result<FileContent> {
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

/// Limits whose names mean nothing else, and where they belong: elsewhere they are a mistake.
const LIMITS: [(&str, &str); 7] = [
    ("model_context_window", "config.json"),
    ("model_max_tokens", "config.json"),
    ("allow_auto_clamp", "config.json"),
    ("max_context_tokens", "settings"),
    ("max_history_tokens", "settings"),
    ("budget_safety_margin_tokens", "settings"),
    ("max_output_tokens", "a call_model step"),
];

/// Findings in files: problems, and notes on keys of other programs.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Among them keys that were meant to be read: the contract would not be what its author wrote.
    pub(super) problems: Vec<ContractProblem>,
    /// On any other key: files hold settings for other programs as well.
    pub(super) notes: Vec<String>,
}

impl Findings {
    pub(super) fn invalid(
        &mut self,
        file: &str,
        path: &KeyPath<'_>,
        value: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.problems.push(ContractProblem::invalid(
            ContractPlace::at(file, path),
            value,
            expected,
        ));
    }

    pub(super) fn missing(&mut self, file: &str, path: &KeyPath<'_>, expected: &str) {
        let (place, expected) = (ContractPlace::at(file, path), expected.to_owned());
        self.problems.push(ContractProblem::Missing { place, expected });
    }
}

impl Report for Findings {
    fn skips_nothing(&self) -> bool {
        true
    }

    fn report(&mut self, path: &KeyPath<'_>, found: Finding<'_>) {
        match found {
            Finding::Missing { expected, file } => self.missing(file, path, expected),
            Finding::Wrong { tree, expected } => {
                self.invalid(&tree.file, path, tree.to_string(), expected);
            }
            Finding::NoSuchPart { name, known, file } => {
                self.invalid(file, path, QuotedText(name).to_string(), known.join(", "));
            }
            Finding::Twice { tree, .. } => {
                self.invalid(&tree.file, path, "the key twice", "it once");
            }
            Finding::Unknown { key, tree, known } => {
                let place = ContractPlace::at(&tree.file, path);
                let home = LIMITS.iter().find(|(limit, _)| *limit == key);
                let suggestion = match home {
                    Some((limit, home)) => Some(format!("{limit} in {home}")),
                    None => meant(key, known).map(str::to_owned),
                };
                match suggestion {
                    Some(suggestion) => {
                        self.problems.push(ContractProblem::MisspeltKey { place, suggestion });
                    }
                    None => self.notes.push(format!("{place} is not part of the contract")),
                }
            }
        }
    }
}

/// A number of tokens, and the file that has it, which may be an ancestor of the pipeline's.
#[derive(Debug, Default)]
pub(super) struct Tokens(pub(super) i64, pub(super) Arc<str>);

/// A text with its file.
#[derive(Debug, Default)]
pub(super) struct Name(pub(super) String, pub(super) Arc<str>);

plain! {
    Tokens, "a whole number of tokens", |tree| match tree.value {
        Value::Whole(number) => Some(Tokens(number.try_into().ok()?, Arc::clone(&tree.file))),
        _ => None,
    };
    Name, "a text", |tree| Some(Name(tree.text()?.to_owned(), Arc::clone(&tree.file)));
}
