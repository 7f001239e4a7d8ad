//! From a tree of values to a contract: types, required keys, prompt files.

use std::path::Path;

use super::files::{Files, stays_below};
use super::keys::{Section, Unread};
use super::node::{Node, Value};
use super::spelling::is_slip;
use crate::contract::check::{BudgetContract, Origins};
use crate::contract::limits::{ModelLimits, PipelineSettings};
use crate::contract::policy::LimitsPolicy;
use crate::contract::problem::{ContractProblem, Place};
use crate::contract::step::GenerationStep;

const CONFIG: &str = "config.json";
const PROMPTS: &str = "prompts";
const ACTION: &str = "call_model";

/// Reads values of the right type and collects what is wrong.
pub(super) struct Reading<'f> {
    files: &'f mut Files,
    pub(super) problems: Vec<ContractProblem>,
    notes: Vec<String>,
    origins: Origins,
    model_name: Option<String>,
}

impl<'f> Reading<'f> {
    pub(super) fn new(files: &'f mut Files) -> Self {
        Self {
            files,
            problems: Vec::new(),
            notes: Vec::new(),
            origins: Origins::default(),
            model_name: None,
        }
    }

    /// The model's limits, and whether clamping is allowed.
    pub(super) fn config(&mut self) -> (ModelLimits, bool) {
        let file = self.files.display(Path::new(CONFIG));
        self.origins.config = Some(file.clone());
        let problem =
            |reason: &str| ContractProblem::File { file: file.clone(), reason: reason.to_owned() };
        let node = match self.files.text(Path::new(CONFIG)) {
            Ok(Some(text)) => Node::from_json(&text, &file).map_err(|reason| problem(&reason)),
            Ok(None) => {
                Err(problem("there is no such file, expected one with model_context_window"))
            }
            Err(problem) => Err(problem),
        };
        let node = node.and_then(|node| match node.value {
            Value::Map(_) => Ok(node),
            _ => {
                Err(problem(&format!("holds {node}, expected an object with model_context_window")))
            }
        });
        let node = match node {
            Ok(node) => node,
            Err(problem) => {
                self.problems.push(problem);
                return (ModelLimits::default(), false);
            }
        };
        self.unread(Section::Config, &node, "");
        self.model_name = self.text(&node, "", "model");
        let limits = ModelLimits {
            context_window: self.integer(&node, "", "model_context_window"),
            max_tokens: self.integer(&node, "", "model_max_tokens"),
        };
        (limits, self.boolean(&node, "", "allow_auto_clamp"))
    }

    /// The contract of a merged pipeline, with everything that is wrong with it.
    pub(super) fn contract(
        mut self,
        pipeline: &Node,
        (model, allow_auto_clamp): (ModelLimits, bool),
    ) -> BudgetContract {
        self.origins.pipeline = Some(pipeline.file.to_string());
        self.unread(Section::Pipeline, pipeline, "");
        let mut settings = PipelineSettings::default();
        if let Some(node) = self.map(pipeline, "", "settings") {
            self.unread(Section::Settings, node, "settings.");
            let mut read = |key| self.integer(node, "settings.", key);
            settings.max_context_tokens = read("max_context_tokens");
            settings.max_history_tokens = read("max_history_tokens");
            settings.safety_margin_tokens = read("budget_safety_margin_tokens");
        }
        let steps = self.steps(pipeline);
        let mut contract = BudgetContract::new(model, settings);
        contract.steps = steps;
        contract.policy =
            if allow_auto_clamp { LimitsPolicy::AutoClamp } else { LimitsPolicy::FailFast };
        contract.origins = self.origins;
        contract.notes = self.notes;
        contract.model_name = self.model_name;
        contract.problems = self.problems;
        contract
    }

    fn steps(&mut self, pipeline: &Node) -> Vec<GenerationStep> {
        let steps = self.map(pipeline, "", "steps");
        let entries = steps.map(Node::entries).unwrap_or_default();
        if entries.is_empty() && !self.reported("steps".to_owned()) {
            let place = Place { file: Some(pipeline.file.to_string()), key: "steps".to_owned() };
            let expected = format!("at least one step, with an id and an action such as {ACTION}");
            self.problems.push(ContractProblem::Missing { place, expected });
        }
        let generating: Vec<_> =
            entries.iter().filter_map(|(name, step)| self.step(name, step)).collect();
        if generating.is_empty() && !entries.is_empty() {
            self.notes.push(format!("{}: no step has the action {ACTION}", pipeline.file));
        }
        generating
    }

    fn step(&mut self, name: &str, node: &Node) -> Option<GenerationStep> {
        let prefix = &format!("steps.{name}.");
        if !matches!(node.value, Value::Map(_)) {
            self.invalid(node, format!("steps.{name}"), "a map with an action");
            return None;
        }
        let action = self.text(node, prefix, "action");
        match action.as_deref() {
            Some(ACTION) => {}
            Some(other) => {
                // A slip here would leave the step unchecked.
                if is_slip(other, ACTION) {
                    let node = node.get("action").unwrap_or(node);
                    self.invalid(
                        node,
                        format!("{prefix}action"),
                        "another action, or \"call_model\"",
                    );
                }
                return None;
            }
            None if self.reported(format!("{prefix}action")) => return None,
            None => {
                self.missing(
                    node,
                    format!("{prefix}action"),
                    "what the step does, such as call_model",
                );
                return None;
            }
        }
        self.unread(Section::Step, node, prefix);
        let mut step = GenerationStep::new(name);
        step.max_output_tokens = self.integer(node, prefix, "max_output_tokens");
        step.max_tokens = self.integer(node, prefix, "max_tokens");
        step.use_history = self.boolean(node, prefix, "use_history");
        step.system_prompt = self.prompt(node, prefix).map(Into::into);
        step.user_parts = self.user_parts(node, prefix);
        Some(step)
    }

    /// The text of the prompt file that `prompt_key` names.
    fn prompt(&mut self, step: &Node, prefix: &str) -> Option<String> {
        let name = self.text(step, prefix, "prompt_key")?;
        let key = format!("{prefix}prompt_key");
        let node = step.get("prompt_key")?;
        if !stays_below(&name) {
            self.invalid(node, key, "the name of a file below prompts");
            return None;
        }
        let candidates = ["", ".txt", ".md"].map(|extension| {
            // A key is the file's name without its extension, or all of it.
            Path::new(PROMPTS).join(format!("{name}{extension}"))
        });
        for candidate in &candidates {
            match self.files.text(candidate) {
                Ok(Some(text)) => return Some(text),
                Ok(None) => {}
                Err(problem) => {
                    self.problems.push(problem);
                    return None;
                }
            }
        }
        let [_, text, markdown] = candidates.map(|candidate| self.files.display(&candidate));
        self.invalid(node, key, &format!("a prompt file; there is no {text} and no {markdown}"));
        None
    }

    /// The templates of `user_parts`: a map or list of templates, or of maps with a template.
    fn user_parts(&mut self, step: &Node, prefix: &str) -> Vec<String> {
        let Some(parts) = step.get("user_parts") else { return Vec::new() };
        let parts: Vec<(String, &Node)> = match &parts.value {
            Value::Map(parts) => parts
                .iter()
                .map(|(name, part)| (format!("{prefix}user_parts.{name}"), part))
                .collect(),
            Value::List(parts) => parts
                .iter()
                .enumerate()
                .map(|(position, part)| (format!("{prefix}user_parts[{position}]"), part))
                .collect(),
            _ => {
                self.invalid(parts, format!("{prefix}user_parts"), "a map of parts with templates");
                return Vec::new();
            }
        };
        parts.into_iter().filter_map(|(key, part)| self.template(part, key)).collect()
    }

    fn template(&mut self, part: &Node, key: String) -> Option<String> {
        match &part.value {
            Value::Text(template) => Some(template.clone()),
            Value::Map(_) => {
                let prefix = format!("{key}.");
                self.unread(Section::UserPart, part, &prefix);
                let template = self.text(part, &prefix, "template");
                if template.is_none() && !self.reported(format!("{prefix}template")) {
                    self.missing(part, format!("{prefix}template"), "a text with {} for the value");
                }
                template
            }
            _ => {
                self.invalid(part, key, "a template, or a map with one");
                None
            }
        }
    }

    fn map<'n>(&mut self, parent: &'n Node, prefix: &str, key: &str) -> Option<&'n Node> {
        let node = parent.get(key)?;
        if matches!(node.value, Value::Map(_)) {
            return Some(node);
        }
        let expected = if key == "steps" { "a list of steps" } else { "a map" };
        self.invalid(node, format!("{prefix}{key}"), expected);
        None
    }

    fn integer(&mut self, parent: &Node, prefix: &str, key: &str) -> Option<i64> {
        let node = parent.get(key)?;
        let key = format!("{prefix}{key}");
        if let Value::Integer(number) = node.value {
            if let Ok(number) = i64::try_from(number) {
                self.origins.keys.insert(key, node.file.to_string());
                return Some(number);
            }
        }
        self.invalid(node, key, "a whole number of tokens");
        None
    }

    fn boolean(&mut self, parent: &Node, prefix: &str, key: &str) -> bool {
        let Some(node) = parent.get(key) else { return false };
        if let Value::Bool(value) = node.value {
            return value;
        }
        self.invalid(node, format!("{prefix}{key}"), "true or false");
        false
    }

    fn text(&mut self, parent: &Node, prefix: &str, key: &str) -> Option<String> {
        let node = parent.get(key)?;
        if let Value::Text(text) = &node.value {
            return Some(text.clone());
        }
        self.invalid(node, format!("{prefix}{key}"), "a text");
        None
    }

    fn unread(&mut self, section: Section, map: &Node, prefix: &str) {
        let mut unread = Unread::default();
        unread.look(section, map, prefix);
        self.problems.append(&mut unread.problems);
        self.notes.append(&mut unread.notes);
    }

    fn invalid(&mut self, node: &Node, key: String, expected: &str) {
        self.problems.push(ContractProblem::Invalid {
            place: Place { file: Some(node.file.to_string()), key },
            value: node.to_string(),
            expected: expected.to_owned(),
        });
    }

    fn missing(&mut self, node: &Node, key: String, expected: &str) {
        self.problems.push(ContractProblem::Missing {
            place: Place { file: Some(node.file.to_string()), key },
            expected: expected.to_owned(),
        });
    }

    /// Whether something was already said of a value.
    fn reported(&self, key: String) -> bool {
        let place = Place { file: None, key };
        self.problems.iter().any(|problem| problem.explains(&place))
    }
}
