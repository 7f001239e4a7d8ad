//! Contracts that are checked again only when a file they depend on has changed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::files::Files;
use super::folder::ContractFolder;
use crate::contract::checked::CheckedContract;
use crate::contract::problem::ContractError;
use crate::tokens::TokenCounter;

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
    contracts: Mutex<HashMap<String, Entry>>,
}

#[derive(Clone)]
struct Entry {
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
        let mut files = Files::new(self.folder.root());
        let contract = self.folder.load_from(&mut files, pipeline)?;
        let contract = Arc::new(contract.check(&self.counter)?);
        let entry = Entry { inputs: Arc::new(files), contract: Arc::clone(&contract) };
        self.lock().insert(pipeline.to_owned(), entry);
        Ok(contract)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Entry>> {
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
