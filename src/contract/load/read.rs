//! From a tree of values to a contract: types, required keys, prompt files.

use std::path::Path as FilePath;
use std::sync::Arc;

use super::extends::{self, table};
use super::files::{Files, Findings, Name, PROMPTS, Tokens, stays_below};
use crate::config::{Fields, Format, Path, Tree, Value, meant};
use crate::contract::check::{BudgetContract, Origins};
use crate::contract::limits::{GenerationStep, LimitsPolicy, ModelLimits, PipelineSettings};
use crate::contract::problem::ContractProblem;
use crate::error::QuotedText;

const CONFIG: &str = "config.json";
const ACTION: &str = "call_model";
const ROOT: &Path<'_> = &Path::Root;

/// Reads values of the right type and collects what is wrong.
pub(super) struct ContractReader<'f> {
    files: &'f mut Files,
    pub(super) findings: Findings,
    origins: Origins,
    model_name: Option<String>,
}

impl<'f> ContractReader<'f> {
    pub(super) fn new(files: &'f mut Files) -> Self {
        let (findings, origins) = (Findings::default(), Origins::default());
        Self { files, findings, origins, model_name: None }
    }

    /// The model's limits, and whether clamping is allowed.
    pub(super) fn config(&mut self) -> (ModelLimits, bool) {
        let read = self.config_tree().map_err(|problem| self.findings.problems.push(problem));
        let fields = read.ok().and_then(|tree| Fields::open(tree, ROOT, &mut self.findings, ""));
        let Some(mut fields) = fields else { return Default::default() };
        self.model_name = fields.maybe("model");
        let mut limit = |key| limit(&mut fields, &mut self.origins, ROOT, key);
        let limits = ModelLimits {
            context_window: limit("model_context_window"),
            max_tokens: limit("model_max_tokens"),
        };
        let allow_auto_clamp = fields.or("allow_auto_clamp", false);
        fields.close();
        (limits, allow_auto_clamp)
    }

    fn config_tree(&mut self) -> Result<Tree, ContractProblem> {
        let name = FilePath::new(CONFIG);
        let file = self.files.display(name);
        self.origins.config = Some(file.clone());
        let text = self.files.text(name)?.ok_or_else(|| ContractProblem::File {
            file: file.clone(),
            reason: "there is no such file, expected one with model_context_window".to_owned(),
        })?;
        table(Format::Json, &text, &file, "model_context_window")
    }

    /// A pipeline with everything it inherits; none if the files cannot be merged.
    pub(super) fn pipeline(&mut self, name: &str) -> Option<Tree> {
        let before = self.findings.problems.len();
        let merged = extends::read(self.files, name, &mut self.findings);
        let merged = merged.map_err(|problem| self.findings.problems.push(problem)).ok()?;
        (self.findings.problems.len() == before).then_some(merged)
    }

    /// The contract of a merged pipeline, with everything that is wrong with it.
    pub(super) fn contract(
        mut self,
        pipeline: Tree,
        (model, allow_auto_clamp): (ModelLimits, bool),
    ) -> BudgetContract {
        let file = Arc::clone(&pipeline.file);
        self.origins.pipeline = Some(file.to_string());
        let (mut settings, mut steps) = (None, None);
        if let Some(mut fields) = Fields::open(pipeline, ROOT, &mut self.findings, "a table") {
            fields.skip(&["name", "description", "extends"]);
            (settings, steps) = (fields.take("settings"), fields.take("steps"));
            fields.close();
        }
        let settings = settings.map(|tree| self.settings(tree)).unwrap_or_default();
        let mut contract = BudgetContract::new(model, settings);
        contract.steps = self.steps(steps, &file);
        contract.policy =
            if allow_auto_clamp { LimitsPolicy::AutoClamp } else { LimitsPolicy::FailFast };
        contract.origins = self.origins;
        contract.notes = self.findings.notes;
        contract.model_name = self.model_name;
        contract.problems = self.findings.problems;
        contract
    }

    fn settings(&mut self, tree: Tree) -> PipelineSettings {
        let mut settings = PipelineSettings::default();
        let path = ROOT.key("settings");
        if let Some(mut fields) = Fields::open(tree, &path, &mut self.findings, "a table") {
            let mut limit = |key| limit(&mut fields, &mut self.origins, &path, key);
            settings.max_context_tokens = limit("max_context_tokens");
            settings.max_history_tokens = limit("max_history_tokens");
            settings.safety_margin_tokens = limit("budget_safety_margin_tokens");
            fields.close();
        }
        settings
    }

    fn steps(&mut self, steps: Option<Tree>, pipeline: &Arc<str>) -> Vec<GenerationStep> {
        let path = ROOT.key("steps");
        let entries = match steps {
            None => Vec::new(),
            Some(steps) => {
                let fields = Fields::open(steps, &path, &mut self.findings, "a list of steps");
                let Some(mut fields) = fields else { return Vec::new() };
                fields.rest()
            }
        };
        if entries.is_empty() {
            let expected = format!("at least one step, with an id and an action such as {ACTION}");
            self.findings.missing(pipeline, &path, &expected);
            return Vec::new();
        }
        let step = |(name, step): (String, Tree)| self.step(&name, step, &path.key(&name));
        let generating: Vec<_> = entries.into_iter().filter_map(step).collect();
        if generating.is_empty() {
            self.findings.notes.push(format!("{pipeline}: no step has the action {ACTION}"));
        }
        generating
    }

    fn step(&mut self, name: &str, tree: Tree, path: &Path<'_>) -> Option<GenerationStep> {
        let mut fields = Fields::open(tree, path, &mut self.findings, "a table with an action")?;
        let expected = "what the step does, such as call_model";
        let Name(action, file) = fields.needed("action", expected)?;
        if action != ACTION {
            // A slip here would leave the step unchecked.
            if meant(&action, &[ACTION]).is_some() {
                let (path, value) = (path.key("action"), QuotedText(&action).to_string());
                self.findings.invalid(&file, &path, value, "another action, or \"call_model\"");
            }
            return None;
        }
        fields.skip(&["id", "name"]);
        let mut step = GenerationStep::new(name);
        step.max_output_tokens = limit(&mut fields, &mut self.origins, path, "max_output_tokens");
        step.max_tokens = limit(&mut fields, &mut self.origins, path, "max_tokens");
        step.use_history = fields.or("use_history", false);
        let prompt = fields.maybe("prompt_key");
        let parts = fields.take("user_parts");
        fields.close();
        step.system_prompt =
            prompt.and_then(|name| self.prompt(&name, &path.key("prompt_key"))).map(Into::into);
        step.user_parts =
            parts.map(|tree| self.user_parts(tree, &path.key("user_parts"))).unwrap_or_default();
        Some(step)
    }

    /// The text of the prompt file that `prompt_key` names.
    fn prompt(&mut self, Name(name, file): &Name, path: &Path<'_>) -> Option<String> {
        let shown = QuotedText(name).to_string();
        if !stays_below(name) {
            self.findings.invalid(file, path, shown, "the name of a file below prompts");
            return None;
        }
        let candidates = ["", ".txt", ".md"].map(|extension| {
            // A key is the file's name without its extension, or all of it.
            FilePath::new(PROMPTS).join(format!("{name}{extension}"))
        });
        for candidate in &candidates {
            match self.files.text(candidate) {
                Ok(Some(text)) => return Some(text),
                Ok(None) => {}
                Err(problem) => {
                    self.findings.problems.push(problem);
                    return None;
                }
            }
        }
        let [_, text, markdown] = candidates.map(|candidate| self.files.display(&candidate));
        let expected = format!("a prompt file; there is no {text} and no {markdown}");
        self.findings.invalid(file, path, shown, expected);
        None
    }

    /// The templates of `user_parts`: a table or list of templates, or of tables with a template.
    fn user_parts(&mut self, tree: Tree, path: &Path<'_>) -> Vec<String> {
        if let Value::List(parts) = tree.value {
            let part = |(index, part)| self.template(part, &path.index(index));
            return parts.into_iter().enumerate().filter_map(part).collect();
        }
        let expected = "a table of parts with templates";
        let parts = Fields::open(tree, path, &mut self.findings, expected);
        let parts = parts.map(|mut fields| fields.rest()).unwrap_or_default();
        let part = |(name, part): (String, Tree)| self.template(part, &path.key(&name));
        parts.into_iter().filter_map(part).collect()
    }

    fn template(&mut self, part: Tree, path: &Path<'_>) -> Option<String> {
        if let Value::Text(template) = part.value {
            return Some(template);
        }
        let expected = "a template, or a table with one";
        let mut fields = Fields::open(part, path, &mut self.findings, expected)?;
        fields.skip(&["source"]);
        let template = fields.needed("template", "a text with {} for the value");
        fields.close();
        template
    }
}

/// A number of tokens; which file it came from is kept for later.
fn limit<'a>(
    fields: &mut Fields<'a>,
    origins: &mut Origins,
    path: &Path<'_>,
    key: &'a str,
) -> Option<i64> {
    let Tokens(tokens, file) = fields.maybe(key)?;
    origins.keys.insert(path.key(key).to_string(), file.to_string());
    Some(tokens)
}
