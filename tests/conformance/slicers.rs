//! Slicers and placers from a vector's configuration.

use std::sync::Arc;

use cupel::placer::{AgePlacer, UShapedPlacer};
use cupel::slicer::{
    BestFirstSlice, CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, FillSlice,
    KnapsackSlice, QuotaSet, QuotaSlice, ScarcityBehavior,
};
use cupel::{ChronologicalPlacer, ContextKind, GreedySlice, Placer, Slicer};

use super::build::Failure;
use super::document::View;

/// A slicer by its name in the vectors; its settings are all in `[config]`.
///
/// Everything is read before anything is refused, so that no key looks unknown.
pub(crate) fn slicer(kind: &str, config: Option<&View<'_>>) -> Result<Arc<dyn Slicer>, Failure> {
    Ok(match kind {
        "greedy" => Arc::new(GreedySlice),
        "best_first" => Arc::new(BestFirstSlice),
        "fill" => Arc::new(FillSlice::new(inner(needed(config)?)?)),
        "knapsack" => Arc::new(knapsack(config)?),
        "quota" => {
            let config = needed(config)?;
            let (quotas, inner) = (quotas(config), inner(config));
            Arc::new(QuotaSlice::new(quotas?, inner?))
        }
        "count_quota" => {
            let config = needed(config)?;
            let (entries, inner, scarcity) = (entries(config), inner(config), scarcity(config));
            let within = within_budget(config);
            Arc::new(CountQuotaSlice::new(entries?, inner?, scarcity?)?.within_budget(within?))
        }
        "count_constrained_knapsack" => {
            let config = needed(config)?;
            let (entries, scarcity) = (entries(config), scarcity(config));
            let (knapsack, within) = (knapsack(Some(config)), within_budget(config));
            // It always packs the rest with a knapsack; vectors may say so.
            if let Some(other) = config.string("inner_slicer")?.filter(|&inner| inner != "knapsack")
            {
                return Err(
                    format!("inner slicer of a count-constrained knapsack: {other:?}").into()
                );
            }
            let slicer = CountConstrainedKnapsackSlice::new(entries?, knapsack?, scarcity?)?;
            Arc::new(slicer.within_budget(within?))
        }
        other => return Err(format!("unknown slicer {other:?}").into()),
    })
}

/// A placer by its name in the vectors.
pub(crate) fn placer(kind: &str) -> Result<Arc<dyn Placer>, String> {
    Ok(match kind {
        "age" => Arc::new(AgePlacer),
        "chronological" => Arc::new(ChronologicalPlacer),
        "u-shaped" | "u_shaped" => Arc::new(UShapedPlacer),
        other => return Err(format!("unknown placer {other:?}")),
    })
}

fn needed<'v, 'd>(config: Option<&'v View<'d>>) -> Result<&'v View<'d>, String> {
    config.ok_or_else(|| "config is missing".to_owned())
}

fn inner(config: &View<'_>) -> Result<Arc<dyn Slicer>, Failure> {
    match config.string("inner_slicer")?.unwrap_or("greedy") {
        kind @ ("greedy" | "knapsack") => slicer(kind, Some(config)),
        // There is one key for an inner slicer: that of a quota inside is always greedy.
        "quota" => Ok(Arc::new(QuotaSlice::new(quotas(config)?, GreedySlice))),
        other => Err(format!("unknown inner slicer {other:?}").into()),
    }
}

fn knapsack(config: Option<&View<'_>>) -> Result<KnapsackSlice, Failure> {
    let bucket_size = config.map(|config| config.integer("bucket_size")).transpose()?.flatten();
    let widen = config.map(|config| config.boolean("widen_buckets")).transpose()?.flatten();
    let knapsack = bucket_size.map_or(Ok(KnapsackSlice::default()), KnapsackSlice::new)?;
    Ok(knapsack.widen_buckets(widen.unwrap_or(false)))
}

fn quotas(config: &View<'_>) -> Result<QuotaSet, Failure> {
    let mut set = QuotaSet::builder();
    for view in config.tables("quotas")? {
        let kind = view.required("kind", view.string("kind")?)?;
        let (require, cap) = (view.float("require")?, view.float("cap")?);
        let kind = ContextKind::new(kind)?;
        if let Some(require) = require {
            set = set.require(kind.clone(), require);
        }
        if let Some(cap) = cap {
            set = set.cap(kind, cap);
        }
    }
    Ok(set.build()?)
}

fn entries(config: &View<'_>) -> Result<Vec<CountQuotaEntry>, Failure> {
    let entries: Vec<_> = config.tables("entries")?.iter().map(entry).collect();
    entries.into_iter().collect()
}

fn entry(view: &View<'_>) -> Result<CountQuotaEntry, Failure> {
    let kind = view.required("kind", view.string("kind")?)?;
    let require = view.required("require_count", view.integer("require_count")?)?;
    let cap = view.required("cap_count", view.integer("cap_count")?)?;
    // A negative count is a value the library's types refuse.
    let count = |count: i64| {
        usize::try_from(count).map_err(|error| Failure::RefusedItem(error.to_string()))
    };
    Ok(CountQuotaEntry::new(ContextKind::new(kind)?, count(require)?, count(cap)?)?)
}

fn within_budget(config: &View<'_>) -> Result<bool, String> {
    Ok(config.boolean("within_budget")?.unwrap_or(false))
}

fn scarcity(config: &View<'_>) -> Result<ScarcityBehavior, String> {
    let behavior = config.string("scarcity_behavior")?.unwrap_or("degrade");
    match behavior.to_ascii_lowercase().as_str() {
        "degrade" => Ok(ScarcityBehavior::Degrade),
        "throw" => Ok(ScarcityBehavior::Throw),
        other => Err(format!("unknown scarcity behavior {other:?}")),
    }
}
