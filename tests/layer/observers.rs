//! An observer follows one call: it is made at the first poll, watches the pipeline, and is told
//! how it ended before the model is called.

use std::convert::Infallible;
use std::future::ready;
use std::sync::{Arc, Mutex};

use cupel::diagnostics::{
    ExcludedItem, IncludedItem, PipelineStage, TraceCollector, TraceDetailLevel, TraceEvent,
};
use cupel::gather::{GatherReport, Source};
use cupel::layer::{
    CallObserver, CallStart, ContextError, ContextRequestAdapter, CupelLayerBuilder, Selection,
    SelectionHook,
};
use cupel::{ContextBudget, CupelError};
use tower::{Layer, Service, ServiceExt};

use crate::common::{
    Echo, Recorder, Request, budget, item, layer, layer_with, ms, pinned, relevant, request,
};

/// Writes down what it hears; `deaf` after a run has begun.
#[derive(Clone, Default)]
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    deaf: bool,
    no_items: bool,
    began: bool,
}

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.lines.lock().unwrap().push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl SelectionHook for Log {
    fn wants_selection(&self) -> bool {
        false
    }

    fn on_selection(&self, _: &Selection) {
        self.add("hook");
    }

    fn observe(&self, _: &CallStart) -> Option<Box<dyn CallObserver>> {
        self.add("observe");
        Some(Box::new(self.clone()))
    }
}

impl CallObserver for Log {
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        Some(Box::new(self.clone()))
    }

    fn on_selection(self: Box<Self>, selection: &Selection) {
        self.add(format!("selected, {} reported", selection.report.included.len()));
    }

    fn on_failure(self: Box<Self>, error: &ContextError, gather: &GatherReport) {
        self.add(format!("failed: {error}; {} sources", gather.sources.len()));
    }
}

impl TraceCollector for Log {
    fn is_enabled(&self) -> bool {
        !(self.deaf && self.began)
    }

    fn detail_level(&self) -> TraceDetailLevel {
        TraceDetailLevel::Stage
    }

    fn wants_items(&self) -> bool {
        !self.no_items
    }

    fn begin_run(&mut self, candidates: usize, _: &ContextBudget) {
        self.began = true;
        self.add(format!("run of {candidates}"));
    }

    fn begin_stage(&mut self, stage: &PipelineStage, items_in: usize) {
        self.add(format!("+{stage} {items_in}"));
    }

    fn record_stage_event(&mut self, event: TraceEvent) {
        self.add(format!("-{}", event.stage));
    }

    fn record_item_event(&mut self, _: TraceEvent) {
        self.add("item event");
    }

    fn record_included(&mut self, included: IncludedItem) {
        self.add(format!("in {}", included.item.content()));
    }

    fn record_excluded(&mut self, stage: &PipelineStage, excluded: ExcludedItem) {
        self.add(format!("out {} by {stage}", excluded.item.content()));
    }

    fn end_run(&mut self, outcome: Result<(), &CupelError>) {
        self.add(format!("end {}", outcome.is_ok()));
    }
}

type Builder = CupelLayerBuilder<Request, ContextRequestAdapter>;

fn two_items() -> Request {
    request().item(relevant("small", 5, 0.9)).item(relevant("large", 50, 0.5))
}

async fn lines_of(log: Log, builder: Builder, request: Request) -> Vec<String> {
    let service = builder.hook(log.clone()).build().unwrap().layer(Echo::default());
    let _ = service.oneshot(request).await;
    log.lines()
}

const WHOLE_CALL: [&str; 16] = [
    "observe",
    "run of 2",
    "+Classify 2",
    "-Classify",
    "+Score 2",
    "-Score",
    "+Deduplicate 2",
    "-Deduplicate",
    "+Slice 2",
    "out large by Slice",
    "-Slice",
    "+Place 1",
    "in small",
    "-Place",
    "end true",
    "selected, 0 reported",
];

#[tokio::test]
async fn an_observer_hears_everything_about_its_call_once() {
    let heard = lines_of(Log::default(), layer().budget(budget(20)), two_items()).await;
    assert_eq!(heard, WHOLE_CALL);
}

#[tokio::test]
async fn an_observer_hears_the_same_from_the_blocking_pool() {
    let builder = layer().budget(budget(20)).blocking_threshold(0);
    assert_eq!(lines_of(Log::default(), builder, two_items()).await, WHOLE_CALL);
}

#[tokio::test]
async fn beside_a_hook_that_wants_a_report_both_hear_everything() {
    let recorder = Recorder::default();
    let builder = layer().budget(budget(20)).hook(recorder.clone());
    let heard = lines_of(Log::default(), builder, two_items()).await;
    // A report is made, so everybody is told about it.
    assert_eq!(heard[..15], WHOLE_CALL[..15]);
    assert_eq!(heard[15..], ["hook", "selected, 1 reported"]);
    let selections = recorder.selections.lock().unwrap();
    assert_eq!((selections[0].report.included.len(), selections[0].report.excluded.len()), (1, 1));
    assert_eq!(selections[0].report.events.len(), 5);
}

#[tokio::test]
async fn an_observer_that_loses_interest_hears_only_the_end_of_the_run() {
    let log = Log { deaf: true, ..Log::default() };
    let heard = lines_of(log, layer().budget(budget(20)), two_items()).await;
    assert_eq!(heard, ["observe", "run of 2", "end true", "selected, 0 reported"]);
}

#[tokio::test]
async fn an_observer_may_do_without_single_items() {
    let log = Log { no_items: true, ..Log::default() };
    let heard = lines_of(log, layer().budget(budget(20)), two_items()).await;
    let stages =
        WHOLE_CALL.iter().filter(|line| !line.starts_with("in ") && !line.starts_with("out "));
    assert_eq!(heard, stages.copied().collect::<Vec<_>>());
}

/// A source that has nothing, and says so after a moment.
fn slow_and_empty() -> Source<Request> {
    Source::list("slow", |_: &Request| async {
        tokio::time::sleep(ms(10)).await;
        Ok::<_, Infallible>(Vec::new())
    })
}

#[tokio::test(start_paused = true)]
async fn a_streaming_layer_has_its_observers_too() {
    let builder = layer_with([slow_and_empty()]).budget(budget(20)).select_while_gathering(true);
    let heard = lines_of(Log::default(), builder, two_items()).await;
    let expected = [
        "observe",
        "run of 2",
        "+Place 1",
        "in small",
        "-Place",
        "end true",
        "selected, 0 reported",
    ];
    assert_eq!(heard, expected);

    // What is all there at once is selected from at once.
    let builder = layer().budget(budget(20)).select_while_gathering(true);
    assert_eq!(lines_of(Log::default(), builder, two_items()).await, WHOLE_CALL);
}

#[tokio::test]
async fn an_observer_is_told_why_there_is_no_selection() {
    let broken = Source::list("broken", |_: &Request| ready(Err::<Vec<_>, _>("no index")));
    let heard = lines_of(Log::default(), layer_with([broken.required()]), request()).await;
    let failed = "failed: required source \"broken\" failed: no index; 1 sources";
    assert_eq!(heard, ["observe", failed]);

    // In the pipeline, after its first stage.
    let pinned = cupel::ContextItem::builder("large", 5_000).pinned(true).build().unwrap();
    let heard = lines_of(Log::default(), layer(), request().item(pinned)).await;
    assert_eq!(heard[..4], ["observe", "run of 1", "+Classify 1", "-Classify"]);
    assert_eq!(heard[4], "end false");
    assert!(heard[5].starts_with("failed: Pinned items require 5000 tokens"), "{}", heard[5]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_of_a_run_that_failed_while_items_arrived() {
    let asked = request().item(pinned("large", 5_000));
    let builder = layer_with([slow_and_empty()]).select_while_gathering(true);
    let heard = lines_of(Log::default(), builder, asked).await;
    assert_eq!(heard[..3], ["observe", "run of 1", "end false"]);
    assert!(heard[3].starts_with("failed: Pinned items require 5000 tokens"), "{}", heard[3]);
    assert_eq!(heard.len(), 4);
}

#[tokio::test]
async fn a_call_that_is_never_polled_is_not_observed() {
    let log = Log::default();
    let mut service = layer().hook(Arc::new(log.clone())).build().unwrap().layer(Echo::default());
    let call = service.ready().await.unwrap().call(request().item(item("a", 1)));
    assert!(log.lines().is_empty());
    call.await.unwrap();
    assert_eq!(log.lines()[0], "observe");
}
