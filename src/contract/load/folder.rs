//! A folder of contracts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::extends;
use super::files::Files;
use super::noted::Noted;
use super::read::Reading;
use crate::contract::check::BudgetContract;
use crate::contract::policy::LimitsPolicy;
use crate::contract::problem::{ContractError, ContractProblem};

/// Contracts as files:
///
/// ```text
/// config.json            model_context_window, model_max_tokens, model, allow_auto_clamp
/// pipelines/chat.yaml    extends, settings, steps
/// prompts/answer.txt     prompt_key: answer
/// ```
///
/// ```yaml
/// extends: base                    # optional: another pipeline, whose values this one overrides
/// settings:
///   max_context_tokens: 6000
///   max_history_tokens: 1200       # if a step uses the history
///   budget_safety_margin_tokens: 128
/// steps:
///   - id: answer
///     action: call_model           # steps with other actions are not read
///     prompt_key: answer           # prompts/answer, prompts/answer.txt or prompts/answer.md
///     use_history: true
///     max_output_tokens: 1024      # before max_tokens, before model_max_tokens
///     user_parts:
///       evidence: { source: context_blocks, template: "### Evidence:\n{}\n\n" }
/// ```
///
/// A child's steps change those of the same name and come after the others. A key that is
/// probably meant to be another, or that stands in the wrong place, is an error; any other unknown
/// key is a note. A pipeline whose name starts with `_`, or that has no steps and is extended by
/// another, is there to be extended and is not checked by itself.
///
/// Every file is a regular file of the folder, of at most 1 MiB, a prompt of at most 8 MiB. Links
/// may lead from one file of the folder to another, but not out of it. What files hold has the
/// same limits as [policies](crate::policy::spec#limits).
///
/// ```
/// use cupel::contract::ContractFolder;
/// use cupel::tokens::HeuristicCounter;
///
/// let folder = ContractFolder::open("examples/contract/good")?;
/// let contract = folder.load("chat")?.check(&HeuristicCounter)?;
/// assert!(contract.step("answer")?.parts().headroom() >= 0);
/// # Ok::<(), cupel::contract::ContractError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ContractFolder {
    root: PathBuf,
    policy: Option<LimitsPolicy>,
}

impl ContractFolder {
    /// A folder, under the policy that the environment variable `PIPELINE_LIMITS_POLICY` asks
    /// for. If it is not set, `allow_auto_clamp: true` in `config.json` asks for clamping.
    ///
    /// # Errors
    ///
    /// [`ContractError`] when the variable holds a word that is no policy.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, ContractError> {
        Ok(Self { root: root.into(), policy: LimitsPolicy::from_env()? })
    }

    /// Sets the policy, whatever the environment and `config.json` say.
    #[must_use]
    pub fn policy(mut self, policy: LimitsPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The names of the pipelines to check, sorted.
    ///
    /// # Errors
    ///
    /// [`ContractError`] when there is no folder `pipelines`, or no pipeline in it.
    pub fn pipelines(&self) -> Result<Vec<String>, ContractError> {
        let folder = self.root.join("pipelines");
        let problem = |reason: String| {
            ContractError::from(ContractProblem::File {
                file: folder.display().to_string(),
                reason,
            })
        };
        let entries = std::fs::read_dir(&folder)
            .map_err(|error| problem(format!("cannot be read: {error}")))?;
        let mut names = Vec::new();
        let mut parents = HashSet::new();
        let mut without_steps = HashSet::new();
        for entry in entries.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = stem(&file) else { continue };
            if let Some((parent, has_steps)) = self.outline(&file) {
                parents.extend(parent);
                if !has_steps {
                    without_steps.insert(name.clone());
                }
            }
            if !name.starts_with('_') {
                names.push(name);
            }
        }
        names.retain(|name| !(parents.contains(name) && without_steps.contains(name)));
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Err(problem("there is no pipeline, expected a file *.yaml".to_owned()));
        }
        Ok(names)
    }

    /// Reads one pipeline and everything it refers to.
    ///
    /// # Errors
    ///
    /// [`ContractError`] when the pipeline or a file it extends cannot be read. What is wrong with
    /// single values is reported by [`BudgetContract::check`], all of it at once.
    pub fn load(&self, pipeline: &str) -> Result<BudgetContract, ContractError> {
        self.load_from(&mut Files::new(&self.root), pipeline)
    }

    /// Reads through `files`, which then knows what the contract depends on.
    pub(super) fn load_from(
        &self,
        files: &mut Files,
        pipeline: &str,
    ) -> Result<BudgetContract, ContractError> {
        let mut reading = Reading::new(files);
        let config = reading.config();
        let contract = match reading.pipeline(pipeline) {
            Some(merged) => reading.contract(merged, config),
            None => return Err(ContractError::of(reading.noted.problems)),
        };
        Ok(match self.policy {
            Some(policy) => contract.policy(policy),
            None => contract,
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The parent of a pipeline file, and whether it has steps of its own; `None` if it is no
    /// YAML, which is reported when it is loaded.
    fn outline(&self, file: &str) -> Option<(Option<String>, bool)> {
        let text = Files::new(&self.root).text(&Path::new("pipelines").join(file)).ok()??;
        let tree = extends::parse(&text, "", &mut Noted::default()).ok()?;
        let parent = extends::parent(&tree).ok()?;
        let parent = parent.map(|(name, _)| stem(&name).unwrap_or(name));
        Some((parent, tree.get("steps").is_some()))
    }
}

fn stem(file: &str) -> Option<String> {
    file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml")).map(str::to_owned)
}
