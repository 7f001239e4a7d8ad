//! A policy's own keys: read, written, turned into a policy, and back.

use std::any::Any;

use serde::de::{Deserialize, Deserializer, Error};

use super::convert::Convert;
use super::{
    PlacerSpec, PolicySpec, PolicySpecError, RelevanceSpec, ScorerRegistry, ScorerSpec, SlicerSpec,
    plan,
};
use crate::config::{Fields, Found, FromTree, Path, Report, Tree};
use crate::model::OverflowStrategy;
use crate::policy::{Policy, PolicyBuilder};
use crate::scorer::CompositeScorer;

const SCORER: Path<'_> = Path::Key(&Path::Root, "scorer");
const SLICER: Path<'_> = Path::Key(&Path::Root, "slicer");
const PLACER: Path<'_> = Path::Key(&Path::Root, "placer");
const PLAN: Path<'_> = Path::Key(&Path::Root, "plan");
const RELEVANCE: Path<'_> = Path::Key(&Path::Root, "relevance");

/// Path of a policy's scorer. A weighted average is the policy's own list.
fn scorer_path(is_average: bool) -> Path<'static> {
    if is_average { Path::Root } else { SCORER }
}

impl PolicySpec {
    /// Reads a policy and fails with everything that is wrong with it.
    #[doc(hidden)]
    pub fn read(tree: Tree) -> Result<Self, PolicySpecError> {
        let mut convert = Convert::default();
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
        };
        fields.close();
        match given {
            (true, true) => convert.add(SCORER, "give either scorers or scorer, got both"),
            (false, false) => {
                let expected = "a list of scorers with weights, or scorer for a single one";
                let found = Found::Missing { expected, file: &"".into() };
                convert.report(&Path::Root.key("scorers"), found);
            }
            _ => {}
        }
        // What is built is thrown away: it needs a registry. What its rules say is kept.
        drop(spec.build(&scorer_path(!given.1), &mut convert));
        convert.finish(Some(spec))
    }

    fn build(&self, scorer_path: &Path<'_>, convert: &mut Convert<'_>) -> PolicyBuilder {
        let plan = self.plan.as_ref().map(|plan| plan::checked(plan, &PLAN, convert));
        let policy = Policy::builder()
            .scorer(self.scorer.build(scorer_path, convert))
            .slicer(self.slicer.build(&SLICER, convert))
            .placer(self.placer.build(&PLACER, convert))
            .overflow_strategy(self.overflow)
            .deduplication(self.deduplication);
        let policy = match plan {
            Some(plan) => policy.plan(plan),
            None => policy,
        };
        match &self.relevance {
            Some(relevance) => policy.relevance(relevance.build(&RELEVANCE, convert)),
            None => policy,
        }
    }

    fn own_scorer_path(&self) -> Path<'static> {
        scorer_path(matches!(self.scorer, ScorerSpec::Composite { .. }))
    }

    /// Checks every value; whether custom scorers are registered shows in
    /// [`to_policy`](Self::to_policy).
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] lists every value that is not allowed, with its path.
    pub fn validate(&self) -> Result<(), PolicySpecError> {
        let mut convert = Convert::default();
        drop(self.build(&self.own_scorer_path(), &mut convert));
        convert.finish(Some(()))
    }

    /// The policy this spec describes, with the registry's clock and scorers.
    ///
    /// # Errors
    ///
    /// [`PolicySpecError::Invalid`] lists every value that is not allowed and every name that is
    /// not registered, each with its path.
    pub fn to_policy(&self, registry: &ScorerRegistry) -> Result<Policy, PolicySpecError> {
        let mut convert = Convert::with(registry);
        let policy = self.build(&self.own_scorer_path(), &mut convert).build();
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
        let mut convert = Convert::with(registry);
        let scorer = &**pipeline.scorer();
        let is_average = scorer.as_any().is_some_and(<dyn Any>::is::<CompositeScorer>)
            && registry.name_of(scorer).is_none();
        let spec = Self {
            scorer: ScorerSpec::describe(scorer, &scorer_path(is_average), &mut convert),
            slicer: SlicerSpec::describe(&**pipeline.slicer(), &SLICER, &mut convert),
            placer: PlacerSpec::describe(&**pipeline.placer(), &PLACER, &mut convert),
            overflow: pipeline.overflow_strategy(),
            deduplication: pipeline.deduplication(),
            plan: policy.plan().cloned(),
            relevance: policy
                .relevance()
                .map(|relevance| RelevanceSpec::describe(relevance, &RELEVANCE, &mut convert)),
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
                let mut convert = Convert::default();
                let tree = Tree::read(deserializer, "")?;
                let spec = Self::from_tree(tree, &Path::Root, &mut convert);
                let _ = spec.as_ref().map(|spec| spec.build(&Path::Root, &mut convert));
                convert.finish(spec).map_err(D::Error::custom)
            }
        }
    )+};
}

deserialize!(ScorerSpec, SlicerSpec, PlacerSpec);
