//! Reads tables key by key and reports everything that is wrong.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use super::{Path, Tree, Value};

/// A value that can be read from a [`Tree`].
pub trait FromTree: Sized {
    /// Description of a valid value, for messages.
    const EXPECTED: &'static str;

    /// `true` for a part with a `type`. Its bare name stands for a table with nothing else.
    const IS_PART: bool = false;

    /// Reads a table, or reports why not. What is not a table has a `from_tree` of its own.
    fn from_fields(_: &mut Fields<'_>) -> Option<Self> {
        None
    }

    /// The value, or none after reporting why not.
    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        let name_only = Self::IS_PART && tree.text().is_some();
        let tree = match name_only {
            true => Tree {
                file: Arc::clone(&tree.file),
                value: Value::Table(vec![("type".to_owned(), tree)]),
            },
            false => tree,
        };
        let mut fields = Fields::open(tree, path, report, Self::EXPECTED)?;
        fields.name_only = name_only;
        let value = Self::from_fields(&mut fields);
        fields.close();
        value
    }

    /// Stands in for a value that cannot be read, so that the rest can still be judged.
    fn stand_in(path: &Path<'_>) -> Self;
}

/// Reports that a value is not one of `T`, and returns none.
pub(crate) fn wrong<T: FromTree>(
    tree: &Tree,
    path: &Path<'_>,
    report: &mut dyn Report,
) -> Option<T> {
    report.report(path, Finding::Wrong { tree, expected: T::EXPECTED });
    None
}

/// A mistake at a path.
#[derive(Debug, Clone, Copy)]
pub enum Finding<'a> {
    /// A required key is missing.
    Missing {
        /// Description of a valid value.
        expected: &'a str,
        /// File of the table.
        file: &'a Arc<str>,
    },
    /// The value is not valid.
    Wrong {
        /// The value.
        tree: &'a Tree,
        /// Description of a valid value.
        expected: &'a str,
    },
    /// No part has this name.
    NoSuchPart {
        /// The unknown name.
        name: &'a str,
        /// All valid names.
        known: &'a [&'a str],
        /// File of the table.
        file: &'a Arc<str>,
    },
    /// The key is unknown.
    Unknown {
        /// The unknown key.
        key: &'a str,
        /// Its value.
        tree: &'a Tree,
        /// All valid keys.
        known: &'a [&'a str],
    },
    /// The table has the key twice.
    Twice {
        /// The second value.
        tree: &'a Tree,
        /// Remark for the message, or an empty text.
        note: &'a str,
    },
}

/// Receiver of mistakes.
pub trait Report {
    /// Records a mistake.
    fn report(&mut self, path: &Path<'_>, found: Finding<'_>);

    /// Returns `true` if a key without a value counts as missing.
    fn skips_nothing(&self) -> bool {
        false
    }
}

/// A table that is being read.
pub struct Fields<'a> {
    path: &'a Path<'a>,
    report: &'a mut dyn Report,
    file: Arc<str>,
    /// With their positions, for a stable order of what is left.
    entries: HashMap<String, (usize, Tree)>,
    /// The keys that were asked for, and so are valid.
    known: Vec<&'a str>,
    /// `true` if only the part's name was written, without a table around it.
    name_only: bool,
}

impl<'a> Fields<'a> {
    /// Opens a table, or reports that there is none.
    pub fn open(
        tree: Tree,
        path: &'a Path<'a>,
        report: &'a mut dyn Report,
        expected: &str,
    ) -> Option<Self> {
        let Value::Table(table) = tree.value else {
            report.report(path, Finding::Wrong { tree: &tree, expected });
            return None;
        };
        let mut entries = HashMap::with_capacity(table.len());
        let skip = report.skips_nothing();
        let given = table.into_iter().enumerate();
        for (position, (key, tree)) in given.filter(|(_, (_, tree))| !(skip && tree.is_nothing())) {
            match entries.entry(key) {
                Entry::Vacant(free) => {
                    free.insert((position, tree));
                }
                Entry::Occupied(taken) => {
                    report.report(&path.key(taken.key()), Finding::Twice { tree: &tree, note: "" });
                }
            }
        }
        Some(Self { path, report, file: tree.file, entries, known: Vec::new(), name_only: false })
    }

    /// Takes the value of a key.
    pub fn take(&mut self, key: &'a str) -> Option<Tree> {
        self.known.push(key);
        self.entries.remove(key).map(|(_, tree)| tree)
    }

    /// None without the key; none inside after reporting a problem.
    fn get<T: FromTree>(&mut self, key: &'a str) -> Option<Option<T>> {
        let tree = self.take(key)?;
        Some(T::from_tree(tree, &self.path.key(key), self.report))
    }

    /// The value of a key; none without the key, or after reporting a problem.
    pub fn maybe<T: FromTree>(&mut self, key: &'a str) -> Option<T> {
        self.get(key)?
    }

    /// Returns `true` if a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The value of a key that must be there, or none after reporting that it is not.
    pub fn needed<T: FromTree>(&mut self, key: &'a str, expected: &str) -> Option<T> {
        self.get(key).unwrap_or_else(|| {
            let found = Finding::Missing { expected, file: &self.file };
            self.report.report(&self.path.key(key), found);
            None
        })
    }

    /// The value of a required key, or a stand-in after a problem is reported.
    pub fn required<T: FromTree>(&mut self, key: &'a str) -> T {
        self.needed(key, T::EXPECTED).unwrap_or_else(|| T::stand_in(&self.path.key(key)))
    }

    /// The value of a key; `default` without the key, or after reporting a problem.
    pub fn or<T: FromTree>(&mut self, key: &'a str, default: T) -> T {
        self.maybe(key).unwrap_or(default)
    }

    /// The `type` of this part, which is one of `types`, or none after reporting a problem.
    pub fn part<'t>(&mut self, types: &[&'t str]) -> Option<&'t str> {
        let name: Option<String> = self.needed("type", "a text");
        let same = |known: &&&str| Some(**known) == name.as_deref();
        let found = types.iter().find(same).copied();
        if found.is_none() {
            if let Some(name) = name {
                let at = self.path.key("type");
                let path = if self.name_only { self.path } else { &at };
                let found = Finding::NoSuchPart { name: &name, known: types, file: &self.file };
                self.report.report(path, found);
            }
            // Which other keys are valid is not known, so nothing can be said about them.
            self.entries.clear();
        }
        found
    }

    /// Accepts keys that are valid and read elsewhere.
    pub fn skip(&mut self, keys: &[&'a str]) {
        self.known.extend(keys);
        keys.iter().for_each(|key| {
            self.entries.remove(*key);
        });
    }

    /// Entries that were not read, in their order.
    pub fn rest(&mut self) -> Vec<(String, Tree)> {
        let mut rest: Vec<_> = self.entries.drain().collect();
        rest.sort_unstable_by_key(|(_, (position, _))| *position);
        rest.into_iter().map(|(key, (_, tree))| (key, tree)).collect()
    }

    /// Reports the keys that were not read as unknown.
    pub fn close(mut self) {
        for (key, tree) in &self.rest() {
            let found = Finding::Unknown { key, tree, known: &self.known };
            self.report.report(&self.path.key(key), found);
        }
    }
}

impl fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fields").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns the word among `known` that `word` is probably a misspelling of.
pub fn meant<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    known.iter().copied().find(|known| is_slip(word, known))
}

/// Returns `true` if two words are so alike that one is probably meant to be the other.
fn is_slip(word: &str, known: &str) -> bool {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let allowed = match known.len() {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    };
    // No slip makes a word that much longer, and to compare very long ones is costly.
    word.len() <= known.len() + 16 && strsim::osa_distance(&plain(word), &plain(known)) <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_other_words() {
        assert!(is_slip("max_contex_tokens", "max_context_tokens"));
        assert!(is_slip("max_ouptut", "max_output"));
        assert!(is_slip("Use-History", "use_history"));
        assert!(!is_slip("max_content_length", "max_context_tokens"));
        assert!(!is_slip("top_k", "steps"));
        assert!(!is_slip("ids", "id"));
    }
}
