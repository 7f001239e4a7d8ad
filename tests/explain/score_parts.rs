//! Parts of scores: a tree for each item, on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::diagnostics::{DiagnosticTraceCollector, TraceDetailLevel};
use cupel::explain::Explanation;
use cupel::placer::UShapedPlacer;
use cupel::scorer::ScoreParts;
use cupel::scorer::{DecayCurve, DecayScorer, ScaledScorer, SystemTimeProvider};
use cupel::{
    ContextBudget, ContextItem, GreedySlice, Pipeline, PriorityScorer, ReflexiveScorer, Scorer,
};

use crate::common::{budget, items, pipeline};

/// The score that a tree adds up to.
fn sum(parts: &ScoreParts) -> f64 {
    parts.parts.iter().map(|part| part.score * part.share.unwrap_or(1.0)).sum()
}

#[test]
fn the_parts_add_up_to_the_score_of_the_report() {
    let explanation = Explanation::dry_run(&pipeline(), &items(), &budget()).unwrap();
    let report = &explanation.report;
    let included = report.included.iter().map(|entry| (&entry.item, entry.score, &entry.details));
    let excluded = report.excluded.iter().map(|entry| (&entry.item, entry.score, &entry.details));
    let mut explained = 0;
    for (item, score, details) in included.chain(excluded) {
        let Some(parts) = details.as_ref().and_then(|details| details.score.as_ref()) else {
            assert!(item.pinned() || item.tokens() < 0, "{item:?} was scored");
            continue;
        };
        explained += 1;
        assert_eq!(parts.score, score);
        assert!((sum(parts) - score).abs() < 1e-12, "{parts}");
        let names: Vec<_> = parts.parts.iter().map(|part| part.scorer.as_str()).collect();
        assert_eq!(names, ["ReflexiveScorer", "TagScorer", "KindScorer"]);
    }
    assert_eq!(explained, 7);
}

#[test]
fn asking_changes_nothing_but_the_details() {
    let plain = pipeline().dry_run(&items(), &budget()).unwrap();
    assert!(plain.included.iter().all(|entry| entry.details.is_none()));
    let mut explained = Explanation::dry_run(&pipeline(), &items(), &budget()).unwrap().report;
    explained.included.iter_mut().for_each(|entry| entry.details = None);
    explained.excluded.iter_mut().for_each(|entry| entry.details = None);
    assert_eq!((plain.included, plain.excluded), (explained.included, explained.excluded));
}

/// Counts how often it is asked to explain.
#[derive(Clone, Default)]
struct Asked(Arc<AtomicUsize>);

impl Scorer for Asked {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        item.tokens() as f64 / 1_000.0
    }

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        self.0.fetch_add(1, Ordering::Relaxed);
        items.iter().map(|_| ScoreParts::new("another number", 7.0)).collect()
    }
}

fn with(scorer: impl Scorer + 'static) -> Pipeline {
    let pipeline = Pipeline::builder().scorer(scorer).slicer(GreedySlice).placer(UShapedPlacer);
    pipeline.build().unwrap()
}

#[test]
fn nobody_explains_who_is_not_asked() {
    let scorer = Asked::default();
    let pipeline = with(scorer.clone());
    pipeline.dry_run(&items(), &budget()).unwrap();
    pipeline.run(&items(), &budget()).unwrap();
    let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Item);
    pipeline.run_traced(&items(), &budget(), &mut collector).unwrap();
    assert_eq!(scorer.0.load(Ordering::Relaxed), 0);
    // One that explains itself wrongly changes no score, not even the one above its parts.
    let explanation = Explanation::dry_run(&pipeline, &items(), &budget()).unwrap();
    assert_eq!(scorer.0.load(Ordering::Relaxed), 1);
    let scored = explanation.report.included.iter().find(|entry| entry.details.is_some()).unwrap();
    let parts = scored.details.as_ref().unwrap().score.as_ref().unwrap();
    assert_eq!((parts.score, &*parts.scorer), (scored.score, "another number"));
}

#[test]
fn a_running_clock_gives_scores_and_parts_of_one_moment() {
    let curve = DecayCurve::exponential(std::time::Duration::from_millis(1)).unwrap();
    let scorer = DecayScorer::new(SystemTimeProvider, curve);
    let items = [ContextItem::builder("now", 3).timestamp(chrono::Utc::now()).build().unwrap()];
    let explanation = Explanation::dry_run(&with(scorer), &items, &budget()).unwrap();
    let entry = &explanation.report.included[0];
    let parts = entry.details.as_ref().unwrap().score.as_ref().unwrap();
    assert_eq!(parts.score, entry.score);
    assert_eq!(parts.note.as_deref(), Some("0 min old"));
}

#[test]
fn scorers_that_wrap_others_show_what_they_wrap() {
    let items: Vec<_> = [1, 5, 9]
        .map(|priority| ContextItem::builder("x", 1).priority(priority).build().unwrap())
        .into();
    let parts = ScaledScorer::new(PriorityScorer).unwrap().explain_all(&items);
    assert_eq!(
        parts[1].to_string(),
        "ScaledScorer 0.500 (0.000 to 1.000, stretched)\n└ PriorityScorer 0.500 (priority 5)\n"
    );
    // Through a handle as well.
    let handle: Arc<dyn Scorer> = Arc::new(ScaledScorer::new(ReflexiveScorer).unwrap());
    assert_eq!(handle.explain_all(&items)[0].parts.len(), 1);
}

#[test]
fn an_item_that_is_twice_among_the_candidates_is_explained_twice() {
    let item = ContextItem::builder("twice", 4).future_relevance_hint(0.5).build().unwrap();
    let budget = ContextBudget::builder(10).build().unwrap();
    let twice = [item.clone(), item];
    let report = Explanation::dry_run(&with(ReflexiveScorer), &twice, &budget).unwrap().report;
    assert!(report.included[0].details.is_some() && report.excluded[0].details.is_some());
}
