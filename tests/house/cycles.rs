//! Import cycles between files: who uses an item of whom, whatever re-exports lie between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::uses::{Names, Uses, Written, join, module};

/// The files of a crate, by their paths below `src`.
pub(crate) struct Files {
    files: BTreeMap<PathBuf, Uses>,
    /// The file of each module that has one.
    modules: BTreeMap<Names, PathBuf>,
}

/// An item and the file that defines it.
struct Item<'a> {
    file: &'a Path,
    name: String,
}

impl Files {
    pub(crate) fn read<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Files {
        let files: BTreeMap<_, _> = files
            .into_iter()
            .map(|(path, text)| (path.to_owned(), Uses::read(path, text)))
            .collect();
        let modules = files.keys().map(|path| (module(path), path.clone())).collect();
        Files { files, modules }
    }

    /// The shortest import cycle through each file; `room` says which files belong together.
    pub(crate) fn cycles(&self, room: impl Fn(&Path) -> String) -> Vec<String> {
        let edges: BTreeMap<&Path, BTreeMap<&Path, String>> = self
            .files
            .iter()
            .map(|(from, uses)| {
                let mut used = self.used(uses);
                used.retain(|to, _| *to != from && room(to) == room(from));
                (from.as_path(), used)
            })
            .collect();
        let cycles: BTreeSet<Vec<&Path>> =
            edges.keys().filter_map(|start| shortest_cycle(&edges, start)).collect();
        let described = cycles.iter().map(|cycle| {
            let steps = cycle.iter().zip(cycle.iter().cycle().skip(1)).map(|(from, to)| {
                format!("{} uses {} of {}", from.display(), edges[from][to], to.display())
            });
            steps.collect::<Vec<_>>().join(", ")
        });
        described.collect()
    }

    /// The files whose items a file uses, each with the name of one.
    fn used(&self, uses: &Uses) -> BTreeMap<&Path, String> {
        let mut used = BTreeMap::new();
        let mut add = |path: &Written| {
            if let Some(item) = self.resolve(path, 0) {
                used.entry(item.file).or_insert(item.name);
            }
        };
        uses.paths.iter().for_each(&mut add);
        for import in &uses.imports {
            let path = &import.path;
            if import.name == "*" {
                let mentions = uses.mentions.iter().filter_map(|mention| mention.last());
                for name in mentions {
                    let mut names = path.names.clone();
                    names.pop();
                    names.push(name.clone());
                    add(&Written { names, ..path.clone() });
                }
            // A re-export is looked through by those who use it; here it may be used as well.
            } else if !import.is_public || uses.mentions.contains(&join(&path.module, &import.name))
            {
                add(path);
            }
        }
        used
    }

    /// Follows a path to where its item is defined; `depth` ends re-exports that go in circles.
    fn resolve(&self, path: &Written, depth: usize) -> Option<Item<'_>> {
        let mut at = if path.from_root { Names::new() } else { path.module.clone() };
        for (index, name) in path.names.iter().enumerate() {
            let here = join(&at, name);
            if self.modules.contains_key(&here) || self.has_inline_module(&here) {
                at = here;
                continue;
            }
            let (file, uses) = self.file(&at)?;
            if uses.items.contains(&here) {
                return Some(Item { file, name: name.clone() });
            }
            let rest = &path.names[index + 1..];
            let imports = uses.imports.iter().filter(|import| import.path.module == at);
            return imports
                .filter(|import| import.name == *name || import.name == "*")
                .filter(|_| depth < 16)
                .find_map(|import| {
                    let mut names = import.path.names.clone();
                    if import.name == "*" {
                        names.pop();
                        names.push(name.clone());
                    }
                    // `use tokio::…` is the crate: a name that stands for itself leads nowhere.
                    if !import.path.from_root && names.first() == Some(name) {
                        return None;
                    }
                    names.extend_from_slice(rest);
                    self.resolve(&Written { names, ..import.path.clone() }, depth + 1)
                });
        }
        // A module of the crate: the paths that go on from it are looked at themselves.
        None
    }

    fn has_inline_module(&self, names: &Names) -> bool {
        self.file(names).is_some_and(|(_, uses)| {
            let items = uses.items.iter().map(|item| &item[..item.len() - 1]);
            let imports = uses.imports.iter().map(|import| &import.path.module[..]);
            items.chain(imports).any(|module| module == &names[..])
        })
    }

    /// The file that a module is written in: its own, or that of a module around it.
    fn file(&self, module: &[String]) -> Option<(&Path, &Uses)> {
        let path = (0..=module.len()).rev().find_map(|end| self.modules.get(&module[..end]))?;
        Some((path.as_path(), self.files.get(path)?))
    }
}

/// The shortest way from a file back to itself, from the cycle's first file in alphabetical order.
fn shortest_cycle<'a>(
    edges: &BTreeMap<&'a Path, BTreeMap<&'a Path, String>>,
    start: &'a Path,
) -> Option<Vec<&'a Path>> {
    let mut came_from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for next in edges[at].keys() {
            if *next == start {
                let mut cycle = vec![at];
                while *cycle.last()? != start {
                    cycle.push(came_from[cycle.last()?]);
                }
                cycle.reverse();
                let first = cycle.iter().enumerate().min_by_key(|(_, path)| **path)?.0;
                cycle.rotate_left(first);
                return Some(cycle);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, at);
                queue.push_back(next);
            }
        }
    }
    None
}
