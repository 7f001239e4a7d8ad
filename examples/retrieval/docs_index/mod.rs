//! The repository's own documentation in passages, for the examples that retrieve.
#![allow(dead_code, reason = "each example that includes this module uses its own part of it")]

pub(crate) mod index;
mod passages;

use std::fs;
use std::io;
use std::path::Path;

/// The guides, besides the chapters of `docs` and the doc comments below `src`.
const GUIDES: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "conformance/README.md"];

/// A paragraph of the documentation, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Passage {
    /// From the repository's root, with `/` on every system.
    pub(crate) path: String,
    /// The number of its first line.
    pub(crate) line: u64,
    pub(crate) text: String,
}

impl Passage {
    /// `path:line: text`, as search tools print it.
    pub(crate) fn cited(&self) -> String {
        format!("{}:{}: {}", self.path, self.line, self.text)
    }
}

/// Reads all passages, in the same order on every machine.
pub(crate) fn load() -> io::Result<Vec<Passage>> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut passages = Vec::new();
    let chapters = files(root, "docs", ".md").unwrap_or_default();
    for path in GUIDES.iter().copied().chain(chapters.iter().map(String::as_str)) {
        // A guide that is not part of this checkout is not searched.
        match fs::read_to_string(root.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            text => passages.extend(passages::of_markdown(path, &text?)),
        }
    }
    for path in files(root, "src", ".rs")? {
        let text = fs::read_to_string(root.join(&path))?;
        passages.extend(passages::of_rust(&path, &text));
    }
    Ok(passages)
}

/// The files below a folder with an ending, sorted: a directory lists them in any order.
fn files(root: &Path, folder: &str, ending: &str) -> io::Result<Vec<String>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        entries.push((path, entry.file_type()?.is_dir()));
    }
    entries.sort();
    let mut files = Vec::new();
    for (path, is_folder) in entries {
        if is_folder {
            files.extend(self::files(root, &path, ending)?);
        } else if path.ends_with(ending) {
            files.push(path);
        }
    }
    Ok(files)
}

/// A common rule of thumb: four characters are about one token, rounded up.
pub(crate) fn estimate_tokens(text: &str) -> i64 {
    i64::try_from(text.chars().count().div_ceil(4)).unwrap_or(i64::MAX)
}
