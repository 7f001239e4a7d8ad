//! A pipeline file with everything it inherits: the child's values over the parent's.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::files::{Files, Findings, stays_below};
use crate::config::limits::{KEY_BYTES, MARK};
use crate::config::{Format, Tree, Value};
use crate::contract::problem::{ContractPlace, ContractProblem};
use crate::error::QuotedText;

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
pub(super) fn read(
    files: &mut Files,
    name: &str,
    findings: &mut Findings,
) -> Result<Tree, ContractProblem> {
    let found = if stays_below(name) { find(files, name)? } else { None };
    let (path, text) = found.ok_or_else(|| ContractProblem::File {
        file: files.display(&Path::new(FOLDER).join(name)),
        reason: "there is no such pipeline, as .yaml or as .yml".to_owned(),
    })?;
    let mut chain = vec![files.display(&path)];
    let mut merged = parse(&text, &files.display(&path), findings)?;
    let mut next = parent(&merged)?;
    while let Some((name, place)) = next {
        let (path, text) = find(files, &name)?.ok_or_else(|| {
            let extension = if has_extension(&name) { "" } else { ".yaml" };
            let file = files.display(&Path::new(FOLDER).join(format!("{name}{extension}")));
            let expected = format!("the name of a pipeline; there is no {file}");
            ContractProblem::invalid(place, QuotedText(&name).to_string(), expected)
        })?;
        let file = files.display(&path);
        let seen = chain.contains(&file);
        chain.push(file.clone());
        if seen {
            return Err(ContractProblem::ExtendsCycle { files: chain });
        }
        let ancestor = parse(&text, &file, findings)?;
        next = parent(&ancestor)?;
        merge(&mut merged, ancestor);
    }
    Ok(merged)
}

/// Name of the pipeline that a file extends, and the place of that name.
pub(super) fn parent(tree: &Tree) -> Result<Option<(String, ContractPlace)>, ContractProblem> {
    let Some(extends) = tree.get("extends") else { return Ok(None) };
    let place = ContractPlace::at(&extends.file, "extends");
    match extends.text().filter(|name| stays_below(name)) {
        Some(name) => Ok(Some((name.to_owned(), place))),
        None => {
            let expected = "the name of one pipeline in the same folder";
            Err(ContractProblem::invalid(place, extends.to_string(), expected))
        }
    }
}

/// Parses one file; steps become a table by name, so that a child can change one of them.
pub(super) fn parse(
    text: &str,
    file: &str,
    findings: &mut Findings,
) -> Result<Tree, ContractProblem> {
    let mut tree = table(Format::Yaml, text, file, "settings and steps")?;
    if let Value::Table(entries) = &mut tree.value {
        for (_, steps) in entries.iter_mut().filter(|(key, _)| key == "steps") {
            by_name(steps, findings);
        }
    }
    Ok(tree)
}

/// The table that a file must hold.
pub(super) fn table(
    format: Format,
    text: &str,
    file: &str,
    expected: &str,
) -> Result<Tree, ContractProblem> {
    let reason = match format.parse(text, file) {
        Ok(tree) if matches!(tree.value, Value::Table(_)) => return Ok(tree),
        Ok(tree) if tree.is_nothing() => format!("is empty, expected {expected}"),
        Ok(tree) => format!("holds {tree}, expected a table with {expected}"),
        Err(message) => format!("is not {}: {message}", format.name()),
    };
    Err(ContractProblem::File { file: file.to_owned(), reason })
}

fn by_name(steps: &mut Tree, findings: &mut Findings) {
    let Value::List(list) = &mut steps.value else { return };
    let mut named: Vec<(String, Tree)> = Vec::with_capacity(list.len());
    let mut seen = HashSet::new();
    for (position, step) in std::mem::take(list).into_iter().enumerate() {
        match name(&step, position) {
            Ok(name) if seen.insert(name.clone()) => named.push((name, step)),
            Ok(name) => findings.problems.push(ContractProblem::invalid(
                ContractPlace::at(&step.file, "steps"),
                format!("a step named {} twice", QuotedText(&name)),
                "a name of its own for each step",
            )),
            Err(problem) => findings.problems.push(problem),
        }
    }
    steps.value = Value::Table(named);
}

fn name(step: &Tree, position: usize) -> Result<String, ContractProblem> {
    let place = |key: &str| ContractPlace::at(&step.file, format_args!("steps[{position}]{key}"));
    if !matches!(step.value, Value::Table(_)) {
        let expected = "a table with id and action";
        return Err(ContractProblem::invalid(place(""), step.to_string(), expected));
    }
    let expected = "the step's name";
    let Some(name) = step.get("id").or_else(|| step.get("name")) else {
        let expected = expected.to_owned();
        return Err(ContractProblem::Missing { place: place(".id"), expected });
    };
    match name.text().unwrap_or_default() {
        "" => Err(ContractProblem::invalid(place(".id"), name.to_string(), expected)),
        name if name.len() > KEY_BYTES => {
            let expected = format!("{expected}, {MARK} {KEY_BYTES} bytes");
            Err(ContractProblem::invalid(place(".id"), format!("{} bytes", name.len()), expected))
        }
        name => Ok(name.to_owned()),
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
