//! A folder of contracts, and a cache of those that are checked.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::extends;
use super::files::{Files, Findings};
use super::read::ContractReader;
use crate::contract::check::{BudgetContract, CheckedContract};
use crate::contract::limits::LimitsPolicy;
use crate::contract::problem::{ContractError, ContractProblem};
use crate::tokens::TokenCounter;

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
#[must_use]
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
    fn load_from(
        &self,
        files: &mut Files,
        pipeline: &str,
    ) -> Result<BudgetContract, ContractError> {
        let mut reading = ContractReader::new(files);
        let config = reading.config();
        let contract = match reading.pipeline(pipeline) {
            Some(merged) => reading.contract(merged, config),
            None => return Err(ContractError::of(reading.findings.problems)),
        };
        Ok(match self.policy {
            Some(policy) => contract.policy(policy),
            None => contract,
        })
    }

    /// The parent of a pipeline file, and whether it has steps of its own; `None` if it is no
    /// YAML, which is reported when it is loaded.
    fn outline(&self, file: &str) -> Option<(Option<String>, bool)> {
        let text = Files::new(&self.root).text(&Path::new("pipelines").join(file)).ok()??;
        let tree = extends::parse(&text, "", &mut Findings::default()).ok()?;
        let parent = extends::parent(&tree).ok()?;
        let parent = parent.map(|(name, _)| stem(&name).unwrap_or(name));
        Some((parent, tree.get("steps").is_some()))
    }
}

fn stem(file: &str) -> Option<String> {
    file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml")).map(str::to_owned)
}

/// Gives checked contracts, and checks one only if its files have changed.
///
/// A contract depends on `config.json`, on its pipeline file, on every file it extends, and on
/// the prompt files of its `call_model` steps: on their bytes, not on their time stamps. Looking
/// at them is all that happens on a hit; no file is parsed and no token counted. A file that was
/// looked for and not found counts as well, so one that appears is noticed.
///
/// Failures are not kept: the next call looks again.
///
/// ```
/// use std::sync::Arc;
///
/// use cupel::contract::{ContractCache, ContractFolder};
/// use cupel::tokens::HeuristicCounter;
///
/// let folder = ContractFolder::open("examples/contract/good")?;
/// let cache = ContractCache::new(folder, HeuristicCounter);
/// let (first, second) = (cache.get("chat")?, cache.get("chat")?);
/// assert!(Arc::ptr_eq(&first, &second));
/// # Ok::<(), cupel::contract::ContractError>(())
/// ```
pub struct ContractCache<C> {
    folder: ContractFolder,
    counter: C,
    contracts: Mutex<HashMap<String, CachedContract>>,
}

#[derive(Clone)]
struct CachedContract {
    inputs: Arc<Files>,
    contract: Arc<CheckedContract>,
}

impl<C: TokenCounter> ContractCache<C> {
    /// A cache over a folder; prompts are measured by `counter`.
    pub fn new(folder: ContractFolder, counter: C) -> Self {
        Self { folder, counter, contracts: Mutex::default() }
    }

    /// The checked contract of a pipeline.
    ///
    /// # Errors
    ///
    /// [`ContractError`] as from [`ContractFolder::load`] and
    /// [`BudgetContract::check`](crate::contract::BudgetContract::check).
    pub fn get(&self, pipeline: &str) -> Result<Arc<CheckedContract>, ContractError> {
        // Files are read without the lock: one slow disk must not stop every other caller.
        let known = self.lock().get(pipeline).cloned();
        if let Some(entry) = known.filter(|entry| entry.inputs.unchanged()) {
            return Ok(entry.contract);
        }
        let mut files = Files::new(&self.folder.root);
        let contract = self.folder.load_from(&mut files, pipeline)?;
        let contract = Arc::new(contract.check(&self.counter)?);
        let entry = CachedContract { inputs: Arc::new(files), contract: Arc::clone(&contract) };
        self.lock().insert(pipeline.to_owned(), entry);
        Ok(contract)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, CachedContract>> {
        // Entries are replaced whole, so a panic elsewhere leaves none half done.
        self.contracts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: TokenCounter> fmt::Debug for ContractCache<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContractCache")
            .field("folder", &self.folder)
            .field("counter", &self.counter.name())
            .finish_non_exhaustive()
    }
}
