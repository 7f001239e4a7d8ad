//! Every scorer, alone and nested: both ways to ask ours against the one way to ask theirs.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::items::{self, Blueprint, KINDS, TAGS, at};
use crate::runner::{self, Case, Rng};

pub(crate) const CASES: usize = 12 * CASES_EACH;
const CASES_EACH: usize = 500;

/// A scorer that exists in both implementations.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Recency,
    Priority,
    DefaultKind,
    Kind(Vec<(&'static str, f64)>),
    Tag(Vec<(&'static str, f64)>),
    Frequency,
    Reflexive,
    Trust(f64),
    Key(&'static str, f64),
    Decay(Curve, f64),
    Composite(Vec<(Plan, f64)>),
    Scaled(Box<Plan>),
}

/// A decay curve, in seconds.
#[derive(Debug, Clone)]
pub(crate) enum Curve {
    Exponential(u64),
    Step(Vec<(u64, f64)>),
    Window(u64),
}

/// Some timestamps are later than this, so that there are items from the future.
const NOW: i64 = 5_400;

struct Clock;

impl published::TimeProvider for Clock {
    fn now(&self) -> DateTime<Utc> {
        at(NOW)
    }
}

/// Weights whose sums are exact, so that no tie depends on the order of an addition.
const WEIGHTS: [f64; 5] = [0.0, 0.25, 0.5, 1.0, 2.5];

impl Plan {
    /// One scorer of each sort, so that none is left to chance.
    fn nth(rng: &mut Rng, number: usize) -> Self {
        match number {
            0 => Self::Recency,
            1 => Self::Priority,
            2 => Self::DefaultKind,
            3 => {
                let kinds = [KINDS[0], KINDS[3], KINDS[4], "unheard-of"];
                Self::Kind(kinds.map(|kind| (kind, rng.pick(&WEIGHTS))).into())
            }
            4 => {
                let tags = [TAGS[0], TAGS[1], TAGS[4]];
                Self::Tag(tags.map(|tag| (tag, rng.pick(&WEIGHTS))).into())
            }
            5 => Self::Frequency,
            6 => Self::Reflexive,
            7 => Self::Trust(rng.pick(&[0.0, 0.5, 1.0])),
            8 => Self::Key(rng.pick(&["high", "low"]), rng.pick(&[0.5, 1.0, 1.5])),
            9 => Self::Decay(Curve::random(rng), rng.pick(&[0.0, 0.5, 1.0])),
            10 => {
                let children = 1 + rng.below(3);
                let child = |_| (Self::random(rng, 1), rng.pick(&WEIGHTS[1..]));
                Self::Composite((0..children).map(child).collect())
            }
            _ => Self::Scaled(Box::new(Self::random(rng, 1))),
        }
    }

    /// Any scorer, nested at most `depth` times.
    pub(crate) fn random(rng: &mut Rng, depth: usize) -> Self {
        let number = rng.below(if depth > 0 { 12 } else { 10 });
        match number {
            10 => {
                let children = 1 + rng.below(3);
                let child = |_| (Self::random(rng, depth - 1), rng.pick(&WEIGHTS[1..]));
                Self::Composite((0..children).map(child).collect())
            }
            11 => Self::Scaled(Box::new(Self::random(rng, depth - 1))),
            number => Self::nth(rng, number),
        }
    }

    pub(crate) fn ours(&self) -> Arc<dyn cupel::Scorer> {
        match self {
            Self::Recency => Arc::new(cupel::scorer::RecencyScorer),
            Self::Priority => Arc::new(cupel::PriorityScorer),
            Self::DefaultKind => Arc::new(cupel::scorer::KindScorer::default()),
            Self::Kind(weights) => {
                let kind = |kind: &str| cupel::ContextKind::new(kind).unwrap();
                let weights = weights.iter().map(|(name, weight)| (kind(name), *weight));
                Arc::new(cupel::scorer::KindScorer::new(weights).unwrap())
            }
            Self::Tag(weights) => Arc::new(cupel::scorer::TagScorer::new(weights.clone()).unwrap()),
            Self::Frequency => Arc::new(cupel::scorer::FrequencyScorer),
            Self::Reflexive => Arc::new(cupel::ReflexiveScorer),
            Self::Trust(default) => {
                Arc::new(cupel::scorer::MetadataTrustScorer::new(*default).unwrap())
            }
            Self::Key(value, boost) => Arc::new(
                cupel::scorer::MetadataKeyScorer::new("cupel:priority", *value, *boost).unwrap(),
            ),
            Self::Decay(curve, null) => {
                let scorer = cupel::scorer::DecayScorer::new(
                    cupel::scorer::FixedTimeProvider::new(at(NOW)),
                    curve.ours(),
                );
                Arc::new(scorer.null_timestamp_score(*null).unwrap())
            }
            Self::Composite(children) => {
                let children = children.iter().map(|(plan, weight)| (plan.ours(), *weight));
                Arc::new(cupel::scorer::CompositeScorer::new(children.collect()).unwrap())
            }
            Self::Scaled(inner) => {
                Arc::new(cupel::scorer::ScaledScorer::new(inner.ours()).unwrap())
            }
        }
    }

    pub(crate) fn theirs(&self) -> Box<dyn published::Scorer> {
        match self {
            Self::Recency => Box::new(published::RecencyScorer),
            Self::Priority => Box::new(published::PriorityScorer),
            Self::DefaultKind => Box::new(published::KindScorer::with_default_weights()),
            Self::Kind(weights) => {
                let kind = |kind: &str| published::ContextKind::new(kind).unwrap();
                let weights = weights.iter().map(|(name, weight)| (kind(name), *weight));
                Box::new(published::KindScorer::new(weights.collect()).unwrap())
            }
            Self::Tag(weights) => {
                let weights = weights.iter().map(|(tag, weight)| ((*tag).to_owned(), *weight));
                Box::new(published::TagScorer::new(weights.collect()).unwrap())
            }
            Self::Frequency => Box::new(published::FrequencyScorer),
            Self::Reflexive => Box::new(published::ReflexiveScorer),
            Self::Trust(default) => {
                Box::new(published::MetadataTrustScorer::new(*default).unwrap())
            }
            Self::Key(value, boost) => Box::new(
                published::MetadataKeyScorer::new("cupel:priority", *value, *boost).unwrap(),
            ),
            Self::Decay(curve, null) => Box::new(
                published::DecayScorer::new(Box::new(Clock), curve.theirs(), *null).unwrap(),
            ),
            Self::Composite(children) => {
                let children = children.iter().map(|(plan, weight)| (plan.theirs(), *weight));
                Box::new(published::CompositeScorer::new(children.collect()).unwrap())
            }
            Self::Scaled(inner) => Box::new(published::ScaledScorer::new(inner.theirs())),
        }
    }
}

impl Curve {
    fn random(rng: &mut Rng) -> Self {
        match rng.below(3) {
            // Ages are multiples of 1800 s, so powers of two stay exact in both.
            0 => Self::Exponential(rng.pick(&[600, 900, 1_800])),
            1 => Self::Step(vec![(1_800, 0.75), (3_600, 0.5), (5_400, 0.25)]),
            _ => Self::Window(rng.pick(&[1_800, 3_600])),
        }
    }

    fn ours(&self) -> cupel::scorer::DecayCurve {
        let secs = Duration::from_secs;
        match self {
            Self::Exponential(half_life) => {
                cupel::scorer::DecayCurve::exponential(secs(*half_life))
            }
            Self::Step(windows) => {
                let windows = windows.iter().map(|(age, score)| (secs(*age), *score));
                cupel::scorer::DecayCurve::step(windows.collect())
            }
            Self::Window(max_age) => cupel::scorer::DecayCurve::window(secs(*max_age)),
        }
        .unwrap()
    }

    fn theirs(&self) -> published::DecayCurve {
        let secs = |secs: u64| TimeDelta::seconds(secs as i64);
        match self {
            Self::Exponential(half_life) => published::DecayCurve::exponential(secs(*half_life)),
            Self::Step(windows) => {
                let windows = windows.iter().map(|(age, score)| (secs(*age), *score));
                published::DecayCurve::step(windows.collect())
            }
            Self::Window(max_age) => published::DecayCurve::window(secs(*max_age)),
        }
        .unwrap()
    }
}

#[derive(Debug, Clone)]
struct ScorerCase {
    plan: Plan,
    items: Vec<Blueprint>,
}

impl Case for ScorerCase {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn without(&self, index: usize) -> Self {
        Self { items: items::without(&self.items, index), ..self.clone() }
    }
}

fn check(case: &ScorerCase) -> Result<(), String> {
    let (items, theirs) = (items::ours(&case.items), items::theirs(&case.items));
    let (our_scorer, their_scorer) = (case.plan.ours(), case.plan.theirs());
    let mut batch = vec![f64::NAN; items.len()];
    our_scorer.score_all(&items, &mut batch);
    for (index, item) in items.iter().enumerate() {
        let single = our_scorer.score(item, &items);
        let published = their_scorer.score(&theirs[index], &theirs);
        for (what, ours) in [("score", single), ("score_all", batch[index])] {
            if (ours - published).abs() > 1e-9 || ours.is_nan() != published.is_nan() {
                return Err(format!("item {index}: {what} {ours}, published {published}"));
            }
        }
    }
    Ok(())
}

#[test]
fn scorers_agree() {
    let names = [
        "recency",
        "priority",
        "default kind",
        "kind",
        "tag",
        "frequency",
        "reflexive",
        "trust",
        "key",
        "decay",
        "composite",
        "scaled",
    ];
    for (number, name) in names.into_iter().enumerate() {
        let generate = |rng: &mut Rng| {
            let count = if rng.chance(5) { rng.between(20, 60) } else { rng.between(0, 12) };
            ScorerCase {
                plan: Plan::nth(rng, number),
                items: (0..count).map(|id| Blueprint::random(rng, id, &[0, 1, 10])).collect(),
            }
        };
        runner::run(name, CASES_EACH, generate, check);
    }
}
