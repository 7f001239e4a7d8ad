//! A policy: a preset by name, or a table as in policy files.

use cupel::config::{Path, Tree};
use cupel::{Policy, PolicySpec, ScorerRegistry, SystemTimeProvider};

use super::mistakes::{Mistakes, one_of};

pub(super) fn read(tree: Tree, path: &Path<'_>, mistakes: &mut Mistakes) -> Option<Policy> {
    if let Some(name) = tree.text() {
        let presets = presets();
        let found = presets.iter().find(|(preset, _)| *preset == name);
        if found.is_none() {
            let names: Vec<&str> = presets.iter().map(|(name, _)| *name).collect();
            mistakes.add(path, format!("got {name:?}, {}, or a table", one_of(name, &names)));
        }
        return found.map(|(_, policy)| policy());
    }
    let registry = ScorerRegistry::new(SystemTimeProvider);
    match PolicySpec::read(tree).and_then(|spec| spec.to_policy(&registry)) {
        Ok(policy) => Some(policy),
        Err(error) if error.problems().is_empty() => {
            mistakes.add(path, error.to_string());
            None
        }
        Err(error) => {
            for problem in error.problems() {
                mistakes.add_at(&path.join(&problem.path), &problem.message);
            }
            None
        }
    }
}

type Preset = (&'static str, fn() -> Policy);

fn presets() -> Vec<Preset> {
    vec![
        ("chat", Policy::chat),
        ("code_review", Policy::code_review),
        ("debugging", Policy::debugging),
        ("document_qa", Policy::document_qa),
        ("long_running", Policy::long_running),
        ("rag", Policy::rag),
        ("tool_use", Policy::tool_use),
    ]
}
