//! A pipeline file with everything it inherits: the child's values over the parent's.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::files::{Files, stays_below};
use crate::config::limits::{KEY_BYTES, MARK};
use crate::config::{Format, Tree, Value};
use crate::contract::problem::{ContractProblem, Place};
use crate::error::Quoted;

const FOLDER: &str = "pipelines";

/// The file of a pipeline: its name with `.yaml` or `.yml`, or as it stands.
fn find(files: &mut Files, name: &str) -> Result<Option<(PathBuf, String)>, ContractProblem> {
    let candidates = if has_extension(name) {
        vec![name.to_owned()]
    } else {
        vec![format!("{name}.yaml"), format!("{name}.yml")]
    };
    for candidate in candidates {
        let path = Path::new(FOLDER).join(candidate);
        if let Some(text) = files.text(&path)? {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
}

pub(super) fn has_extension(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// Reads a pipeline and its ancestors, and merges them.
pub(super) fn read(files: &mut Files, name: &str) -> Result<Tree, Vec<ContractProblem>> {
    let one = |problem| vec![problem];
    let found = if stays_below(name) { find(files, name).map_err(one)? } else { None };
    let Some((path, text)) = found else {
        return Err(one(ContractProblem::File {
            file: files.display(&Path::new(FOLDER).join(name)),
            reason: "there is no such pipeline, as .yaml or as .yml".to_owned(),
        }));
    };
    let mut chain = vec![files.display(&path)];
    let mut problems = Vec::new();
    let mut merged = parse(&text, &files.display(&path), &mut problems).map_err(one)?;
    let mut next = parent(&merged).map_err(one)?;
    while let Some(reference) = next {
        let Some((path, text)) = find(files, &reference.name).map_err(one)? else {
            return Err(one(reference.missing(files)));
        };
        let file = files.display(&path);
        let seen = chain.contains(&file);
        chain.push(file.clone());
        if seen {
            return Err(one(ContractProblem::ExtendsCycle { files: chain }));
        }
        let ancestor = parse(&text, &file, &mut problems).map_err(one)?;
        next = parent(&ancestor).map_err(one)?;
        merge(&mut merged, ancestor);
    }
    if problems.is_empty() { Ok(merged) } else { Err(problems) }
}

/// What a file says it extends, and where it says so.
pub(super) struct Parent {
    pub(super) name: String,
    place: Place,
}

impl Parent {
    fn missing(self, files: &Files) -> ContractProblem {
        let extension = if has_extension(&self.name) { "" } else { ".yaml" };
        let path = Path::new(FOLDER).join(format!("{}{extension}", self.name));
        ContractProblem::Invalid {
            place: self.place,
            value: Quoted(&self.name).to_string(),
            expected: format!("the name of a pipeline; there is no {}", files.display(&path)),
        }
    }
}

pub(super) fn parent(tree: &Tree) -> Result<Option<Parent>, ContractProblem> {
    let Some(extends) = tree.get("extends") else { return Ok(None) };
    let place = Place { file: Some(extends.file.to_string()), key: "extends".to_owned() };
    match &extends.value {
        Value::Text(name) if stays_below(name) => Ok(Some(Parent { name: name.clone(), place })),
        _ => Err(ContractProblem::Invalid {
            place,
            value: extends.to_string(),
            expected: "the name of one pipeline in the same folder".to_owned(),
        }),
    }
}

/// Parses one file; steps become a map by name, so that a child can change one of them.
pub(super) fn parse(
    text: &str,
    file: &str,
    problems: &mut Vec<ContractProblem>,
) -> Result<Tree, ContractProblem> {
    let problem = |reason: String| ContractProblem::File { file: file.to_owned(), reason };
    let tree = Format::Yaml.parse(text, file);
    let mut tree = tree.map_err(|message| problem(format!("is not YAML: {message}")))?;
    match &mut tree.value {
        Value::Table(entries) => {
            for (_, steps) in entries.iter_mut().filter(|(key, _)| key == "steps") {
                by_name(steps, problems);
            }
            Ok(tree)
        }
        Value::Nothing => Err(problem("is empty, expected settings and steps".to_owned())),
        _ => Err(problem(format!("holds {tree}, expected a table with settings and steps"))),
    }
}

fn by_name(steps: &mut Tree, problems: &mut Vec<ContractProblem>) {
    let Value::List(list) = &mut steps.value else { return };
    let mut named: Vec<(String, Tree)> = Vec::with_capacity(list.len());
    let mut seen = HashSet::new();
    for (position, step) in std::mem::take(list).into_iter().enumerate() {
        match name(&step, position) {
            Ok(name) if seen.insert(name.clone()) => named.push((name, step)),
            Ok(name) => problems.push(ContractProblem::Invalid {
                place: Place { file: Some(step.file.to_string()), key: "steps".to_owned() },
                value: format!("a step named {} twice", Quoted(&name)),
                expected: "a name of its own for each step".to_owned(),
            }),
            Err(problem) => problems.push(problem),
        }
    }
    steps.value = Value::Table(named);
}

fn name(step: &Tree, position: usize) -> Result<String, ContractProblem> {
    let place = |key: String| Place {
        file: Some(step.file.to_string()),
        key: format!("steps[{position}]{key}"),
    };
    if !matches!(step.value, Value::Table(_)) {
        return Err(ContractProblem::Invalid {
            place: place(String::new()),
            value: step.to_string(),
            expected: "a table with id and action".to_owned(),
        });
    }
    let expected = "the step's name".to_owned();
    match step.get("id").or_else(|| step.get("name")) {
        Some(Tree { value: Value::Text(name), .. }) if (1..=KEY_BYTES).contains(&name.len()) => {
            Ok(name.clone())
        }
        Some(Tree { value: Value::Text(name), .. }) if name.len() > KEY_BYTES => {
            Err(ContractProblem::Invalid {
                place: place(".id".to_owned()),
                value: format!("{} bytes", name.len()),
                expected: format!("{expected}, {MARK} {KEY_BYTES} bytes"),
            })
        }
        Some(other) => Err(ContractProblem::Invalid {
            place: place(".id".to_owned()),
            value: other.to_string(),
            expected,
        }),
        None => Err(ContractProblem::Missing { place: place(".id".to_owned()), expected }),
    }
}

/// Adds what the child does not have itself: key by key in maps, anything else as a whole.
fn merge(child: &mut Tree, parent: Tree) {
    let (Value::Table(own), Value::Table(theirs)) = (&mut child.value, parent.value) else {
        return;
    };
    // The parent's order first: its steps come before those a child adds.
    let positions: HashMap<&str, usize> =
        theirs.iter().enumerate().map(|(position, (key, _))| (&**key, position)).collect();
    let (mut over, mut added) = (HashMap::new(), Vec::new());
    for (key, tree) in std::mem::take(own) {
        match positions.get(&*key) {
            Some(position) if !over.contains_key(position) => drop(over.insert(*position, tree)),
            _ => added.push((key, tree)),
        }
    }
    for (position, (key, theirs)) in theirs.into_iter().enumerate() {
        let tree = match over.remove(&position) {
            Some(mut own) => {
                merge(&mut own, theirs);
                own
            }
            None => theirs,
        };
        own.push((key, tree));
    }
    own.append(&mut added);
}
