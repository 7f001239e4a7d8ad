//! Scorers from a vector's configuration.

use std::sync::Arc;
use std::time::Duration;

use cupel::scorer::{
    AgeScorer, CompositeScorer, DecayCurve, DecayScorer, FixedTimeProvider, FrequencyScorer,
    KindScorer, MetadataKeyScorer, MetadataTrustScorer, RecencyScorer, ScaledScorer, TagScorer,
};
use cupel::{ContextKind, PriorityScorer, ReflexiveScorer, Scorer};

use super::build::Failure;
use super::document::View;

/// Location of a scorer's settings: its own table, or else `[config]`.
#[derive(Clone)]
pub(crate) struct Settings<'d> {
    own: Option<View<'d>>,
    shared: Option<View<'d>>,
}

impl<'d> Settings<'d> {
    /// The settings of a vector's one scorer.
    pub(crate) fn of_config(config: Option<View<'d>>) -> Self {
        Self { own: config, shared: None }
    }

    fn child(&self, own: View<'d>) -> Self {
        let shared = self.shared.clone().or_else(|| self.own.clone());
        Self { own: Some(own), shared }
    }

    fn table_with(&self, key: &str) -> Option<&View<'d>> {
        self.own.iter().chain(&self.shared).find(|view| view.has(key))
    }

    fn find<T>(
        &self,
        key: &str,
        read: impl FnOnce(&View<'d>) -> Result<Option<T>, String>,
    ) -> Result<Option<T>, String> {
        self.table_with(key).map_or(Ok(None), read)
    }

    fn need<T>(
        &self,
        key: &str,
        read: impl FnOnce(&View<'d>) -> Result<Option<T>, String>,
    ) -> Result<T, String> {
        self.find(key, read)?.ok_or_else(|| format!("config.{key} is missing"))
    }

    fn tables(&self, key: &str) -> Result<Vec<View<'d>>, String> {
        self.table_with(key).map_or(Ok(Vec::new()), |view| view.tables(key))
    }
}

/// The scorer of a pipeline vector: the only entry of `scorers`, or a composite of them.
pub(crate) fn of_pipeline(config: &View<'_>) -> Result<Arc<dyn Scorer>, Failure> {
    let settings = Settings::of_config(Some(config.clone()));
    let entries = children(&settings)?;
    match <[Child; 1]>::try_from(entries) {
        Ok([(only, _)]) => Ok(only),
        Err(entries) => Ok(Arc::new(CompositeScorer::new(entries)?)),
    }
}

/// A scorer by its name in the vectors.
pub(crate) fn build(kind: &str, settings: &Settings<'_>) -> Result<Arc<dyn Scorer>, Failure> {
    Ok(match kind {
        "age" => Arc::new(AgeScorer),
        "recency" => Arc::new(RecencyScorer),
        "priority" => Arc::new(PriorityScorer),
        "frequency" => Arc::new(FrequencyScorer),
        "reflexive" => Arc::new(ReflexiveScorer),
        "kind" => Arc::new(kind_scorer(settings)?),
        "tag" => Arc::new(tag_scorer(settings)?),
        "metadata_trust" => {
            let default = settings.need("default_score", |view| view.float("default_score"))?;
            Arc::new(MetadataTrustScorer::new(default)?)
        }
        "metadata_key" => Arc::new(MetadataKeyScorer::new(
            settings.need("key", |view| view.string("key"))?,
            settings.need("value", |view| view.string("value"))?,
            settings.need("boost", |view| view.float("boost"))?,
        )?),
        "decay" => Arc::new(decay_scorer(settings)?),
        "composite" => Arc::new(CompositeScorer::new(children(settings)?)?),
        "scaled" => {
            let own = settings.own.as_ref().ok_or("config is missing".to_owned())?;
            let inner = own.required("inner_scorer", own.string("inner_scorer")?)?;
            let deeper = own.table("inner")?.map(|table| settings.child(table));
            if inner == "scaled" && deeper.is_none() {
                return Err("a scaled scorer inside a scaled one needs its own inner table"
                    .to_owned()
                    .into());
            }
            Arc::new(ScaledScorer::new(build(inner, deeper.as_ref().unwrap_or(settings))?)?)
        }
        other => return Err(format!("unknown scorer {other:?}").into()),
    })
}

/// A composite's child and its weight.
type Child = (Arc<dyn Scorer>, f64);

/// The entries of a composite: `scorers` at the top, `children` below.
fn children(settings: &Settings<'_>) -> Result<Vec<Child>, Failure> {
    let own = settings.own.as_ref().ok_or("config is missing".to_owned())?;
    let key = if own.has("children") { "children" } else { "scorers" };
    let child = |view: View<'_>| -> Result<Child, Failure> {
        let kind = view.required("type", view.string("type")?)?;
        let weight = view.required("weight", view.float("weight")?)?;
        Ok((build(kind, &settings.child(view))?, weight))
    };
    // All are read before one is refused, so that no key looks unknown.
    let entries: Vec<_> = own.tables(key)?.into_iter().map(child).collect();
    entries.into_iter().collect()
}

fn kind_scorer(settings: &Settings<'_>) -> Result<KindScorer, Failure> {
    let default =
        settings.find("use_default_weights", |view| view.boolean("use_default_weights"))?;
    let custom = settings.table_with("weights").is_some();
    if default.unwrap_or(!custom) {
        return Ok(KindScorer::default());
    }
    let mut weights = Vec::new();
    for view in settings.tables("weights")? {
        let kind = view.required("kind", view.string("kind")?)?;
        let weight = view.required("weight", view.float("weight")?)?;
        weights.push((ContextKind::new(kind)?, weight));
    }
    Ok(KindScorer::new(weights)?)
}

fn tag_scorer(settings: &Settings<'_>) -> Result<TagScorer, Failure> {
    let mut weights = Vec::new();
    for view in settings.tables("tag_weights")? {
        let tag = view.required("tag", view.string("tag")?)?;
        weights.push((tag, view.required("weight", view.float("weight")?)?));
    }
    let fold = settings.find("case_insensitive", |view| view.boolean("case_insensitive"))?;
    Ok(if fold.unwrap_or(false) {
        TagScorer::case_insensitive(weights)?
    } else {
        TagScorer::new(weights)?
    })
}

fn decay_scorer(settings: &Settings<'_>) -> Result<DecayScorer, Failure> {
    let now = settings.need("reference_time", |view| view.instant("reference_time"))?;
    let curve = settings.need("curve", |view| view.table("curve"))?;
    let untimed =
        settings.find("null_timestamp_score", |view| view.float("null_timestamp_score"))?;
    let seconds = |view: &View<'_>, key: &str| -> Result<Duration, Failure> {
        let seconds = view.required(key, view.float(key)?)?;
        // A negative duration is a value the library's types refuse.
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| Failure::RefusedItem(error.to_string()))
    };
    let curve = match curve.required("type", curve.string("type")?)? {
        "exponential" => DecayCurve::exponential(seconds(&curve, "half_life_secs")?)?,
        "window" => DecayCurve::window(seconds(&curve, "max_age_secs")?)?,
        "step" => {
            let window = |view: &View<'_>| -> Result<(Duration, f64), Failure> {
                let score = view.required("score", view.float("score")?)?;
                Ok((seconds(view, "max_age_secs")?, score))
            };
            let windows: Vec<_> = curve.tables("windows")?.iter().map(window).collect();
            DecayCurve::step(windows.into_iter().collect::<Result<_, _>>()?)?
        }
        other => return Err(format!("unknown decay curve {other:?}").into()),
    };
    let scorer = DecayScorer::new(FixedTimeProvider::new(now), curve);
    Ok(match untimed {
        Some(score) => scorer.null_timestamp_score(score)?,
        None => scorer,
    })
}
