//! Registry of the things that a spec cannot hold: a clock, and scorers and judges written in code.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::meaning::{MeaningModel, MeaningSpec};
use crate::error::{ConfigError, CupelError};
use crate::relevance::Judge;
use crate::scorer::{Scorer, TimeProvider};

/// The clock and the named scorers and judges that turn a [`PolicySpec`](crate::PolicySpec) into a policy.
///
/// There is no default clock: a policy that decays with age follows the one given here.
///
/// ```
/// use cupel::{ContextItem, PolicySpec, Scorer};
/// use cupel::policy::spec::ScorerRegistry;
/// use cupel::scorer::SystemTimeProvider;
///
/// struct Brevity;
///
/// impl Scorer for Brevity {
///     fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
///         1.0 / (1.0 + item.tokens() as f64)
///     }
/// }
///
/// let registry = ScorerRegistry::new(SystemTimeProvider).register("brevity", Brevity)?;
/// let spec: PolicySpec = serde_json::from_str(
///     r#"{
///         "scorers": [
///             { "type": "reflexive", "weight": 3 },
///             { "type": "custom", "name": "brevity", "weight": 1 }
///         ],
///         "slicer": "greedy",
///         "placer": "u_shaped"
///     }"#,
/// )?;
/// let policy = spec.to_policy(&registry)?;
/// assert_eq!(PolicySpec::from_policy(&policy, &registry)?, spec);
///
/// let error = spec.to_policy(&ScorerRegistry::new(SystemTimeProvider)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"scorers[1].name: no scorer is registered as "brevity", and none is"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ScorerRegistry {
    clock: Arc<dyn TimeProvider>,
    pub(super) scorers: BTreeMap<String, Arc<dyn Scorer>>,
    pub(super) judges: BTreeMap<String, Arc<dyn Judge>>,
    models: Vec<Arc<OpenModel>>,
}

/// Opens models of one type. None for other types.
type OpenModel = dyn Fn(&MeaningSpec) -> Option<Result<MeaningModel, String>> + Send + Sync;

impl ScorerRegistry {
    /// A registry without scorers; decay scorers will read this clock.
    pub fn new(clock: impl TimeProvider + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            scorers: BTreeMap::new(),
            judges: BTreeMap::new(),
            models: Vec::new(),
        }
    }

    /// Adds a scorer under a name. Values, `Arc`s and `Box`es all go in.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when the name is blank or taken.
    pub fn register(
        mut self,
        name: impl Into<String>,
        scorer: impl Scorer + 'static,
    ) -> Result<Self, CupelError> {
        let name = free(name.into(), &self.scorers)?;
        self.scorers.insert(name, Arc::new(scorer));
        Ok(self)
    }

    /// Adds a judge under a name, for `relevance: { type: custom, name: … }`. Judges and scorers
    /// may have the same name.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when the name is blank or taken by another judge.
    pub fn register_judge(
        mut self,
        name: impl Into<String>,
        judge: impl Judge + 'static,
    ) -> Result<Self, CupelError> {
        let name = free(name.into(), &self.judges)?;
        self.judges.insert(name, Arc::new(judge));
        Ok(self)
    }

    /// Opens the models of `relevance: { type: blend, … }` by this function. It returns none for models that
    /// it does not know, and then the functions that were added before are asked.
    ///
    /// `cupel_model2vec::register` and `cupel_async_openai::register` add theirs.
    #[must_use]
    pub fn models(
        mut self,
        open: impl Fn(&MeaningSpec) -> Option<Result<MeaningModel, String>> + Send + Sync + 'static,
    ) -> Self {
        self.models.push(Arc::new(open));
        self
    }

    /// Opens a model. None if nothing knows its type.
    pub(super) fn open_model(&self, spec: &MeaningSpec) -> Option<Result<MeaningModel, String>> {
        self.models.iter().rev().find_map(|open| open(spec))
    }

    /// The judge registered under a name.
    pub fn judge(&self, name: &str) -> Option<&Arc<dyn Judge>> {
        self.judges.get(name)
    }

    /// The name under which this very judge is registered.
    pub(super) fn name_of_judge(&self, judge: &dyn Judge) -> Option<&str> {
        let mut entries = self.judges.iter();
        let found = entries.find(|(_, known)| known.identity() == judge.identity());
        found.map(|(name, _)| name.as_str())
    }

    /// The scorer registered under a name.
    ///
    /// A policy built in code with this handle can be written down as data.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Scorer>> {
        self.scorers.get(name)
    }

    pub(super) fn clock(&self) -> Arc<dyn TimeProvider> {
        Arc::clone(&self.clock)
    }

    /// The name under which this very scorer is registered.
    pub(super) fn name_of(&self, scorer: &dyn Scorer) -> Option<&str> {
        let mut entries = self.scorers.iter();
        let found = entries.find(|(_, known)| known.identity() == scorer.identity());
        found.map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for ScorerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScorerRegistry")
            .field("clock", &self.clock)
            .field("scorers", &self.scorers)
            .field("judges", &self.judges)
            .finish_non_exhaustive()
    }
}

/// A name that can be given, or why not.
fn free<T>(name: String, taken: &BTreeMap<String, T>) -> Result<String, CupelError> {
    let problem = |text: &str| {
        let message = format!("{name:?} {text}");
        Err(CupelError::ScorerConfig(ConfigError::new("ScorerRegistry", "name", message)))
    };
    if name.trim().is_empty() {
        return problem("is blank, expected at least one character that is not white space");
    }
    if taken.contains_key(&name) {
        return problem("is registered already, expected a new one");
    }
    Ok(name)
}
