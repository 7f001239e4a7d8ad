//! Long selections leave the executor's thread; a panic there is an error of the call.

use std::future::Future;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use cupel::conversation::{Conversation, Edits, Message, MessageTexts, Role, Rules, Texts};
use cupel::gather::{BoxError, Source};
use cupel::layer::{
    ContextAdapter, ContextError, ContextRequestAdapter, CupelLayer, CupelLayerBuilder,
    RequestFacts, Split, Strategy, off_executor,
};
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Judge, Question, Verdict};
use cupel::scorer::{CompositeScorer, FrequencyScorer, ScaledScorer};
use cupel::slicer::{KnapsackSlice, SliceResult};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, CupelError, GreedySlice, Pipeline, Policy,
    ReflexiveScorer, ScoredItem, Scorer, Slicer,
};
use tower::{Layer, Service, ServiceExt};

use crate::common::{
    Echo, Recorder, Request, context_error, item, layer, layer_with, numbered, report, request,
    work,
};

type Threads = Arc<Mutex<Vec<ThreadId>>>;

/// Takes everything, says how many steps that takes, and remembers where it ran.
struct Steps {
    steps: u64,
    threads: Threads,
}

impl Slicer for Steps {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        _: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        self.threads.lock().unwrap().push(thread::current().id());
        Ok((0..items.len()).collect::<Vec<_>>().into())
    }

    fn steps(&self, _candidates: usize, _target_tokens: i64) -> u64 {
        self.steps
    }
}

fn selecting(
    scorer: impl Scorer + 'static,
    slicer: impl Slicer + 'static,
) -> CupelLayerBuilder<Request, ContextRequestAdapter> {
    let pipeline =
        Pipeline::builder().scorer(scorer).slicer(slicer).placer(ChronologicalPlacer).build();
    layer().pipeline(pipeline.unwrap())
}

/// Returns true if a selection of this many steps runs on this thread, the only one of the runtime.
async fn ran_here(steps: u64, threshold: Option<u64>) -> bool {
    let threads = Threads::default();
    let mut builder = selecting(ReflexiveScorer, Steps { steps, threads: Arc::clone(&threads) });
    if let Some(threshold) = threshold {
        builder = builder.blocking_threshold(threshold);
    }
    let (sent, _) = report(builder, request().item(item("hello", 1))).await.unwrap();
    assert_eq!(sent, ["hello"]);
    let threads = threads.lock().unwrap();
    assert_eq!(threads.len(), 1);
    threads[0] == thread::current().id()
}

#[tokio::test]
async fn a_selection_runs_off_the_executor_from_the_threshold_on() {
    let default = CupelLayer::<Request, ContextRequestAdapter>::DEFAULT_BLOCKING_THRESHOLD;
    // The one candidate and the report on it count a few hundred steps.
    assert!(ran_here(default - 1_000, None).await);
    assert!(!ran_here(default, None).await);
    assert!(ran_here(9_000, Some(10_000)).await);
    assert!(!ran_here(10_000, Some(10_000)).await);
    assert!(ran_here(u64::MAX - 1_000, Some(u64::MAX)).await);
    assert!(!ran_here(0, Some(0)).await);
}

/// Remembers where it ran; every item is as good as the next.
struct Where(Threads);

impl Scorer for Where {
    fn score(&self, _: &ContextItem, _: &[ContextItem]) -> f64 {
        self.0.lock().unwrap().push(thread::current().id());
        0.5
    }
}

#[tokio::test]
async fn a_big_knapsack_runs_off_the_executor_and_a_small_one_does_not() {
    for (candidates, expected_here) in [(100, true), (2_000, false)] {
        let threads = Threads::default();
        let builder = selecting(Where(Arc::clone(&threads)), KnapsackSlice::new(1).unwrap());
        // 1,000 tokens and a cell a token: 100,000 cells or 2,000,000.
        let asked = request().with_items(numbered("candidate", candidates));
        let (sent, _) = report(builder, asked).await.unwrap();
        assert_eq!(sent.len(), candidates.min(1_000));
        assert_eq!(all_here(&threads), expected_here);
    }
}

/// Returns true if everything that was noted happened on this thread.
fn all_here(threads: &Threads) -> bool {
    let here = thread::current().id();
    std::mem::take(&mut *threads.lock().unwrap()).iter().all(|id| *id == here)
}

#[tokio::test]
async fn a_report_counts() {
    // 12,000 candidates are selected from here, but not with a report on them.
    for (with_report, expected_here) in [(false, true), (true, false)] {
        let threads = Threads::default();
        let mut builder = selecting(Where(Arc::clone(&threads)), GreedySlice);
        if with_report {
            builder = builder.hook(Recorder::default());
        }
        let mut service = builder.build().unwrap().layer(Echo::default());
        let asked = request().with_items(numbered("candidate", 12_000));
        service.ready().await.unwrap().call(asked).await.unwrap();
        assert_eq!(all_here(&threads), expected_here);
    }
}

/// A scorer that takes 200 microseconds an item and does not say so, by a clock that stands still
/// otherwise.
struct Slow(Where);

impl Scorer for Slow {
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64 {
        work(Duration::from_micros(200));
        self.0.score(item, all)
    }
}

#[tokio::test(start_paused = true)]
async fn what_took_long_runs_off_the_executor_the_next_time() {
    let threads = Threads::default();
    let builder = selecting(Slow(Where(Arc::clone(&threads))), GreedySlice);
    let mut service = builder.build().unwrap().layer(Echo::default());
    let mut ran_here = async |items: usize| {
        let asked = request().with_items(numbered("candidate", items));
        service.ready().await.unwrap().call(asked).await.unwrap();
        all_here(&threads)
    };
    assert!(ran_here(100).await, "nothing is known of the scorer yet");
    assert!(!ran_here(100).await, "100 items have taken 20 ms");
    assert!(ran_here(5).await, "5 items take 1 ms");
    assert!(!ran_here(100).await);
}

/// Takes nothing, and that only after somebody says so.
struct Gate(Mutex<Receiver<()>>);

impl Slicer for Gate {
    fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<SliceResult, CupelError> {
        let gate = self.0.lock().unwrap();
        gate.recv_timeout(Duration::from_secs(20)).expect("the executor was held up");
        Ok(SliceResult::default())
    }
}

#[tokio::test]
async fn other_tasks_run_while_a_long_selection_is_made() {
    let (open, gate) = channel();
    let builder = selecting(ReflexiveScorer, Gate(Mutex::new(gate))).blocking_threshold(0);
    let service = builder.build().unwrap().layer(Echo::default());
    let call = tokio::spawn(service.oneshot(request()));
    // On a thread that the selection holds, this line would never be reached.
    tokio::task::yield_now().await;
    open.send(()).unwrap();
    call.await.unwrap().unwrap();
}

struct Panics(fn() -> f64);

impl Scorer for Panics {
    fn score(&self, _: &ContextItem, _: &[ContextItem]) -> f64 {
        (self.0)()
    }
}

#[tokio::test]
async fn a_panic_off_the_executor_is_an_error_of_the_call() {
    type Panic = (fn() -> f64, &'static str);
    let panics: [Panic; 3] = [
        (|| panic!("divided by zero"), "divided by zero"),
        (|| panic!("bad score {}", 7), "bad score 7"),
        (|| std::panic::panic_any(7_u8), "no message"),
    ];
    for (panic, message) in panics {
        let hook = Recorder::default();
        let model = Echo::default();
        let layer = selecting(Panics(panic), GreedySlice)
            .blocking_threshold(0)
            .source(Source::items("notes", [item("note", 1)]))
            .hook(hook.clone());
        let mut service = layer.build().unwrap().layer(model.clone());
        let error = context_error(service.ready().await.unwrap().call(request()).await);
        assert!(matches!(&error, ContextError::Panicked { message: m } if m == message));
        assert_eq!(error.to_string(), format!("the selection panicked: {message}"));
        assert_eq!(model.calls(), 0);
        // The candidates are gone with the panic, but not the report on the sources.
        let failures = hook.failures.lock().unwrap();
        assert_eq!(failures[0].0, error.to_string());
        assert_eq!(failures[0].1.source("notes").unwrap().items, 1);
    }
}

#[tokio::test]
async fn an_error_of_a_long_selection_is_the_same_as_that_of_a_short_one() {
    for threshold in [0, u64::MAX] {
        let builder = layer_with([]).blocking_threshold(threshold);
        let outcome = report(builder, request().item(crate::common::pinned("long", 2_000))).await;
        assert!(matches!(
            context_error(outcome),
            ContextError::Pinned { error: CupelError::PinnedExceedsBudget { .. }, .. }
        ));
    }
}

#[test]
fn a_call_that_is_dropped_takes_its_waiting_selection_along() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        // The pool's one thread is busy.
        let (open, gate) = channel::<()>();
        let busy = tokio::task::spawn_blocking(move || gate.recv_timeout(Duration::from_secs(20)));
        let threads = Threads::default();
        let slicer = Steps { steps: u64::MAX, threads: Arc::clone(&threads) };
        let mut service =
            selecting(ReflexiveScorer, slicer).build().unwrap().layer(Echo::default());
        let mut call = Box::pin(service.ready().await.unwrap().call(request()));
        assert!(futures::future::poll_immediate(&mut call).await.is_none());
        drop(call);
        open.send(()).unwrap();
        busy.await.unwrap().unwrap();
        // Comes after the dropped one on the same thread.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert!(threads.lock().unwrap().is_empty());
    });
}

/// Counting common tags is the one built-in scoring that can take long.
#[test]
fn many_tags_are_counted_off_the_executor() {
    let tagged = |count: usize, tags: usize| -> Vec<ContextItem> {
        let tags =
            |number: usize| (0..tags).map(move |tag| format!("t{}", (number * 7 + tag) % 200));
        let item = |number: usize| {
            ContextItem::builder(format!("item {number}"), 1).tags(tags(number)).build().unwrap()
        };
        (0..count).map(item).collect()
    };
    let threshold = CupelLayer::<Request, ContextRequestAdapter>::DEFAULT_BLOCKING_THRESHOLD;
    assert!(FrequencyScorer.steps(&tagged(2_000, 100)) > threshold);
    assert!(FrequencyScorer.steps(&tagged(200, 3)) < threshold);
    let composite = CompositeScorer::builder().add(FrequencyScorer, 1.0).build().unwrap();
    let scaled = ScaledScorer::new(composite).unwrap();
    assert!(scaled.steps(&tagged(2_000, 100)) > threshold);
}

/// Runs a future while something holds the only thread of the blocking pool.
fn with_a_full_pool<T>(call: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let (release, busy) = channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    let outcome = runtime.block_on(call);
    drop(release);
    outcome
}

#[test]
fn short_work_that_the_pool_never_starts_runs_on_the_executor() {
    assert!(with_a_full_pool(ran_here(5_000_000, None)));
}

#[test]
fn long_work_that_the_pool_never_starts_runs_on_a_spare_thread() {
    // More calls at once than there are spare threads.
    let calls = (0..20).map(|_| ran_here(u64::MAX, None));
    let here = with_a_full_pool(futures::future::join_all(calls));
    assert_eq!(here, [false; 20]);
}

#[test]
fn work_off_the_executor_ends_while_the_pool_is_full() {
    for (steps, expected_here) in [(0, true), (5_000_000, true), (u64::MAX, false)] {
        let thread = with_a_full_pool(off_executor(steps, || thread::current().id())).unwrap();
        assert_eq!(thread == thread::current().id(), expected_here, "{steps}");
    }
}

#[test]
fn work_that_panics_off_the_executor_is_an_error() {
    for steps in [0, 5_000_000, u64::MAX] {
        let work = || -> u8 { panic!("no such word") };
        let error = with_a_full_pool(off_executor(steps, work)).unwrap_err();
        assert_eq!(error.to_string(), "panicked: no such word");
    }
}

/// Reads messages, says that it takes long, and remembers where it ran.
struct LongTalk(Threads);

impl LongTalk {
    fn note(&self) {
        self.0.lock().unwrap().push(thread::current().id());
    }
}

impl ContextAdapter<Vec<Message>> for LongTalk {
    type Rest = Vec<Message>;

    fn facts<'a>(&'a self, _: &'a Vec<Message>) -> RequestFacts<'a> {
        RequestFacts::default().steps(u64::MAX)
    }

    fn split(&self, talk: Vec<Message>, _: Strategy) -> Result<Split<Self::Rest>, BoxError> {
        self.note();
        Split::conversation(Conversation::new(talk.clone(), &Rules::new())?, 0, talk)
    }

    fn texts<'a>(&'a self, _: &'a Self::Rest) -> Box<dyn Texts + 'a> {
        self.note();
        Box::new(MessageTexts)
    }

    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<Vec<Message>, BoxError> {
        self.note();
        Ok(edits.kept.iter().map(|at| rest[*at].clone()).collect())
    }
}

/// Says that it takes long.
struct LongJudge;

impl Judge for LongJudge {
    fn judge(&self, _: &Question, _: &[Candidate<'_>]) -> Option<Verdict> {
        panic!("it ran")
    }

    fn steps(&self, _: &[Candidate<'_>]) -> Option<u64> {
        Some(u64::MAX)
    }
}

#[test]
fn a_call_that_the_pool_never_starts_does_without_its_judge_and_holds_nobody_up() {
    let mut talk = vec![Message::new(Role::User, "What is blue?", 40); 20];
    talk.push(Message::new(Role::User, "What is red?", 40));
    for policy in [Policy::chat(), Policy::rag()] {
        let threads = Threads::default();
        let layer = CupelLayer::builder()
            .adapter(LongTalk(Arc::clone(&threads)))
            .policy(policy)
            .relevance(Relevance::new(LongJudge))
            .budget(ContextBudget::builder(400).build().unwrap())
            .build()
            .unwrap();
        let selected = with_a_full_pool(layer.selector().select(talk.clone()));
        let (sent, selection) = selected.unwrap().into_parts();
        assert!(sent.len() < 21 && sent.last().unwrap().text == "What is red?");
        let problem = selection.report.relevance.unwrap().problem;
        assert_eq!(problem.as_deref(), Some("did not start: the blocking pool is busy"));
        let threads = threads.lock().unwrap();
        assert!(threads.len() > 2 && !threads.contains(&thread::current().id()));
    }
}

/// Takes as long to read and to write as it says, and remembers where it did.
struct Long {
    steps: u64,
    threads: Threads,
}

impl ContextAdapter<String> for Long {
    type Rest = ();

    fn facts<'a>(&'a self, _: &'a String) -> RequestFacts<'a> {
        RequestFacts::new(None).steps(self.steps)
    }

    fn split(&self, request: String, _: Strategy) -> Result<Split<()>, BoxError> {
        self.threads.lock().unwrap().push(thread::current().id());
        Ok(Split::new(vec![ContextItem::new(request, 1)?], 0, ()))
    }

    fn join(&self, (): (), edits: &mut Edits) -> Result<String, BoxError> {
        self.threads.lock().unwrap().push(thread::current().id());
        Ok(edits.placed.remove(0).item.content().to_owned())
    }
}

#[tokio::test]
async fn a_long_request_is_read_and_written_off_the_executor() {
    for (steps, expected_here) in [(1_000, true), (u64::MAX, false)] {
        let threads = Threads::default();
        let adapter = Long { steps, threads: Arc::clone(&threads) };
        let layer = CupelLayer::builder()
            .adapter(adapter)
            .policy(Policy::chat())
            .budget(ContextBudget::builder(100).build().unwrap());
        let selector = layer.build().unwrap().selector();
        let sent = selector.select("long".to_owned()).await.unwrap();
        assert_eq!(sent.request, "long");
        let here = thread::current().id();
        let found: Vec<bool> = threads.lock().unwrap().iter().map(|id| *id == here).collect();
        assert_eq!(found, [expected_here; 2]);
    }
}
