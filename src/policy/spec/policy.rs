//! A policy's own keys and those of its plan: read, written, turned into a policy, and back.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::conversion::Conversion;
use super::{
    PlacerSpec, PolicySpec, PolicySpecError, RelevanceSpec, ScorerRegistry, ScorerSpec, SlicerSpec,
};
use crate::config::{Fields, Finding, FromTree, Path, Report, Tree, Value};
use crate::model::{Grid, OverflowStrategy, RecallBy, ToolLimit, TurnPlan};
use crate::policy::{Policy, PolicyBuilder};

const SCORER: Path<'_> = Path::Key(&Path::Root, "scorer");
const SLICER: Path<'_> = Path::Key(&Path::Root, "slicer");
const PLACER: Path<'_> = Path::Key(&Path::Root, "placer");
const PLAN: Path<'_> = Path::Key(&Path::Root, "plan");
const TOOLS: Path<'_> = Path::Key(&Path::Root, "tools");
const RELEVANCE: Path<'_> = Path::Key(&Path::Root, "relevance");

impl PolicySpec {
    /// Reads a policy and fails with everything that is wrong with it.
    #[doc(hidden)]
    pub fn read(tree: Tree) -> Result<Self, PolicySpecError> {
        let mut convert = Conversion::default();
        let Some(mut fields) = Fields::open(tree, &Path::Root, &mut convert, "a table") else {
            return convert.finish(None);
        };
        let given = (fields.has("scorers"), fields.has("scorer"));
        // `scorers` is a weighted average, `scorer` is one scorer as it is.
        let scorers = fields.or("scorers", Vec::new());
        let average = ScorerSpec::Composite { scorers };
        let spec = Self {
            scorer: if given.1 { fields.required("scorer") } else { fields.or("scorer", average) },
            slicer: fields.required("slicer"),
            placer: fields.required("placer"),
            overflow: fields.or("overflow", OverflowStrategy::default()),
            deduplication: fields.or("deduplication", true),
            plan: fields.maybe("plan"),
            relevance: fields.maybe("relevance"),
            tools: fields.or("tools", ToolLimit::new()),
        };
        fields.close();
        match given {
            (true, true) => convert.add(SCORER, "give either scorers or scorer, got both"),
            (false, false) => {
                let expected = "a list of scorers with weights, or scorer for a single one";
                let found = Finding::Missing { expected, file: &"".into() };
                convert.report(&Path::Root.key("scorers"), found);
            }
            _ => {}
        }
        // What is built is thrown away: it needs a registry. What its rules say is kept.
        drop(spec.build(if given.1 { &SCORER } else { &Path::Root }, &mut convert));
        convert.finish(Some(spec))
    }

    fn build(&self, scorer_path: &Path<'_>, convert: &mut Conversion<'_>) -> PolicyBuilder {
        let plan = self.plan.as_ref().map(|plan| checked_plan(plan, convert));
        let policy = Policy::builder()
            .scorer(self.scorer.build(scorer_path, convert))
            .slicer(self.slicer.build(&SLICER, convert))
            .placer(self.placer.build(&PLACER, convert))
            .overflow_strategy(self.overflow)
            .deduplication(self.deduplication);
        let relevance = self.relevance.as_ref();
        let relevance = relevance.map(|relevance| relevance.build(&RELEVANCE, convert));
        let tools = checked_tools(&self.tools, convert);
        PolicyBuilder { plan, relevance, tools, ..policy }
    }

    /// Checks every value; whether custom scorers are registered shows in
    /// [`to_policy`](Self::to_policy).
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] lists every value that is not allowed, with its path.
    pub fn validate(&self) -> Result<(), PolicySpecError> {
        let mut convert = Conversion::default();
        drop(self.build(&self.scorer.path_in(&Path::Root), &mut convert));
        convert.finish(Some(()))
    }

    /// The policy this spec describes, with the registry's clock and scorers.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] lists every value that is not allowed and every name that is
    /// not registered, each with its path.
    pub fn to_policy(&self, registry: &ScorerRegistry) -> Result<Policy, PolicySpecError> {
        let mut convert = Conversion::with(registry);
        let policy = self.build(&self.scorer.path_in(&Path::Root), &mut convert).build();
        let policy = convert.check(&Path::Root, policy);
        convert.finish(policy)
    }

    /// The spec that describes a policy.
    ///
    /// A scorer that is registered in `registry` is written by its name. A decay scorer's clock is
    /// not data: [`to_policy`](Self::to_policy) takes the registry's.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] names every part that is neither built in nor registered.
    pub fn from_policy(
        policy: &Policy,
        registry: &ScorerRegistry,
    ) -> Result<Self, PolicySpecError> {
        let pipeline = policy.pipeline();
        let mut convert = Conversion::with(registry);
        let spec = Self {
            scorer: ScorerSpec::describe_in(&Path::Root, &**pipeline.scorer(), &mut convert),
            slicer: SlicerSpec::describe(&**pipeline.slicer(), &SLICER, &mut convert),
            placer: PlacerSpec::describe(&**pipeline.placer(), &PLACER, &mut convert),
            overflow: pipeline.overflow_strategy(),
            deduplication: pipeline.deduplication(),
            plan: policy.plan().cloned(),
            relevance: policy
                .relevance()
                .map(|relevance| RelevanceSpec::describe(relevance, &RELEVANCE, &mut convert)),
            tools: policy.tools().clone(),
        };
        convert.finish(Some(spec))
    }
}

impl<'de> Deserialize<'de> for PolicySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Tree::read(deserializer, "")?).map_err(D::Error::custom)
    }
}

/// Parts can be read by themselves.
macro_rules! deserialize {
    ($($Spec:ident),+) => {$(
        impl<'de> Deserialize<'de> for $Spec {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut convert = Conversion::default();
                let tree = Tree::read(deserializer, "")?;
                let spec = Self::from_tree(tree, &Path::Root, &mut convert);
                let _ = spec.as_ref().map(|spec| spec.build(&Path::Root, &mut convert));
                convert.finish(spec).map_err(D::Error::custom)
            }
        }
    )+};
}

deserialize!(ScorerSpec, SlicerSpec, PlacerSpec);

/// The plan, or the default one after a problem is recorded.
fn checked_plan(plan: &TurnPlan, convert: &mut Conversion<'_>) -> TurnPlan {
    let problems = plan.problems();
    for (field, problem) in &problems {
        let field = if *field == "grid" { "grid_tokens" } else { field };
        convert.add(PLAN.key(field), problem);
    }
    if problems.is_empty() { plan.clone() } else { TurnPlan::new() }
}

/// The limit for tools, or the default one after a problem is recorded.
fn checked_tools(tools: &ToolLimit, convert: &mut Conversion<'_>) -> ToolLimit {
    let problems = tools.problems();
    problems.iter().for_each(|(field, problem)| convert.add(TOOLS.key(field), problem));
    if problems.is_empty() { tools.clone() } else { ToolLimit::new() }
}

/// `never`, or the keys that a policy's `tools` has.
impl Serialize for ToolLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(share) = self.share else { return serializer.serialize_str("never") };
        let mut keys = serializer.serialize_map(None)?;
        keys.serialize_entry("share", &share)?;
        if !self.keep.is_empty() {
            keys.serialize_entry("keep", &self.keep)?;
        }
        keys.end()
    }
}

impl FromTree for ToolLimit {
    const EXPECTED: &'static str = "a share of the window, never, default, or a table";

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        match (&tree.value, tree.text()) {
            (_, Some("never")) => return Some(Self::never()),
            (_, Some("default")) => return Some(Self::new()),
            (Value::Number(share), _) => return Some(Self::new().share(*share)),
            (Value::Whole(share), _) => return Some(Self::new().share(*share as f64)),
            _ => {}
        }
        let mut fields = Fields::open(tree, path, report, Self::EXPECTED)?;
        let default = Self::new();
        let limit = Self {
            share: fields.maybe("share").or(default.share),
            keep: fields.or("keep", Vec::new()),
        };
        fields.close();
        Some(limit)
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::new()
    }
}

/// The keys that a policy's `plan` has.
impl Serialize for TurnPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(None)?;
        keys.serialize_entry("recall", &self.recall)?;
        keys.serialize_entry("recall_with_sources", &self.recall_with_sources)?;
        keys.serialize_entry("standing", &self.standing)?;
        keys.serialize_entry("prompt_cache", &(self.grid != Grid::Uncached))?;
        if let Grid::Tokens(tokens) = self.grid {
            keys.serialize_entry("grid_tokens", &tokens)?;
        }
        keys.serialize_entry("excerpt", &self.excerpt)?;
        keys.serialize_entry("faded", &self.faded)?;
        keys.serialize_entry("hash", &self.hash)?;
        keys.serialize_entry("recall_by_policy", &(self.recall_by == RecallBy::Policy))?;
        keys.serialize_entry("compare", &self.compare)?;
        keys.end()
    }
}

impl FromTree for TurnPlan {
    const EXPECTED: &'static str = "none, default, or a table with the settings of a plan";

    fn from_tree(tree: Tree, path: &Path<'_>, report: &mut dyn Report) -> Option<Self> {
        let default = Self::new();
        match tree.text() {
            Some("none") => return None,
            Some("default") => return Some(default),
            _ => {}
        }
        let mut fields = Fields::open(tree, path, report, Self::EXPECTED)?;
        let plan = Self {
            recall: fields.or("recall", default.recall),
            recall_with_sources: fields.or("recall_with_sources", default.recall_with_sources),
            standing: fields.or("standing", default.standing),
            grid: match (fields.or("prompt_cache", true), fields.maybe("grid_tokens")) {
                (_, Some(tokens)) => Grid::Tokens(tokens),
                (true, None) => Grid::Cached,
                (false, None) => Grid::Uncached,
            },
            excerpt: fields.or("excerpt", default.excerpt),
            faded: fields.or("faded", default.faded),
            hash: fields.or("hash", default.hash),
            recall_by: match fields.or("recall_by_policy", false) {
                true => RecallBy::Policy,
                false => RecallBy::Relevance,
            },
            compare: fields.or("compare", default.compare),
        };
        fields.close();
        Some(plan)
    }

    fn stand_in(_: &Path<'_>) -> Self {
        Self::new()
    }
}
