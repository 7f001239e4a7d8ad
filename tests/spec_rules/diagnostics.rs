//! Collectors, events and the overflow observer.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cupel::diagnostics::{
    DiagnosticTraceCollector, NullTraceCollector, OverflowEvent, PipelineStage, TraceCollector,
    TraceDetailLevel, TraceEvent,
};
use cupel::slicer::{CountQuotaEntry, CountQuotaSlice, ScarcityBehavior};
use cupel::{ContextItem, CupelError, GreedySlice, OverflowStrategy, Scorer};

use super::common::{budget, contents, hinted, pinned, pipeline};

fn candidates() -> Vec<ContextItem> {
    vec![
        pinned("pin", 10),
        hinted("a", 40, 0.9),
        hinted("a", 40, 0.8),
        hinted("b", 40, 0.7),
        hinted("large", 400, 0.6),
        ContextItem::new("negative", -1).unwrap(),
    ]
}

fn events(level: TraceDetailLevel, items: &[ContextItem]) -> Vec<TraceEvent> {
    let mut collector = DiagnosticTraceCollector::new(level);
    pipeline().build().unwrap().run_traced(items, &budget(100), &mut collector).unwrap();
    collector.into_report().events
}

#[test]
fn the_null_collector_is_off_and_keeps_nothing() {
    let mut null = NullTraceCollector;
    assert!(!null.is_enabled());
    null.record_stage_event(TraceEvent::stage(PipelineStage::Score, 1.0, 1));
    null.record_item_event(TraceEvent::item(PipelineStage::Score, "x"));
    assert_eq!(size_of::<NullTraceCollector>(), 0);
    assert!(DiagnosticTraceCollector::default().is_enabled());
}

#[test]
fn a_collector_that_is_off_is_told_nothing() {
    struct Off;
    impl TraceCollector for Off {
        fn is_enabled(&self) -> bool {
            false
        }
        fn record_stage_event(&mut self, event: TraceEvent) {
            panic!("{event:?}");
        }
        fn record_item_event(&mut self, event: TraceEvent) {
            panic!("{event:?}");
        }
        fn record_included(&mut self, included: cupel::diagnostics::IncludedItem) {
            panic!("{included:?}");
        }
        fn record_excluded(
            &mut self,
            _stage: &PipelineStage,
            excluded: cupel::diagnostics::ExcludedItem,
        ) {
            panic!("{excluded:?}");
        }
    }
    let pipeline = pipeline().build().unwrap();
    let traced = pipeline.run_traced(&candidates(), &budget(100), &mut Off).unwrap();
    assert_eq!(contents(&traced), ["pin", "b", "a"]);
}

#[test]
fn watching_does_not_change_the_output() {
    let pipeline = pipeline().build().unwrap();
    let plain = pipeline.run(&candidates(), &budget(100)).unwrap();
    for level in [TraceDetailLevel::Stage, TraceDetailLevel::Item] {
        let mut collector = DiagnosticTraceCollector::new(level);
        let traced = pipeline.run_traced(&candidates(), &budget(100), &mut collector).unwrap();
        assert_eq!(contents(&traced), contents(&plain));
    }
}

#[test]
fn detail_levels_are_ordered_and_stage_is_the_default() {
    assert!(TraceDetailLevel::Stage < TraceDetailLevel::Item);
    assert_eq!(TraceDetailLevel::default(), TraceDetailLevel::Stage);
    assert_eq!(DiagnosticTraceCollector::default().detail_level(), TraceDetailLevel::Stage);
}

#[test]
fn item_events_are_discarded_at_stage_level() {
    for (level, kept) in [(TraceDetailLevel::Stage, 1), (TraceDetailLevel::Item, 2)] {
        let mut collector = DiagnosticTraceCollector::new(level);
        collector.record_item_event(TraceEvent::item(PipelineStage::Slice, "x"));
        collector.record_stage_event(TraceEvent::stage(PipelineStage::Slice, 0.5, 1));
        assert_eq!(collector.events().len(), kept, "{level:?}");
    }
    assert_eq!(events(TraceDetailLevel::Stage, &candidates()).len(), 5);
}

#[test]
fn every_stage_reports_once_in_order() {
    let reported: Vec<(PipelineStage, usize)> = events(TraceDetailLevel::Stage, &candidates())
        .into_iter()
        .map(|event| (event.stage, event.item_count))
        .collect();
    // All six, the four scoreable ones twice, three after deduplication, pin + a + b.
    let expected = [
        (PipelineStage::Classify, 6),
        (PipelineStage::Score, 4),
        (PipelineStage::Deduplicate, 4),
        (PipelineStage::Slice, 3),
        (PipelineStage::Place, 3),
    ];
    assert_eq!(reported, expected);
}

#[test]
fn stages_without_items_report_zero() {
    let reported = events(TraceDetailLevel::Item, &[]);
    let stages: Vec<&str> = reported.iter().map(|event| event.stage.name()).collect();
    assert_eq!(stages, ["Classify", "Score", "Deduplicate", "Slice", "Place"]);
    assert!(reported.iter().all(|event| event.item_count == 0));
}

#[test]
fn item_events_come_before_their_stage_event() {
    let reported = events(TraceDetailLevel::Item, &candidates());
    let mut remaining = PipelineStage::ALL.into_iter();
    let mut current = remaining.next();
    let mut item_events = 0;
    for event in &reported {
        assert_eq!(Some(&event.stage), current.as_ref(), "{reported:?}");
        if event.message.is_some() {
            assert_eq!((event.duration_ms, event.item_count), (0.0, 1));
            item_events += 1;
        } else {
            current = remaining.next();
        }
    }
    assert_eq!(current, None);
    // 1 negative, 4 scores, 1 duplicate, 1 over budget, 3 included.
    assert_eq!(item_events, 10);
}

#[test]
fn stage_events_carry_wall_clock_time() {
    struct Slow;
    impl Scorer for Slow {
        fn score(&self, _item: &ContextItem, _all: &[ContextItem]) -> f64 {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(3) {
                std::hint::spin_loop();
            }
            0.5
        }
    }
    let mut collector = DiagnosticTraceCollector::default();
    let pipeline = pipeline().scorer(Slow).build().unwrap();
    let start = Instant::now();
    pipeline.run_traced(&[hinted("x", 1, 0.0)], &budget(10), &mut collector).unwrap();
    let total = start.elapsed().as_secs_f64() * 1_000.0;
    let durations: Vec<f64> = collector.events().iter().map(|event| event.duration_ms).collect();
    assert!(durations[1] >= 3.0, "{durations:?}");
    assert!(durations.iter().all(|&duration| duration >= 0.0), "{durations:?}");
    assert!(durations.iter().sum::<f64>() <= total, "{durations:?} in {total}");
}

#[test]
fn the_callback_hears_every_event_as_it_is_recorded() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Item)
        .on_event(move |event| sink.lock().unwrap().push(event.clone()));
    collector.record_stage_event(TraceEvent::stage(PipelineStage::Place, 0.0, 0));
    assert_eq!(heard.lock().unwrap().len(), 1, "told at once");
    pipeline().build().unwrap().run_traced(&candidates(), &budget(100), &mut collector).unwrap();
    assert_eq!(heard.lock().unwrap()[1..], collector.into_report().events);
}

#[test]
fn one_pipeline_serves_several_collectors() {
    let pipeline = pipeline().build().unwrap();
    let mut stage = DiagnosticTraceCollector::new(TraceDetailLevel::Stage);
    let mut item = DiagnosticTraceCollector::new(TraceDetailLevel::Item);
    pipeline.run_traced(&candidates(), &budget(100), &mut stage).unwrap();
    pipeline.run_traced(&candidates(), &budget(100), &mut item).unwrap();
    // A second run through the same collector does not mix with the first.
    pipeline.run_traced(&[], &budget(100), &mut stage).unwrap();
    assert_eq!(stage.into_report().total_candidates, 0);
    assert_eq!(item.into_report().total_candidates, 6);
}

fn overspending() -> CountQuotaSlice {
    let entry = CountQuotaEntry::new(cupel::ContextKind::message(), 2, 2).unwrap();
    CountQuotaSlice::new(vec![entry], GreedySlice, ScarcityBehavior::Degrade).unwrap()
}

#[test]
fn the_overflow_event_tells_everything() {
    let told = Arc::new(Mutex::new(Vec::<OverflowEvent>::new()));
    let sink = Arc::clone(&told);
    let pipeline = pipeline()
        .slicer(overspending())
        .overflow_strategy(OverflowStrategy::Proceed)
        .overflow_observer(move |event| sink.lock().unwrap().push(event.clone()))
        .build()
        .unwrap();
    let items = [hinted("a", 80, 0.9), pinned("pin", 50), hinted("b", 70, 0.8)];
    pipeline.run(&items, &budget(100)).unwrap();
    let told = told.lock().unwrap();
    let [event] = told.as_slice() else { panic!("told {} times", told.len()) };
    assert_eq!(event.tokens_over_budget, 100);
    assert_eq!(contents(&event.overflowing_items), ["pin", "a", "b"]);
    assert_eq!(event.budget, budget(100));
}

#[test]
fn no_other_strategy_has_overflow_events() {
    for strategy in [OverflowStrategy::Throw, OverflowStrategy::Truncate] {
        let built = pipeline().overflow_strategy(strategy).overflow_observer(|_| {}).build();
        assert!(matches!(built, Err(CupelError::PipelineConfig(_))), "{strategy}");
    }
}

#[test]
fn a_pinned_overflow_is_an_error_of_the_classify_stage() {
    let mut collector = DiagnosticTraceCollector::default();
    let outcome =
        pipeline().build().unwrap().run_traced(&[pinned("pin", 101)], &budget(100), &mut collector);
    let expected = CupelError::PinnedExceedsBudget { pinned_tokens: 101, available_tokens: 100 };
    assert_eq!(outcome, Err(expected));
    assert!(collector.events().iter().all(|event| event.stage == PipelineStage::Classify));
}
