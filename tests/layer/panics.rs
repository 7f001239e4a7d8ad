//! A panic in code that users wrote is an error of its call, wherever it happens, and of no other.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use cupel::conversation::{MessageTexts, Texts};
use cupel::diagnostics::{PipelineStage, TraceCollector, TraceEvent};
use cupel::gather::{BoxError, GatherReport, Source};
use cupel::layer::{
    CallObserver, CallStart, ContextAdapter, ContextError, ContextRequestAdapter, CupelLayer,
    Edits, Error, RequestFacts, Selection, SelectionHook, Split, Strategy,
};
use cupel::model::Hint;
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Judge, Question, Verdict};
use cupel::slicer::SliceResult;
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, CupelError, GreedySlice, Pipeline, Placer,
    Policy, ReflexiveScorer, ScoredItem, Scorer, Slicer,
};
use tower::buffer::Buffer;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::common::{Echo, Recorder, Request, budget, call, context_error, item, layer, request};

/// Returns true if this part panics: an item of the request names it.
fn panics(request: &Request, part: &str) -> bool {
    request.items().any(|item| item.content() == part)
}

fn trap(part: &str, items: &[ContextItem]) {
    assert!(!items.iter().any(|item| item.content() == part), "{part}");
}

struct Trapped;

impl ContextAdapter<Request> for Trapped {
    type Rest = (Request, Fragile);

    fn split(&self, request: Request, _: Strategy) -> Result<Split<Self::Rest>, BoxError> {
        assert!(!panics(&request, "split"), "split");
        let fragile = Fragile(panics(&request, "drop"));
        let split = ContextRequestAdapter.split(request, Strategy::Scored)?;
        Ok(Split::new(split.candidates, split.fixed_tokens, (split.rest, fragile)))
    }

    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<Request, BoxError> {
        assert!(!edits.placed.iter().any(|placed| placed.item.content() == "join"), "join");
        ContextRequestAdapter.join(rest.0, edits)
    }

    fn facts<'a>(&'a self, request: &'a Request) -> RequestFacts<'a> {
        assert!(!panics(request, "facts"), "facts");
        RequestFacts::default()
    }

    fn texts<'a>(&'a self, rest: &'a Self::Rest) -> Box<dyn Texts + 'a> {
        assert!(rest.0.payload != "texts", "texts");
        Box::new(MessageTexts)
    }

    fn source_item_tokens(&self, _: &Self::Rest, item: &ContextItem) -> i64 {
        assert!(item.content() != "count", "count");
        item.tokens()
    }
}

/// Panics when it is dropped.
struct Fragile(bool);

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.0 || std::thread::panicking(), "drop");
    }
}

impl Scorer for Trapped {
    fn score(&self, _: &ContextItem, all: &[ContextItem]) -> f64 {
        trap("score", all);
        if all.iter().any(|item| item.content() == "payload") {
            panic_any(Fragile(true));
        }
        0.5
    }
}

impl Slicer for Trapped {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        b: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        assert!(!items.iter().any(|item| item.item().content() == "slice"), "slice");
        GreedySlice.slice(items, b)
    }
}

impl Placer for Trapped {
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
        assert!(!items.iter().any(|item| item.item().content() == "place"), "place");
        ChronologicalPlacer.place(items)
    }
}

fn trapped(threshold: u64) -> CupelLayer<Request, Trapped> {
    let pipeline = Pipeline::builder().scorer(Trapped).slicer(Trapped).placer(Trapped).build();
    CupelLayer::builder()
        .adapter(Trapped)
        .pipeline(pipeline.unwrap())
        .budget(|request: &Request| {
            assert!(!panics(request, "budget"), "budget");
            Ok(budget(100))
        })
        .blocking_threshold(threshold)
        .build()
        .unwrap()
}

#[tokio::test]
async fn whatever_panics_the_call_fails_with_it_and_the_next_one_does_not() {
    let parts = [
        ("budget", "budget"),
        ("split", "split"),
        ("score", "score"),
        ("payload", "no message"),
        ("slice", "slice"),
        ("place", "place"),
        ("facts", "facts"),
        ("join", "join"),
        ("drop", "drop"),
    ];
    // Below the threshold of the blocking pool, and above it.
    for threshold in [u64::MAX, 0] {
        let model = Echo::default();
        let mut service = trapped(threshold).layer(model.clone());
        for (part, message) in parts {
            let outcome = service.ready().await.unwrap().call(request().item(item(part, 1))).await;
            let error = context_error(outcome);
            let ContextError::Panicked { message: told } = &error else {
                panic!("{part}: {error}")
            };
            assert_eq!(told, message, "{part}");
            let sent = service.ready().await.unwrap().call(request().item(item("a", 1))).await;
            assert_eq!(sent.unwrap(), ["a"], "after {part}");
        }
        assert_eq!(model.calls(), parts.len());
    }
}

#[tokio::test]
async fn what_an_adapter_counts_may_panic_and_the_sources_are_told_about() {
    let recorder = Recorder::default();
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(ChronologicalPlacer)
        .build();
    let service = CupelLayer::builder()
        .adapter(Trapped)
        .pipeline(pipeline.unwrap())
        .budget(budget(100))
        .source(Source::items("notes", [item("note", 1)]))
        .source(Source::items("index", [item("count", 1)]))
        .hook(recorder.clone())
        .build()
        .unwrap()
        .layer(Echo::default());
    let error = context_error(service.oneshot(request()).await);
    assert_eq!(error.to_string(), "the selection panicked: count");
    let failures = recorder.failures.lock().unwrap();
    let outcomes: Vec<_> = failures[0].1.sources.iter().map(|s| s.outcome.name()).collect();
    assert_eq!(outcomes, ["completed", "abandoned"]);
}

#[tokio::test]
async fn the_worker_of_a_buffer_survives_a_panic() {
    let mut service = Buffer::new(trapped(u64::MAX).layer(Echo::default()), 8);
    for part in ["split", "budget", "score"] {
        let panicking = service.ready().await.unwrap().call(request().item(item(part, 1)));
        let error = panicking.await.unwrap_err();
        assert_eq!(error.to_string(), format!("the selection panicked: {part}"));
        let sent = service.ready().await.unwrap().call(request().item(item("a", 1))).await;
        assert_eq!(sent.unwrap(), ["a"]);
    }
}

/// Panics whenever it is asked or told anything; counts how often.
#[derive(Clone, Default)]
struct Nervous {
    asked: Arc<AtomicUsize>,
    /// True if the call reaches the observer.
    observes: bool,
}

impl Nervous {
    fn panic(&self) -> ! {
        self.asked.fetch_add(1, Ordering::SeqCst);
        panic!("not now");
    }
}

impl SelectionHook for Nervous {
    fn on_selection(&self, _: &Selection) {
        self.panic();
    }

    fn on_failure(&self, _: &ContextError, _: &GatherReport) {
        self.panic();
    }

    fn wants_selection(&self) -> bool {
        self.panic();
    }

    fn observe(&self, _: &CallStart) -> Option<Box<dyn CallObserver>> {
        if self.observes { Some(Box::new(self.clone())) } else { self.panic() }
    }
}

impl CallObserver for Nervous {
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        Some(Box::new(self.clone()))
    }

    fn on_selection(self: Box<Self>, _: &Selection) {
        self.panic();
    }

    fn on_failure(self: Box<Self>, _: &ContextError, _: &GatherReport) {
        self.panic();
    }
}

impl TraceCollector for Nervous {
    fn is_enabled(&self) -> bool {
        true
    }

    fn begin_stage(&mut self, _: &PipelineStage, _: usize) {
        self.panic();
    }

    fn record_stage_event(&mut self, _: TraceEvent) {
        self.panic();
    }

    fn record_item_event(&mut self, _: TraceEvent) {
        self.panic();
    }
}

#[tokio::test]
async fn hooks_and_observers_that_panic_change_nothing() {
    for observes in [false, true] {
        let (nervous, calm) = (Nervous { observes, ..Nervous::default() }, Recorder::default());
        let layer = layer().hook(nervous.clone()).hook(calm.clone()).build().unwrap();
        let mut service = layer.layer(Echo::default());
        let sent = call(&mut service, request().item(item("a", 1))).await.unwrap();
        assert_eq!(sent, ["a"]);
        let failed = call(&mut service, request().fixed_tokens(i64::MAX)).await;
        assert!(matches!(context_error(failed), ContextError::FixedTokens { .. }));
        assert!(nervous.asked.load(Ordering::SeqCst) >= 6);
        assert_eq!(calm.selections.lock().unwrap().len(), 1);
        assert_eq!(calm.failures.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_function_that_shows_progress_may_panic() {
    let source = Source::items("notes", [item("note", 1)]);
    let layer =
        layer().select_while_gathering(true).source(source).on_progress(|_| panic!("no screen"));
    let mut service = layer.build().unwrap().layer(Echo::default());
    assert_eq!(call(&mut service, request()).await.unwrap(), ["note"]);
}

#[tokio::test]
async fn a_panic_of_the_wrapped_service_is_its_own() {
    let in_call = service_fn(|_: Request| -> std::future::Ready<Result<(), Error<&str>>> {
        panic!("the model's own")
    });
    let in_future = service_fn(|_: Request| async {
        if true {
            panic!("the model's own");
        }
        Ok::<(), Error<&str>>(())
    });
    let panicked = tokio::spawn(layer().build().unwrap().layer(in_call).oneshot(request())).await;
    assert!(panicked.unwrap_err().is_panic());
    let panicked = tokio::spawn(layer().build().unwrap().layer(in_future).oneshot(request())).await;
    assert!(panicked.unwrap_err().is_panic());
}

/// Panics when it is dropped, but not when it is used.
#[derive(Clone)]
struct Fuse(Arc<AtomicUsize>);

impl Drop for Fuse {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("dropped");
    }
}

/// An observer, and a collector, whose `Drop` panics.
struct Fused {
    fuse: Fuse,
    is_enabled: bool,
}

impl SelectionHook for Fused {
    fn observe(&self, _: &CallStart) -> Option<Box<dyn CallObserver>> {
        Some(Box::new(Self { fuse: self.fuse.clone(), is_enabled: self.is_enabled }))
    }
}

impl CallObserver for Fused {
    fn collector(&mut self) -> Option<Box<dyn TraceCollector + Send>> {
        Some(Box::new(Self { fuse: self.fuse.clone(), is_enabled: self.is_enabled }))
    }

    fn on_selection(self: Box<Self>, _: &Selection) {}

    fn on_failure(self: Box<Self>, _: &ContextError, _: &GatherReport) {}
}

impl TraceCollector for Fused {
    fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    fn record_stage_event(&mut self, _: TraceEvent) {}

    fn record_item_event(&mut self, _: TraceEvent) {}
}

#[tokio::test]
async fn observers_and_collectors_whose_drop_panics_change_nothing() {
    for is_enabled in [false, true] {
        let drops = Arc::new(AtomicUsize::new(0));
        let hook = Fused { fuse: Fuse(drops.clone()), is_enabled };
        let layer = layer().hook(hook).build().unwrap();
        let mut service = layer.layer(Echo::default());
        let sent = call(&mut service, request().item(item("a", 1))).await.unwrap();
        assert_eq!(sent, ["a"], "{is_enabled}");
        assert_eq!(drops.load(Ordering::SeqCst), 2, "{is_enabled}");
        let failed = call(&mut service, request().item(item("drop", -1)).fixed_tokens(i64::MAX));
        assert!(matches!(context_error(failed.await), ContextError::FixedTokens { .. }));
        std::mem::forget((service, layer)); // the hook itself is the user's to drop
    }
}

#[tokio::test]
async fn a_cancelled_call_with_an_observer_whose_drop_panics_takes_nobody_along() {
    let drops = Arc::new(AtomicUsize::new(0));
    let source = Source::list("slow", |_: &Request| {
        std::future::pending::<Result<Vec<ContextItem>, BoxError>>()
    });
    let layer = layer().hook(Fused { fuse: Fuse(drops.clone()), is_enabled: true });
    let layer = layer.source(source).build().unwrap();
    let mut service = layer.layer(Echo::default());
    let mut started = Box::pin(call(&mut service, request().item(item("a", 1))));
    let waiting = std::future::poll_fn(|cx| Poll::Ready(started.as_mut().poll(cx).is_pending()));
    assert!(waiting.await);
    drop(started);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    std::mem::forget((service, layer));
}

/// Judges by nothing, with a function whose `Drop` panics.
struct FusedJudge(Arc<AtomicUsize>);

impl Judge for FusedJudge {
    fn judge(&self, _: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let fuse = Fuse(self.0.clone());
        let hints = candidates.iter().map(|_| Hint::new(0.5)).collect();
        Some(Verdict::new(hints, move |_| {
            Hint::new(if fuse.0.load(Ordering::SeqCst) > 0 { 0.1 } else { 0.2 })
        }))
    }
}

#[tokio::test]
async fn a_verdict_whose_drop_panics_fails_no_call() {
    let drops = Arc::new(AtomicUsize::new(0));
    let policy = Policy::rag().with_relevance(Relevance::new(FusedJudge(drops.clone())));
    let source = Source::items("notes", [item("note", 1)]);
    let layer = CupelLayer::builder().adapter(ContextRequestAdapter).policy(policy);
    let layer = layer.budget(budget(100)).source(source).build().unwrap();
    let mut service = layer.layer(Echo::default());
    let asked = request().question("why?").item(item("a", 1));
    assert_eq!(call(&mut service, asked).await.unwrap().len(), 2);
    assert!(drops.load(Ordering::SeqCst) > 0);
}
