//! Checks the values of a spec, whether it was read from a file or built in code.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use super::path::{Path, Problems};
use super::{
    CountQuotaSpec, DecayCurveSpec, KindQuotaSpec, PolicySpec, ScorerRegistry, ScorerSpec,
    SlicerSpec, WeightedScorer,
};
use crate::model::ContextKind;

impl PolicySpec {
    /// Notes everything that is wrong; with a registry, also names that it does not know.
    pub(super) fn check(&self, problems: &mut Problems, registry: Option<&ScorerRegistry>) {
        self.scorer.check(&self.scorer.top_path(), problems, registry);
        self.slicer.check(&Path::Root.key("slicer"), problems);
    }
}

impl Problems {
    fn require(&mut self, ok: bool, path: &Path<'_>, valid: &str, got: impl Display) {
        if !ok {
            self.add(path, format!("must be {valid}, got {got}"));
        }
    }

    fn positive(&mut self, path: &Path<'_>, number: f64) {
        let valid = if number.is_finite() { "positive" } else { "a finite number" };
        self.require(number.is_finite() && number > 0.0, path, valid, number);
    }

    fn not_negative(&mut self, path: &Path<'_>, number: f64) {
        self.require(number.is_finite() && number >= 0.0, path, "finite and at least 0", number);
    }

    fn score(&mut self, path: &Path<'_>, number: f64) {
        self.require((0.0..=1.0).contains(&number), path, "between 0 and 1", number);
    }

    fn age(&mut self, path: &Path<'_>, age: Duration) {
        self.require(!age.is_zero(), path, "greater than 0", age.as_secs_f64());
    }

    fn finite_sum(&mut self, path: &Path<'_>, weights: impl Iterator<Item = f64>) {
        let weights: Vec<f64> = weights.collect();
        let total: f64 = weights.iter().sum();
        if total.is_infinite() && weights.iter().all(|weight| weight.is_finite()) {
            self.add(path, format!("the weights must add up to a finite number, got {total}"));
        }
    }
}

impl ScorerSpec {
    /// Where a policy's scorer is written: a composite as the policy's own list.
    pub(super) fn top_path(&self) -> Path<'static> {
        match self {
            Self::Composite { .. } => Path::Root,
            _ => Path::Key(&Path::Root, "scorer"),
        }
    }

    fn check(&self, path: &Path<'_>, problems: &mut Problems, registry: Option<&ScorerRegistry>) {
        self.check_own(path, problems, registry);
        match self {
            Self::Scaled { scorer } => scorer.check(&path.key("scorer"), problems, registry),
            Self::Composite { scorers } => {
                let path = path.key("scorers");
                for (index, part) in scorers.iter().enumerate() {
                    part.scorer.check(&path.index(index), problems, registry);
                }
            }
            _ => {}
        }
    }

    /// Checks this scorer, but not the ones inside it.
    pub(super) fn check_own(
        &self,
        path: &Path<'_>,
        problems: &mut Problems,
        registry: Option<&ScorerRegistry>,
    ) {
        match self {
            Self::Recency | Self::Priority | Self::Frequency | Self::Reflexive => {}
            Self::Scaled { .. } => {}
            Self::Kind { weights } => {
                let path = path.key("weights");
                for (kind, weight) in weights {
                    problems.not_negative(&path.key(kind.as_str()), *weight);
                }
            }
            Self::Tag { weights, ignore_case } => {
                let path = path.key("weights");
                for (index, (tag, weight)) in weights.iter().enumerate() {
                    let path = path.key(tag);
                    problems.not_negative(&path, *weight);
                    let mut earlier = weights.keys().take(index);
                    if *ignore_case && earlier.any(|other| other.eq_ignore_ascii_case(tag)) {
                        problems.add(&path, "the tag is given twice, expected once (ignore_case)");
                    }
                }
                problems.finite_sum(&path, weights.values().copied());
            }
            Self::MetadataTrust { default_score } => {
                problems.score(&path.key("default_score"), *default_score);
            }
            Self::MetadataKey { boost, .. } => problems.positive(&path.key("boost"), *boost),
            Self::Decay { curve, null_timestamp_score } => {
                curve.check(&path.key("curve"), problems);
                problems.score(&path.key("null_timestamp_score"), *null_timestamp_score);
            }
            Self::Composite { scorers } => check_parts(scorers, &path.key("scorers"), problems),
            Self::Custom { name } => check_name(name, &path.key("name"), problems, registry),
        }
    }
}

fn check_parts(scorers: &[WeightedScorer], path: &Path<'_>, problems: &mut Problems) {
    if scorers.is_empty() {
        problems.add(path, "must have at least one scorer, got none");
    }
    for (index, part) in scorers.iter().enumerate() {
        problems.positive(&path.index(index).key("weight"), part.weight);
    }
    problems.finite_sum(path, scorers.iter().map(|part| part.weight));
}

fn check_name(
    name: &str,
    path: &Path<'_>,
    problems: &mut Problems,
    registry: Option<&ScorerRegistry>,
) {
    if name.trim().is_empty() {
        problems.add(path, format!("must not be empty or white space only, got {name:?}"));
        return;
    }
    let Some(registry) = registry.filter(|registry| registry.get(name).is_none()) else {
        return;
    };
    let known: Vec<&str> = registry.names().collect();
    let known = match known.as_slice() {
        [] => "and none is".to_owned(),
        known => format!("expected one of {}", known.join(", ")),
    };
    problems.add(path, format!("no scorer is registered as {name:?}, {known}"));
}

impl DecayCurveSpec {
    fn check(&self, path: &Path<'_>, problems: &mut Problems) {
        match self {
            Self::Exponential { half_life } => {
                problems.age(&path.key("half_life_secs"), *half_life);
            }
            Self::Window { max_age } => problems.age(&path.key("max_age_secs"), *max_age),
            Self::Step { windows } => {
                let path = path.key("windows");
                if windows.is_empty() {
                    problems.add(&path, "must have at least one window, got none");
                }
                let mut previous = Duration::ZERO;
                for (index, window) in windows.iter().enumerate() {
                    let path = path.index(index);
                    let valid = format!("greater than {}", previous.as_secs_f64());
                    let at = path.key("max_age_secs");
                    let age = window.max_age;
                    problems.require(age > previous, &at, &valid, age.as_secs_f64());
                    problems.score(&path.key("score"), window.score);
                    previous = age;
                }
            }
        }
    }
}

impl SlicerSpec {
    fn check(&self, path: &Path<'_>, problems: &mut Problems) {
        self.check_own(path, problems);
        match self {
            Self::Quota { inner, .. } | Self::CountQuota { inner, .. } => {
                inner.check(&path.key("inner"), problems);
            }
            _ => {}
        }
    }

    /// Checks this slicer, but not the one inside it.
    pub(super) fn check_own(&self, path: &Path<'_>, problems: &mut Problems) {
        match self {
            Self::Greedy => {}
            Self::Knapsack { bucket_size } => check_bucket(*bucket_size, path, problems),
            Self::Quota { quotas, .. } => check_quotas(quotas, &path.key("quotas"), problems),
            Self::CountQuota { entries, inner, .. } => {
                check_entries(entries, &path.key("entries"), problems);
                if matches!(**inner, Self::Knapsack { .. }) {
                    problems.add(
                        &path.key("inner"),
                        "must not be a knapsack; use greedy, or count_constrained_knapsack \
                         instead of count_quota",
                    );
                }
            }
            Self::CountConstrainedKnapsack { entries, bucket_size, .. } => {
                check_entries(entries, &path.key("entries"), problems);
                check_bucket(*bucket_size, path, problems);
            }
        }
    }
}

fn check_bucket(bucket_size: i64, path: &Path<'_>, problems: &mut Problems) {
    problems.require(bucket_size >= 1, &path.key("bucket_size"), "at least 1", bucket_size);
}

/// Notes kinds that were there already.
fn check_kinds<'a>(
    kinds: impl Iterator<Item = &'a ContextKind>,
    path: &Path<'_>,
    problems: &mut Problems,
) {
    let mut seen = BTreeSet::new();
    for (index, kind) in kinds.enumerate() {
        if !seen.insert(kind) {
            problems.add(
                &path.index(index).key("kind"),
                format!("{kind} has an entry already, expected one (kinds ignore case)"),
            );
        }
    }
}

fn check_quotas(quotas: &[KindQuotaSpec], path: &Path<'_>, problems: &mut Problems) {
    check_kinds(quotas.iter().map(|quota| &quota.kind), path, problems);
    for (index, KindQuotaSpec { require, cap, .. }) in quotas.iter().enumerate() {
        let path = path.index(index);
        let percent = 0.0..=100.0;
        for (key, value) in [("require", require), ("cap", cap)] {
            let ok = percent.contains(value);
            problems.require(ok, &path.key(key), "between 0 and 100 percent", value);
        }
        if percent.contains(require) && percent.contains(cap) {
            let valid = format!("at most its cap of {cap}");
            problems.require(require <= cap, &path.key("require"), &valid, require);
        }
    }
    let total: f64 = quotas.iter().map(|quota| quota.require).sum();
    // Decimal percentages such as 33.3 + 33.3 + 33.4 may add up to a hair above 100.
    if total > 100.0 + 1e-9 {
        let message = format!("the required shares must not add up to more than 100, got {total}");
        problems.add(path, message);
    }
}

fn check_entries(entries: &[CountQuotaSpec], path: &Path<'_>, problems: &mut Problems) {
    check_kinds(entries.iter().map(|entry| &entry.kind), path, problems);
    for (index, entry) in entries.iter().enumerate() {
        let CountQuotaSpec { require_count, cap_count, .. } = entry;
        let valid = format!("at most its cap_count of {cap_count}");
        let path = path.index(index);
        problems.require(
            require_count <= cap_count,
            &path.key("require_count"),
            &valid,
            require_count,
        );
    }
}
