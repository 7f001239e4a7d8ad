//! Slicers and placers as data: a new one is declared, built and described here, and nowhere else in the
//! spec.

use std::sync::Arc;

use super::conversion::Conversion;
use super::nested::{NestedPart, NestedSpec};
use super::parts::{lower_case, parts, setting, table};
use crate::config::{FromTree, Path};
use crate::model::ContextKind;
use crate::placer::{AgePlacer, ChronologicalPlacer, Placer, UShapedPlacer};
use crate::slicer::{
    BestFirstSlice, CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, FillSlice,
    GreedySlice, KnapsackSlice, QuotaSet, QuotaSlice, ScarcityBehavior, Slicer,
};

parts! {
    /// A slicer as data.
    ///
    /// | slicer | keys; those in parentheses may be left out |
    /// | --- | --- |
    /// | `greedy`, `best_first` | |
    /// | `knapsack` | (`bucket_size`), (`widen_buckets`) |
    /// | `quota` | `quotas`: a list of `kind`, (`require`), (`cap`); `inner`: a slicer |
    /// | `fill` | `inner`: a slicer |
    /// | `count_quota` | `entries`: a list of `kind`, (`require_count`), (`cap_count`); `inner`: a slicer; (`scarcity`: `degrade` or `throw`), (`within_budget`) |
    /// | `count_constrained_knapsack` | `entries`, (`bucket_size`), (`widen_buckets`), (`scarcity`), (`within_budget`) |
    ///
    /// ```
    /// use cupel::policy::spec::{CountQuotaSpec, SlicerSpec};
    ///
    /// let spec: SlicerSpec = serde_json::from_str(
    ///     r#"{ "type": "count_quota", "entries": [{ "kind": "ToolOutput", "require_count": 2 }], "inner": "greedy" }"#,
    /// )?;
    /// let SlicerSpec::CountQuota { entries, .. } = spec else { panic!("not a count quota") };
    /// assert_eq!((entries[0].require_count, entries[0].cap_count), (2, CountQuotaSpec::NO_CAP));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub enum SlicerSpec: "a slicer" else Self::Greedy => {
        /// [`GreedySlice`](crate::GreedySlice).
        "greedy" Greedy,
        /// [`BestFirstSlice`](crate::slicer::BestFirstSlice).
        "best_first" BestFirst,
        /// [`KnapsackSlice`](crate::slicer::KnapsackSlice).
        "knapsack" Knapsack {
            /// Tokens in a bucket; 100 where the key is left out.
            bucket_size: i64 = KnapsackSlice::default().bucket_size(),
            /// `true` to widen buckets if the table would be too large; false where the key is left
            /// out.
            widen_buckets: bool = false,
        },
        /// [`FillSlice`](crate::slicer::FillSlice).
        "fill" Fill {
            /// The slicer that chooses first.
            inner: NestedSpec<SlicerSpec>,
        },
        /// [`QuotaSlice`](crate::slicer::QuotaSlice).
        "quota" Quota {
            /// The shares of the kinds.
            quotas: Vec<KindQuotaSpec>,
            /// The slicer that fills each kind's part.
            inner: NestedSpec<SlicerSpec>,
        },
        /// [`CountQuotaSlice`](crate::slicer::CountQuotaSlice).
        "count_quota" CountQuota {
            /// The counts of the kinds.
            entries: Vec<CountQuotaSpec>,
            /// Reaction when a kind is short of candidates; `degrade` where the key is left out.
            #[serde(serialize_with = "lower_case")]
            scarcity: ScarcityBehavior = ScarcityBehavior::default(),
            /// `true` to take required items only as far as they fit; false where the key is left
            /// out.
            within_budget: bool = false,
            /// The slicer that fills the rest of the budget: any but a knapsack.
            inner: NestedSpec<SlicerSpec>,
        },
        /// [`CountConstrainedKnapsackSlice`](crate::slicer::CountConstrainedKnapsackSlice).
        "count_constrained_knapsack" CountConstrainedKnapsack {
            /// The counts of the kinds.
            entries: Vec<CountQuotaSpec>,
            /// Reaction when a kind is short of candidates; `degrade` where the key is left out.
            #[serde(serialize_with = "lower_case")]
            scarcity: ScarcityBehavior = ScarcityBehavior::default(),
            /// `true` to take required items only as far as they fit; false where the key is left
            /// out.
            within_budget: bool = false,
            /// Tokens in a bucket of the knapsack; 100 where the key is left out.
            bucket_size: i64 = KnapsackSlice::default().bucket_size(),
            /// `true` to widen buckets if the table would be too large; false where the key is left
            /// out.
            widen_buckets: bool = false,
        },
    }
}

table! {
    /// A kind's share of the budget, in percent.
    pub struct KindQuotaSpec: "a table with kind, require and cap" {
        /// The kind.
        pub kind: ContextKind,
        /// The share it is guaranteed; 0 where the key is left out.
        pub require: f64 = 0.0,
        /// The most it may have; 100 where the key is left out.
        pub cap: f64 = 100.0,
    }
}

table! {
    /// A kind's number of items.
    #[derive(Eq)]
    pub struct CountQuotaSpec: "a table with kind, require_count and cap_count" {
        /// The kind.
        pub kind: ContextKind,
        /// Number of items that are committed first; 0 where the key is left out.
        pub require_count: usize = 0,
        /// Largest number of items; [`NO_CAP`](Self::NO_CAP) where the key is left out.
        #[serde(skip_serializing_if = "is_no_cap")]
        pub cap_count: usize = Self::NO_CAP,
    }
}

impl CountQuotaSpec {
    /// Any number of items. It is written by leaving `cap_count` out, since TOML has no number
    /// that large.
    pub const NO_CAP: usize = usize::MAX;
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
fn is_no_cap(count: &usize) -> bool {
    *count == CountQuotaSpec::NO_CAP
}

impl NestedPart for SlicerSpec {
    fn depth(&self) -> usize {
        match self {
            Self::Fill { inner } => 1 + inner.depth(),
            // A list of quotas, or the inner slicer.
            Self::Quota { inner, .. } | Self::CountQuota { inner, .. } => 3.max(1 + inner.depth()),
            Self::CountConstrainedKnapsack { .. } => 3,
            _ => 1,
        }
    }
}

fn build_inner(
    inner: &NestedSpec<SlicerSpec>,
    path: &Path<'_>,
    convert: &mut Conversion<'_>,
) -> Arc<dyn Slicer> {
    let path = path.key("inner");
    inner.open(&path, convert).build(&path, convert)
}

impl SlicerSpec {
    /// The slicer, or a stand-in after a problem is recorded.
    pub(super) fn build(&self, path: &Path<'_>, convert: &mut Conversion<'_>) -> Arc<dyn Slicer> {
        self.checked(path, convert).unwrap_or_else(|| Arc::new(GreedySlice))
    }

    fn checked(&self, path: &Path<'_>, convert: &mut Conversion<'_>) -> Option<Arc<dyn Slicer>> {
        Some(match self {
            Self::Greedy => Arc::new(GreedySlice),
            Self::BestFirst => Arc::new(BestFirstSlice),
            Self::Knapsack { bucket_size, widen_buckets } => {
                let knapsack = convert.check(path, KnapsackSlice::new(*bucket_size))?;
                Arc::new(knapsack.widen_buckets(*widen_buckets))
            }
            Self::Fill { inner } => Arc::new(FillSlice::new(build_inner(inner, path, convert))),
            Self::Quota { quotas, inner } => {
                let quotas = quotas.iter().map(|it| (it.kind.clone(), it.require, it.cap));
                let quotas = convert.check(path, QuotaSet::new(quotas));
                let inner = build_inner(inner, path, convert);
                Arc::new(QuotaSlice::new(quotas?, inner))
            }
            Self::CountQuota { entries, scarcity, within_budget, inner } => {
                let entries = counts(entries, &path.key("entries"), convert);
                let inner = build_inner(inner, path, convert);
                let slicer = CountQuotaSlice::new(entries, inner, *scarcity);
                Arc::new(convert.check(path, slicer)?.within_budget(*within_budget))
            }
            Self::CountConstrainedKnapsack {
                entries,
                scarcity,
                within_budget,
                bucket_size,
                widen_buckets,
            } => {
                let entries = counts(entries, &path.key("entries"), convert);
                let knapsack = convert.check(path, KnapsackSlice::new(*bucket_size));
                let knapsack = knapsack.unwrap_or_default().widen_buckets(*widen_buckets);
                let slicer = CountConstrainedKnapsackSlice::new(entries, knapsack, *scarcity);
                Arc::new(convert.check(path, slicer)?.within_budget(*within_budget))
            }
        })
    }

    /// The spec of a slicer, or a stand-in after recording that it has none.
    pub(super) fn describe(
        slicer: &dyn Slicer,
        path: &Path<'_>,
        convert: &mut Conversion<'_>,
    ) -> Self {
        let any = slicer.as_any();
        let mut inner = |inner: &Arc<dyn Slicer>| {
            let at = path.key("inner");
            NestedSpec::noted(Self::describe(&**inner, &at, convert), &at, convert)
        };
        if is::<GreedySlice>(any).is_some() {
            Self::Greedy
        } else if is::<BestFirstSlice>(any).is_some() {
            Self::BestFirst
        } else if let Some(knapsack) = is::<KnapsackSlice>(any) {
            let widen_buckets = knapsack.widen_buckets;
            Self::Knapsack { bucket_size: knapsack.bucket_size(), widen_buckets }
        } else if let Some(fill) = is::<FillSlice>(any) {
            Self::Fill { inner: inner(fill.inner()) }
        } else if let Some(quota) = is::<QuotaSlice>(any) {
            let quotas = quota.quotas.iter().map(|(kind, require, cap)| KindQuotaSpec {
                kind: kind.clone(),
                require,
                cap,
            });
            Self::Quota { quotas: quotas.collect(), inner: inner(&quota.inner) }
        } else if let Some(count) = is::<CountQuotaSlice>(any) {
            Self::CountQuota {
                entries: describe_counts(&count.entries),
                scarcity: count.scarcity,
                within_budget: count.within_budget,
                inner: inner(&count.inner),
            }
        } else if let Some(count) = is::<CountConstrainedKnapsackSlice>(any) {
            Self::CountConstrainedKnapsack {
                entries: describe_counts(&count.entries),
                scarcity: count.scarcity,
                within_budget: count.within_budget,
                bucket_size: count.knapsack.bucket_size(),
                widen_buckets: count.knapsack.widen_buckets,
            }
        } else {
            convert.not_built_in(path, slicer.name(), "slicers");
            Self::stand_in(path)
        }
    }
}

fn is<T: 'static>(any: Option<&dyn std::any::Any>) -> Option<&T> {
    any?.downcast_ref()
}

/// The entries; one that is not valid keeps its place and its kind.
fn counts(
    entries: &[CountQuotaSpec],
    path: &Path<'_>,
    convert: &mut Conversion<'_>,
) -> Vec<CountQuotaEntry> {
    let entry = |(index, spec): (usize, &CountQuotaSpec)| {
        let new = |require, cap| CountQuotaEntry::new(spec.kind.clone(), require, cap);
        let entry = new(spec.require_count, spec.cap_count);
        convert.check(&path.index(index), entry).or_else(|| new(0, 0).ok())
    };
    entries.iter().enumerate().filter_map(entry).collect()
}

fn describe_counts(entries: &[CountQuotaEntry]) -> Vec<CountQuotaSpec> {
    let entry = |entry: &CountQuotaEntry| CountQuotaSpec {
        kind: entry.kind().clone(),
        require_count: entry.require_count(),
        cap_count: entry.cap_count(),
    };
    entries.iter().map(entry).collect()
}

parts! {
    /// A placer as data: `age`, `chronological` or `u_shaped`.
    #[derive(Copy, Eq)]
    pub enum PlacerSpec: "a placer" else Self::Chronological => {
        /// [`AgePlacer`](crate::placer::AgePlacer).
        "age" Age,
        /// [`ChronologicalPlacer`](crate::ChronologicalPlacer).
        "chronological" Chronological,
        /// [`UShapedPlacer`](crate::placer::UShapedPlacer).
        "u_shaped" UShaped,
    }
}

impl PlacerSpec {
    pub(super) fn build(self, _: &Path<'_>, _: &mut Conversion<'_>) -> Arc<dyn Placer> {
        match self {
            Self::Age => Arc::new(AgePlacer),
            Self::Chronological => Arc::new(ChronologicalPlacer),
            Self::UShaped => Arc::new(UShapedPlacer),
        }
    }

    /// The spec of a placer, or a stand-in after recording that it has none.
    pub(super) fn describe(
        placer: &dyn Placer,
        path: &Path<'_>,
        convert: &mut Conversion<'_>,
    ) -> Self {
        match placer.as_any() {
            Some(any) if any.is::<AgePlacer>() => Self::Age,
            Some(any) if any.is::<ChronologicalPlacer>() => Self::Chronological,
            Some(any) if any.is::<UShapedPlacer>() => Self::UShaped,
            _ => {
                convert.not_built_in(path, placer.name(), "placers");
                Self::stand_in(path)
            }
        }
    }
}
