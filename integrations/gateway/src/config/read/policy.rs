//! Policies: a preset's name, with single settings of its plan, or a table as in policy files.

use std::sync::Arc;

use cupel::config::{Path, Tree, Value};
use cupel::policy::spec::ScorerRegistry;
use cupel::scorer::SystemTimeProvider;
use cupel::{Policy, PolicySpec};

use super::ConfigReader;

/// Name and constructor of a preset.
type Preset = (&'static str, fn() -> Policy);

const PRESETS: [Preset; 4] = [
    ("chat", Policy::chat),
    ("document_qa", Policy::document_qa),
    ("rag", Policy::rag),
    ("tool_use", Policy::tool_use),
];

impl ConfigReader<'_> {
    /// Reads `policy` and the table `plan` beside it. Without `policy` the settings change the plan of `chat`.
    pub(super) fn policy_and_plan(
        &mut self,
        policy: Option<Tree>,
        plan: Option<Tree>,
        path: &Path<'_>,
    ) -> Option<Policy> {
        let is_table = policy.as_ref().is_some_and(|tree| tree.text().is_none());
        let name = policy.as_ref().and_then(Tree::text).unwrap_or("chat").to_owned();
        let read = policy.map(|tree| self.policy(tree, &path.key("policy")));
        let Some(plan) = plan else { return read? };
        if is_table {
            self.add(
                &path.key("plan"),
                "changes the plan of a preset, expected it inside `policy`",
            );
            return None;
        }
        let policy = read.unwrap_or_else(|| Some(Policy::chat()))?;
        let Some(own) = policy.plan() else {
            let message = format!("{name:?} plans nothing, expected \"chat\" or \"tool_use\"");
            self.add(&path.key("plan"), message);
            return None;
        };
        if !matches!(plan.value, Value::Table(_)) {
            self.add(&path.key("plan"), "must be a table, as `plan` of policy files");
            return None;
        }
        let mut tree = plan;
        // What the preset sets and the table does not.
        let recall = own.recall_tokens(MILLION, false) as f64 / MILLION as f64;
        if let Value::Table(entries) = &mut tree.value {
            if entries.iter().all(|(key, _)| key != "recall") {
                entries.push(("recall".to_owned(), tree_of(Value::Number(recall))));
            }
        }
        let part =
            |name: &str, part: &str| (name.to_owned(), tree_of(Value::Text(part.to_owned())));
        let mut entries = vec![part("scorer", "recency"), part("slicer", "greedy")];
        entries.extend([part("placer", "age"), ("plan".to_owned(), tree)]);
        let spec = self.policy(tree_of(Value::Table(entries)), path)?;
        Some(policy.with_plan(spec.plan()?.clone()))
    }

    /// Reads a preset's name, or a table as in policy files.
    pub(super) fn policy(&mut self, tree: Tree, path: &Path<'_>) -> Option<Policy> {
        if let Some(name) = tree.text() {
            let preset = self.choice(Some(name), &PRESETS, path, ", or a table");
            return preset.map(|preset| preset());
        }
        let registry = ScorerRegistry::new(SystemTimeProvider);
        let error = match PolicySpec::read(tree).and_then(|spec| spec.to_policy(&registry)) {
            Ok(policy) => return Some(policy),
            Err(error) => error,
        };
        if error.problems().is_empty() {
            self.add(path, error.to_string());
        }
        for problem in error.problems() {
            self.mistakes.push(format!("{}: {}", path.join(&problem.path), problem.message));
        }
        None
    }
}

/// A window whose share of recall has six digits.
const MILLION: i64 = 1_000_000;

fn tree_of(value: Value) -> Tree {
    Tree { value, file: Arc::from("") }
}
