//! Identity, cycles, preconditions and purity of the scorers.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cupel::scorer::{
    CompositeScorer, DecayCurve, DecayScorer, FixedTimeProvider, FrequencyScorer, KindScorer,
    MetadataKeyScorer, MetadataTrustScorer, RecencyScorer, ScaledScorer, SystemTimeProvider,
    TagScorer, TimeProvider,
};
use cupel::{ContextItem, CupelError, PriorityScorer, ReflexiveScorer, Scorer};

use super::common::{hinted, pipeline};

fn tagged(content: &str, tags: &[&str]) -> ContextItem {
    ContextItem::builder(content, 1).tags(tags.iter().copied()).build().unwrap()
}

fn noon() -> DateTime<Utc> {
    DateTime::from_timestamp(1_720_000_000, 0).unwrap()
}

fn all_scores(scorer: &dyn Scorer, items: &[ContextItem]) -> Vec<f64> {
    let mut scores = vec![f64::NAN; items.len()];
    scorer.score_all(items, &mut scores);
    let single: Vec<f64> = items.iter().map(|item| scorer.score(item, items)).collect();
    assert_eq!(single, scores, "one by one and in a batch");
    scores
}

#[test]
fn frequency_skips_an_item_under_each_of_its_handles() {
    let (a, b) = (tagged("a", &["t"]), tagged("b", &["T"]));
    // a is there twice and is no peer of itself; the denominator stays 3 - 1.
    assert_eq!(all_scores(&FrequencyScorer, &[a.clone(), a.clone(), b]), [0.5, 0.5, 1.0]);
    // A structurally equal copy is a peer.
    let copy = tagged("a", &["t"]);
    assert_eq!(a, copy);
    assert_eq!(all_scores(&FrequencyScorer, &[a, copy]), [1.0, 1.0]);
}

#[test]
fn scaled_without_items_is_exactly_one_half() {
    let scorer = ScaledScorer::new(ReflexiveScorer).unwrap();
    assert_eq!(scorer.score(&hinted("x", 1, 0.9), &[]), 0.5);
}

#[test]
fn scaled_finds_the_item_by_identity() {
    struct ByPosition;
    impl Scorer for ByPosition {
        fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
            let position = all.iter().position(|other| ContextItem::same(other, item)).unwrap();
            [0.0, 1.0, 4.0][position]
        }
    }
    let (copy, twin) = (hinted("copy", 1, 0.5), hinted("copy", 1, 0.5));
    assert_eq!(copy, twin);
    let items = [copy, twin, hinted("other", 1, 0.5)];
    assert_eq!(all_scores(&ScaledScorer::new(ByPosition).unwrap(), &items), [0.0, 0.25, 1.0]);
}

/// A scorer whose child comes later: the only way to tie a knot.
#[derive(Default)]
struct Late(OnceLock<Arc<dyn Scorer>>);

impl Scorer for Late {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        self.0.get().map_or(0.0, |child| child.score(item, all))
    }

    fn visit_children(&self, visit: &mut dyn FnMut(&dyn Scorer)) {
        if let Some(child) = self.0.get() {
            visit(&**child);
        }
    }
}

#[test]
fn cycles_are_found_at_construction() {
    let late = Arc::new(Late::default());
    let loops = Arc::new(CompositeScorer::builder().add(Arc::clone(&late), 1.0).build().unwrap());
    late.0.set(loops.clone()).unwrap();

    let composite = CompositeScorer::new(vec![(loops.clone() as Arc<dyn Scorer>, 1.0)]);
    assert!(matches!(composite, Err(CupelError::ScorerCycle { .. })));
    assert!(matches!(ScaledScorer::new(loops.clone()), Err(CupelError::ScorerCycle { .. })));
    let pipeline = pipeline().scorer(loops).build();
    assert!(matches!(pipeline, Err(CupelError::ScorerCycle { .. })));
}

#[test]
fn cycles_are_found_through_scaled_scorers() {
    let late = Arc::new(Late::default());
    let scaled = Arc::new(ScaledScorer::new(Arc::clone(&late)).unwrap());
    late.0.set(scaled.clone()).unwrap();
    let composite = CompositeScorer::builder().add(ReflexiveScorer, 1.0).add(scaled, 1.0).build();
    assert!(matches!(composite, Err(CupelError::ScorerCycle { .. })));
}

#[test]
fn shared_and_equal_children_are_no_cycles() {
    let shared: Arc<dyn Scorer> = Arc::new(ReflexiveScorer);
    let pair = || CompositeScorer::new(vec![(shared.clone(), 1.0), (shared.clone(), 2.0)]).unwrap();
    let outer =
        CompositeScorer::builder().add(pair(), 1.0).add(pair(), 1.0).add(shared.clone(), 1.0);
    let score = outer.build().unwrap().score(&hinted("x", 1, 0.6), &[]);
    assert!((score - 0.6).abs() < 1e-12);
}

#[test]
fn composite_asks_its_children_in_order() {
    struct Named(&'static str, Arc<Mutex<Vec<&'static str>>>);
    impl Scorer for Named {
        fn score(&self, _item: &ContextItem, _all: &[ContextItem]) -> f64 {
            self.1.lock().unwrap().push(self.0);
            0.5
        }
    }
    let log = Arc::default();
    let child = |name| Named(name, Arc::clone(&log));
    let composite = CompositeScorer::builder()
        .add(child("first"), 0.1)
        .add(child("second"), 9.0)
        .add(child("third"), 0.1)
        .build()
        .unwrap();
    let item = hinted("x", 1, 0.0);
    composite.score(&item, std::slice::from_ref(&item));
    assert_eq!(*log.lock().unwrap(), ["first", "second", "third"]);
}

#[test]
fn the_default_kind_weights_are_exactly_five() {
    let scorer = KindScorer::default();
    let weights: Vec<_> = scorer.weights().iter().map(|(kind, w)| (kind.as_str(), *w)).collect();
    let expected = [
        ("SystemPrompt", 1.0),
        ("Memory", 0.8),
        ("ToolOutput", 0.6),
        ("Document", 0.4),
        ("Message", 0.2),
    ];
    assert_eq!(weights, expected);
}

#[test]
fn decay_errors_name_the_parameter() {
    let message = |curve: Result<DecayCurve, CupelError>| match curve {
        Err(CupelError::ScorerConfig(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let hour = Duration::from_secs(3_600);
    assert!(message(DecayCurve::exponential(Duration::ZERO)).contains("halfLife"));
    assert!(message(DecayCurve::window(Duration::ZERO)).contains("max_age"));
    assert!(message(DecayCurve::step(vec![])).contains("windows"));
    assert!(
        message(DecayCurve::step(vec![(hour, 0.5), (Duration::ZERO, 0.1)])).contains("max_age")
    );
    let scorer = || DecayScorer::new(SystemTimeProvider, DecayCurve::window(hour).unwrap());
    for outside in [-0.1, 1.1, f64::NAN] {
        let error = scorer().null_timestamp_score(outside).unwrap_err().to_string();
        assert!(error.contains("null_timestamp_score"), "{error}");
    }
}

#[test]
fn decay_reads_the_clock_at_scoring_time() {
    #[derive(Clone)]
    struct Clock(Arc<Mutex<DateTime<Utc>>>);
    impl TimeProvider for Clock {
        fn now(&self) -> DateTime<Utc> {
            *self.0.lock().unwrap()
        }
    }
    let clock = Clock(Arc::new(Mutex::new(noon())));
    let curve = DecayCurve::exponential(Duration::from_secs(60)).unwrap();
    let scorer = DecayScorer::new(clock.clone(), curve);
    let item = ContextItem::builder("x", 1).timestamp(noon()).build().unwrap();
    assert_eq!(scorer.score(&item, &[]), 1.0);
    *clock.0.lock().unwrap() += TimeDelta::seconds(120);
    assert_eq!(scorer.score(&item, &[]), 0.25);
}

#[test]
fn decay_and_its_clock_cross_threads() {
    fn crosses<T: Send + Sync + ?Sized>() {}
    crosses::<dyn TimeProvider>();
    crosses::<DecayScorer>();
    crosses::<dyn Scorer>();
    let before = Utc::now();
    assert!(SystemTimeProvider.now() >= before);
}

#[test]
fn a_refused_boost_is_a_scorer_configuration_error() {
    for boost in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = MetadataKeyScorer::new("cupel:priority", "high", boost).unwrap_err();
        assert!(matches!(error, CupelError::ScorerConfig(_)), "{boost}: {error}");
    }
}

/// Every built-in scorer, with whether it looks at the item alone.
fn built_in() -> Vec<(Box<dyn Scorer>, bool)> {
    let curve = DecayCurve::exponential(Duration::from_secs(600)).unwrap();
    vec![
        (Box::new(KindScorer::default()), true),
        (Box::new(TagScorer::new([("a", 1.0), ("b", 2.0)]).unwrap()), true),
        (Box::new(ReflexiveScorer), true),
        (Box::new(MetadataTrustScorer::new(0.3).unwrap()), true),
        (Box::new(MetadataKeyScorer::new("k", "v", 1.5).unwrap()), true),
        (Box::new(DecayScorer::new(FixedTimeProvider::new(noon()), curve)), true),
        (Box::new(RecencyScorer), false),
        (Box::new(PriorityScorer), false),
        (Box::new(FrequencyScorer), false),
        (Box::new(ScaledScorer::new(ReflexiveScorer).unwrap()), false),
        (Box::new(CompositeScorer::builder().add(RecencyScorer, 1.0).build().unwrap()), false),
        (Box::new(CompositeScorer::builder().add(ReflexiveScorer, 1.0).build().unwrap()), true),
    ]
}

fn varied() -> Vec<ContextItem> {
    (0_i64..12)
        .map(|n| {
            let mut item = ContextItem::builder(format!("item {n}"), n)
                .tags(["a", "B", "c"].into_iter().take(n as usize % 4))
                .metadata([("k", if n % 2 == 0 { "v" } else { "w" }), ("cupel:trust", "0.9")]);
            if n % 3 != 0 {
                item = item.timestamp(noon() - TimeDelta::seconds(n * 100)).priority(n % 5);
            }
            item.future_relevance_hint(n as f64 / 12.0).build().unwrap()
        })
        .collect()
}

#[test]
fn scorers_are_pure() {
    let items = varied();
    for (scorer, _) in built_in() {
        let first = all_scores(&*scorer, &items);
        assert_eq!(first, all_scores(&*scorer, &items), "{}", scorer.name());
    }
}

#[test]
fn absolute_scorers_ignore_the_other_items() {
    let items = varied();
    for (scorer, absolute) in built_in() {
        assert_eq!(scorer.facts().absolute, absolute, "{}", scorer.name());
        if absolute {
            for item in &items {
                let among = scorer.score(item, &items);
                assert_eq!(scorer.score(item, &[]), among, "{}", scorer.name());
                assert_eq!(scorer.score(item, std::slice::from_ref(item)), among);
            }
        }
    }
}

#[test]
fn no_scorer_reads_the_source_type() {
    let items = varied();
    let labelled: Vec<ContextItem> = items
        .iter()
        .map(|item| {
            item.to_builder().metadata_entry("cupel:source-type", "external").build().unwrap()
        })
        .collect();
    for (scorer, _) in built_in() {
        assert_eq!(all_scores(&*scorer, &items), all_scores(&*scorer, &labelled));
    }
}

#[test]
fn scores_are_doubles() {
    // 1/3 differs from its single-precision value in the eighth digit.
    let items: Vec<ContextItem> = (0..4)
        .map(|p| ContextItem::builder(format!("{p}"), 1).priority(p).build().unwrap())
        .collect();
    assert_eq!(all_scores(&PriorityScorer, &items), [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]);
}
