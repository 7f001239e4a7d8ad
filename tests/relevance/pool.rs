//! Judging that takes long leaves the executor's thread, and costs its call no more than the relevance.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, CupelService, WithReport};
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Hint, Judge, Lexical, Question, Verdict};
use cupel::slicer::BestFirstSlice;
use cupel::{ContextBudget, ContextItem, Policy, ReflexiveScorer, Selection};
use futures::future::poll_immediate;
use tokio::runtime::Runtime;
use tower::util::ServiceFn;
use tower::{Layer, Service, ServiceExt, service_fn};

type Request = ContextRequest<()>;
type SentSummary = std::future::Ready<Result<Vec<String>, Infallible>>;
type Model =
    CupelService<ServiceFn<fn(Request) -> SentSummary>, Request, ContextRequestAdapter, WithReport>;

/// A layer with a judge, in front of a model that says what it was sent.
fn model(judge: impl Judge + 'static) -> Model {
    let relevance = Relevance::new(judge).scorer(ReflexiveScorer).slicer(BestFirstSlice);
    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::chat().with_relevance(relevance))
        .budget(ContextBudget::builder(40).build().unwrap())
        .build()
        .unwrap();
    layer.with_report().layer(service_fn(|request: Request| {
        std::future::ready(Ok(request.items().map(|item| item.content().to_owned()).collect()))
    }))
}

/// A conversation about nothing, but for its beginning. No other test has its texts.
fn talk(name: &str, messages: usize) -> Request {
    let text = |number: usize| match number {
        0 => format!("The parcel of {name} went to Lyon."),
        _ => format!("small talk number {number} of {name}, and some more words beside it"),
    };
    let items = (0..messages).map(|number| ContextItem::new(text(number), 10).unwrap());
    ContextRequest::new(()).with_items(items).question("Where did the parcel go?")
}

async fn call(model: &mut Model, request: Request) -> (Vec<String>, Selection) {
    model.ready().await.unwrap().call(request).await.unwrap()
}

/// A runtime whose only thread for blocking work is busy until the sender is dropped: what a call
/// hands to it cannot be done by the first poll, however slowly the test's own thread runs.
fn runtime_with_a_busy_blocking_thread() -> (Runtime, mpsc::Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (release, busy) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    (runtime, release)
}

#[test]
fn many_new_messages_are_judged_off_the_executor_and_known_ones_at_once() {
    let (runtime, release) = runtime_with_a_busy_blocking_thread();
    runtime.block_on(async {
        let mut model = model(Lexical::new());
        let talk = talk("Ada", 1_000);
        let mut first = Box::pin(model.ready().await.unwrap().call(talk.clone()));
        assert!(poll_immediate(&mut first).await.is_none(), "judged on the caller's task");
        drop(release);
        let (sent, selection) = first.await.unwrap();
        assert!(sent.contains(&"The parcel of Ada went to Lyon.".to_owned()), "{sent:?}");
        assert_eq!(selection.report.relevance.as_ref().unwrap().judged, 1_000);

        let (busy, release) = hold_the_blocking_thread();
        let mut second = Box::pin(model.ready().await.unwrap().call(talk));
        let again = poll_immediate(&mut second).await.expect("known messages are judged at once");
        assert_eq!(again.unwrap().0, sent);
        drop(release);
        busy.await.unwrap();
    });
}

fn hold_the_blocking_thread() -> (tokio::task::JoinHandle<()>, mpsc::Sender<()>) {
    let (release, busy) = mpsc::channel::<()>();
    let held = tokio::task::spawn_blocking(move || {
        let _ = busy.recv();
    });
    (held, release)
}

#[test]
fn a_time_out_fires_while_a_long_text_is_judged() {
    let (runtime, release) = runtime_with_a_busy_blocking_thread();
    runtime.block_on(async {
        let long = "lorem ipsum dolor ".repeat(100_000);
        let request = talk("Bert", 3).item(ContextItem::new(long, 10).unwrap());
        let call = model(Lexical::new()).oneshot(request);
        let limited = tokio::time::timeout(Duration::from_millis(50), call);
        tokio::pin!(limited);
        assert!(poll_immediate(&mut limited).await.is_none(), "judged on the caller's task");
        tokio::time::advance(Duration::from_millis(51)).await;
        assert!(limited.await.is_err());
    });
    drop(release);
}

/// Says how long it takes, remembers where it ran, and does as it is told.
struct Told {
    steps: Option<u64>,
    threads: Arc<Mutex<Vec<ThreadId>>>,
    then: fn(&[Candidate<'_>]) -> Option<Verdict>,
}

impl Told {
    fn long(then: fn(&[Candidate<'_>]) -> Option<Verdict>) -> Self {
        Self { steps: Some(u64::MAX), threads: Arc::default(), then }
    }
}

impl Judge for Told {
    fn judge(&self, _: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        self.threads.lock().unwrap().push(thread::current().id());
        (self.then)(candidates)
    }

    fn steps(&self, _: &[Candidate<'_>]) -> Option<u64> {
        self.steps
    }
}

/// Judges the first candidate as the best.
fn first_is_best(candidates: &[Candidate<'_>]) -> Option<Verdict> {
    let hint = |at: usize| Hint::new(if at == 0 { 1.0 } else { 0.0 });
    Some(Verdict::new((0..candidates.len()).map(hint).collect(), |_| Hint::new(0.0)))
}

#[test]
fn a_long_text_is_long_although_it_is_known() {
    let text = "red green blue ".repeat(70_000);
    let candidates = [Candidate::new(&text, 210_000)];
    let judge = Lexical::new();
    assert!(judge.judge(&Question::new("Which green?"), &candidates).is_some());
    assert!(judge.steps(&candidates).unwrap() > 2_000_000);
}

#[tokio::test]
async fn a_judge_s_own_word_decides_where_it_runs() {
    for (steps, expected_here) in [(Some(0), true), (None, true), (Some(u64::MAX), false)] {
        let judge = Told { steps, ..Told::long(first_is_best) };
        let threads = Arc::clone(&judge.threads);
        let (sent, _) = call(&mut model(judge), talk("Cleo", 30)).await;
        assert!(sent.contains(&"The parcel of Cleo went to Lyon.".to_owned()), "{sent:?}");
        let threads = threads.lock().unwrap();
        assert_eq!(threads.len(), 1);
        assert_eq!(threads[0] == thread::current().id(), expected_here, "{steps:?}");
    }
}

#[tokio::test]
async fn a_judge_that_panics_off_the_executor_costs_its_call_the_relevance() {
    let (without, _) = call(&mut model(Told::long(|_| None)), talk("Dora", 30)).await;
    let (sent, selection) = call(&mut model(Told::long(|_| panic!("no"))), talk("Dora", 30)).await;
    assert_eq!(sent, without);
    let relevance = selection.report.relevance.unwrap();
    assert_eq!(relevance.problem.as_deref(), Some("panicked"));
    assert!(!relevance.asked);
}

#[tokio::test]
async fn what_a_judge_does_wrong_off_the_executor_is_reported_as_ever() {
    let (without, _) = call(&mut model(Told::long(|_| None)), talk("Emil", 30)).await;
    let too_few = |_: &[Candidate<'_>]| Some(Verdict::new(Vec::new(), |_| Hint::new(0.0)));
    let (sent, selection) = call(&mut model(Told::long(too_few)), talk("Emil", 30)).await;
    assert_eq!(sent, without);
    let problem = selection.report.relevance.unwrap().problem.unwrap();
    assert_eq!(problem, "gave 0 hints, expected one for each of 30 items");
}

#[test]
fn a_judge_that_is_cancelled_costs_its_call_the_relevance() {
    let gone = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let handle = gone.handle().clone();
    drop(gone);
    // A runtime that shuts down takes no work any more.
    let _entered = handle.enter();
    let mut model = model(Told::long(first_is_best));
    let asked = model.call(talk("Finn", 30));
    let mut context = std::task::Context::from_waker(futures::task::noop_waker_ref());
    let std::task::Poll::Ready(Ok((sent, selection))) =
        std::pin::pin!(asked).as_mut().poll(&mut context)
    else {
        panic!("the call is not over");
    };
    assert!(!sent.is_empty());
    let problem = selection.report.relevance.unwrap().problem;
    assert_eq!(problem.as_deref(), Some("was cancelled"));
}

#[test]
fn a_call_that_is_dropped_takes_its_waiting_judge_along() {
    let (runtime, release) = runtime_with_a_busy_blocking_thread();
    runtime.block_on(async {
        let judge = Told::long(first_is_best);
        let threads = Arc::clone(&judge.threads);
        let mut asked = Box::pin(model(judge).oneshot(talk("Gus", 30)));
        assert!(poll_immediate(&mut asked).await.is_none());
        drop(asked);
        drop(release);
        // Comes after the dropped one on the same thread.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert!(threads.lock().unwrap().is_empty());
    });
}

#[test]
fn without_a_runtime_the_judge_is_asked_at_once() {
    let mut context = std::task::Context::from_waker(futures::task::noop_waker_ref());
    let mut model = model(Told::long(first_is_best));
    let call = std::pin::pin!(model.call(talk("Hugo", 30)));
    let std::task::Poll::Ready(Ok((sent, _))) = call.poll(&mut context) else {
        panic!("the call is not over");
    };
    assert!(sent.contains(&"The parcel of Hugo went to Lyon.".to_owned()), "{sent:?}");
}

#[test]
fn a_pool_that_never_starts_the_judge_costs_its_call_the_relevance_and_no_hang() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let (release, busy) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    runtime.block_on(async {
        // The only thread of the pool is taken for as long as the calls last.
        let mut model = model(Told::long(first_is_best));
        for _ in 0..3 {
            let (sent, selection) = call(&mut model, talk("Ida", 30)).await;
            assert!(!sent.is_empty());
            let problem = selection.report.relevance.unwrap().problem;
            assert_eq!(problem.as_deref(), Some("did not start: the blocking pool is busy"));
        }
    });
    drop(release);
}
