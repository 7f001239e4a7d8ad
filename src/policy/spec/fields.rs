//! Reads tables key by key, noting every problem with its path.

use super::path::{Path, Problems};
use super::tree::Tree;

/// Something that can be read from a [`Tree`].
pub(super) trait FromTree: Sized {
    /// What a valid value looks like, for messages.
    const EXPECTED: &'static str;

    /// The value, or none after noting why not.
    fn from_tree(tree: Tree, path: &Path<'_>, problems: &mut Problems) -> Option<Self>;
}

/// Notes that `tree` is not a `T`.
pub(super) fn wrong<T: FromTree>(
    tree: &Tree,
    path: &Path<'_>,
    problems: &mut Problems,
) -> Option<T> {
    problems.add(path, format!("must be {}, got {tree}", T::EXPECTED));
    None
}

/// Reads the keys that go with one `type`.
pub(super) type Reader<T> = fn(&mut Fields<'_>) -> Option<T>;

/// A table that is being read.
pub(super) struct Fields<'a> {
    path: &'a Path<'a>,
    problems: &'a mut Problems,
    entries: Vec<(String, Tree)>,
    /// The keys that were asked for, and so are valid.
    known: Vec<&'static str>,
    /// Whether only the part's name was written, without a table around it.
    name_only: bool,
}

impl<'a> Fields<'a> {
    /// Opens a table, or notes that there is none.
    pub(super) fn open<T: FromTree>(
        tree: Tree,
        path: &'a Path<'a>,
        problems: &'a mut Problems,
    ) -> Option<Self> {
        let Tree::Table(entries) = tree else {
            return wrong::<T>(&tree, path, problems).and(None);
        };
        let entries = unique(entries, path, problems);
        Some(Self { path, problems, entries, known: Vec::new(), name_only: false })
    }

    /// Opens the table of a part with a `type`; the bare name stands for a table with nothing else.
    pub(super) fn open_part<T: FromTree>(
        tree: Tree,
        path: &'a Path<'a>,
        problems: &'a mut Problems,
    ) -> Option<Self> {
        let name_only = matches!(tree, Tree::Text(_));
        let tree = if name_only { Tree::Table(vec![("type".to_owned(), tree)]) } else { tree };
        let fields = Self::open::<T>(tree, path, problems)?;
        Some(Self { name_only, ..fields })
    }

    fn take(&mut self, key: &'static str) -> Option<Tree> {
        self.known.push(key);
        let position = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(position).1)
    }

    /// The value of a key; `Some(None)` without the key, none after noting a problem.
    pub(super) fn maybe<T: FromTree>(&mut self, key: &'static str) -> Option<Option<T>> {
        match self.take(key) {
            Some(tree) => T::from_tree(tree, &self.path.key(key), self.problems).map(Some),
            None => Some(None),
        }
    }

    /// The value of a key, or `default` without the key.
    pub(super) fn or<T: FromTree>(&mut self, key: &'static str, default: T) -> Option<T> {
        self.maybe(key).map(|value| value.unwrap_or(default))
    }

    /// The value of a key that must be there.
    pub(super) fn required<T: FromTree>(&mut self, key: &'static str) -> Option<T> {
        let value = self.maybe(key)?;
        if value.is_none() {
            let message = format!("missing, expected {}", T::EXPECTED);
            self.problems.add(&self.path.key(key), message);
        }
        value
    }

    /// Reads a part by its `type`.
    pub(super) fn part<T>(&mut self, types: &[(&str, Reader<T>)]) -> Option<T> {
        let name: Option<String> = self.required("type");
        let found = name.as_ref().and_then(|name| types.iter().find(|(known, _)| known == name));
        let Some((_, read)) = found else {
            if let Some(name) = name {
                let valid: Vec<&str> = types.iter().map(|(known, _)| *known).collect();
                let message = format!("got {name:?}, expected one of {}", valid.join(", "));
                match self.name_only {
                    true => self.problems.add(self.path, message),
                    false => self.problems.add(&self.path.key("type"), message),
                }
            }
            // Which other keys are valid is not known, so nothing can be said about them.
            self.entries.clear();
            return None;
        };
        read(self)
    }

    /// Where the table is, and where to note what is wrong with it.
    pub(super) fn place(&mut self) -> (&'a Path<'a>, &mut Problems) {
        (self.path, self.problems)
    }

    /// Notes the keys that nobody asked for.
    pub(super) fn close(self) {
        for (key, _) in &self.entries {
            let message = format!("unknown key, expected one of {}", self.known.join(", "));
            self.problems.add(&self.path.key(key), message);
        }
    }
}

/// Notes keys that are given twice, and keeps the first of each.
fn unique(
    entries: Vec<(String, Tree)>,
    path: &Path<'_>,
    problems: &mut Problems,
) -> Vec<(String, Tree)> {
    let mut kept: Vec<(String, Tree)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        if kept.iter().any(|(known, _)| *known == key) {
            problems.add(&path.key(&key), "the key is given twice, expected once");
        } else {
            kept.push((key, value));
        }
    }
    kept
}
