//! Judges that have to be waited for, in front of a service.

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cupel::gather::{BoxError, GatherReport, JudgeReport, Source, SourceOutcome};
use cupel::layer::{
    AsyncJudge, ContextError, ContextRequest, ContextRequestAdapter, CupelLayer, CupelLayerBuilder,
    Selection, SelectionHook, WaitingJudge,
};
use cupel::placer::UShapedPlacer;
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Lexical, Question};
use cupel::slicer::BestFirstSlice;
use cupel::{ContextBudget, ContextItem, Policy, ReflexiveScorer};
use futures::StreamExt as _;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

type Request = ContextRequest<()>;
type Builder = CupelLayerBuilder<Request, ContextRequestAdapter>;

/// Behaviour of a judge.
#[derive(Clone, Copy)]
enum Does {
    Answers,
    /// A little more or less each time.
    Wavers,
    After(Duration),
    /// Answers the first batch, and no other.
    Once,
    Never,
    Fails,
    /// With an error whose text panics.
    FailsSilently,
    /// With an error that panics when it is dropped.
    FailsTwice,
    Panics,
    PanicsLater,
    /// One answer too few.
    Short,
    /// For the first text.
    Gives(f64),
}

/// Knows that an automobile is a car.
struct Model {
    does: Does,
    /// The texts of each batch.
    asked: Arc<Mutex<Vec<Vec<String>>>>,
    calls: AtomicUsize,
}

#[async_trait]
impl AsyncJudge for Model {
    async fn judge(
        &self,
        _: &Question,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<f64>, BoxError> {
        let texts = candidates.iter().map(|candidate| candidate.text.to_owned()).collect();
        self.asked.lock().unwrap().push(texts);
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let close = |candidate: &Candidate<'_>| {
            if candidate.text.contains("automobile") { 1.0 } else { 0.1 }
        };
        let mut answers: Vec<f64> = candidates.iter().map(close).collect();
        match self.does {
            Does::Answers => tokio::task::yield_now().await,
            Does::Wavers => {
                answers.iter_mut().for_each(|answer| *answer += 0.001 - 0.002 * call as f64);
            }
            Does::After(time) => tokio::time::sleep(time).await,
            Does::Once if call == 0 => {}
            Does::Once | Does::Never => pending().await,
            Does::Fails => return Err("no quota left".into()),
            Does::FailsSilently => return Err(Box::new(Awkward { shown: false })),
            Does::FailsTwice => return Err(Box::new(Awkward { shown: true })),
            Does::Panics => panic!("no"),
            Does::PanicsLater => {
                tokio::task::yield_now().await;
                panic!("not now either")
            }
            Does::Short => drop(answers.pop()),
            Does::Gives(answer) => answers[0] = answer,
        }
        answers.iter_mut().for_each(|answer| {
            if answer.is_finite() && *answer < 1.5 {
                *answer = answer.clamp(0.0, 1.0);
            }
        });
        Ok(answers)
    }

    fn name(&self) -> &str {
        "model"
    }
}

/// An error that panics when it is shown, or when it is dropped.
#[derive(Debug)]
struct Awkward {
    shown: bool,
}

impl std::fmt::Display for Awkward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        assert!(self.shown, "no words");
        f.write_str("no model")
    }
}

impl Drop for Awkward {
    fn drop(&mut self) {
        assert!(!self.shown || std::thread::panicking(), "dropped");
    }
}

impl std::error::Error for Awkward {}

fn model(does: Does) -> Model {
    Model { does, asked: Arc::default(), calls: AtomicUsize::new(0) }
}

fn item(text: &str, tokens: i64) -> ContextItem {
    ContextItem::new(text, tokens).unwrap()
}

/// The best first, by the hint alone.
fn layer(budget: i64) -> Builder {
    let policy = Policy::builder()
        .scorer(ReflexiveScorer)
        .slicer(BestFirstSlice)
        .placer(UShapedPlacer)
        .relevance(Relevance::new(Lexical::new()))
        .build()
        .unwrap();
    CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(policy)
        .budget(ContextBudget::builder(budget).build().unwrap())
}

/// Small talk, in which something answers in other words than the question's.
fn talk() -> Request {
    let mut request = ContextRequest::new(());
    for number in 0..20 {
        request = request.item(item(&format!("small talk {number}"), 10));
    }
    let request = request.item(item("We have an automobile for hire.", 10));
    let question = ContextItem::builder("Where can I rent a car?", 8).pinned(true);
    request.item(question.build().unwrap())
}

/// Sends a request, and returns the sent items and the selection.
async fn send(layer: Builder, request: Request) -> (Vec<String>, Selection) {
    let model = service_fn(|request: Request| async move {
        let texts = request.items().map(|item| item.content().to_owned());
        Ok::<_, Infallible>(texts.collect::<Vec<_>>())
    });
    let mut model =
        ServiceBuilder::new().layer(layer.build().unwrap().with_report()).service(model);
    model.ready().await.unwrap().call(request).await.unwrap()
}

fn judge_of(selection: &Selection) -> &JudgeReport {
    selection.gather.judge.as_ref().expect("a judge that was asked")
}

fn hint(selection: &Selection, text: &str) -> f64 {
    let report = &selection.report;
    let included = report.included.iter().map(|it| &it.item);
    let mut all = included.chain(report.excluded.iter().map(|it| &it.item));
    all.find(|item| item.content().contains(text)).unwrap().future_relevance_hint().unwrap()
}

#[tokio::test(start_paused = true)]
async fn it_finds_what_words_miss() {
    let (without, _) = send(layer(20), talk()).await;
    assert!(!without.iter().any(|text| text.contains("automobile")), "{without:?}");

    let (sent, selection) =
        send(layer(20).waiting_judge(WaitingJudge::new(model(Does::Answers))), talk()).await;
    assert!(sent.iter().any(|text| text.contains("automobile")), "{sent:?}");
    let report = judge_of(&selection);
    assert_eq!((&*report.name, report.texts, report.judged), ("model", 21, 21));
    assert_eq!(report.outcome, SourceOutcome::Completed);
    let text = selection.explain().text().to_string();
    assert!(text.contains("judge model: completed, 21 of 21 texts judged"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn whatever_it_does_wrong_costs_its_call_that_part_and_nothing_else() {
    let (without, plain) = send(layer(40), talk()).await;
    assert_eq!(plain.gather.judge, None);
    let failed = |error: &str| SourceOutcome::Failed { error: error.to_owned() };
    let panicked = |message: &str| SourceOutcome::Panicked { message: message.to_owned() };
    let cases = [
        (Does::Never, SourceOutcome::TimedOut),
        (Does::After(Duration::from_secs(60)), SourceOutcome::TimedOut),
        (Does::Fails, failed("no quota left")),
        (Does::FailsSilently, panicked("no words")),
        (Does::FailsTwice, failed("no model")),
        (Does::Panics, panicked("no")),
        (Does::PanicsLater, panicked("not now either")),
        (Does::Short, failed("gave 20 hints, expected one for each of 21 texts")),
    ];
    for streaming in [false, true] {
        for (does, outcome) in &cases {
            let begun = tokio::time::Instant::now();
            let layer = layer(40).waiting_judge(WaitingJudge::new(model(*does)));
            let layer = layer.select_while_gathering(streaming);
            let (sent, selection) = send(layer, talk()).await;
            assert_eq!(sent, without, "{outcome}");
            let report = judge_of(&selection);
            assert_eq!((&report.outcome, report.judged), (outcome, 0));
            assert!(begun.elapsed() <= WaitingJudge::DEFAULT_DEADLINE + Duration::from_millis(2));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_number_from_0_to_1_is_not_believed_and_the_others_are() {
    for (answer, shown) in [(f64::NAN, "NaN"), (7.0, "7"), (f64::INFINITY, "inf")] {
        let waiting = WaitingJudge::new(model(Does::Gives(answer)));
        let (sent, selection) = send(layer(20).waiting_judge(waiting), talk()).await;
        assert!(sent.iter().any(|text| text.contains("automobile")), "{sent:?}");
        let report = judge_of(&selection);
        assert_eq!((report.texts, report.judged), (21, 20));
        let error = format!("gave a hint of {shown}, expected a number from 0 to 1");
        assert_eq!(report.outcome, SourceOutcome::Failed { error });
        assert_eq!(hint(&selection, "small talk 0"), 0.0, "the words' hint stays");
    }
}

#[tokio::test(start_paused = true)]
async fn it_waits_no_longer_than_the_gather_deadline() {
    let begun = tokio::time::Instant::now();
    let waiting = WaitingJudge::new(model(Does::Never)).deadline(Duration::from_secs(60));
    let layer = layer(40).waiting_judge(waiting).gather_deadline(Duration::from_millis(100));
    let (_, selection) = send(layer, talk()).await;
    assert_eq!(judge_of(&selection).outcome, SourceOutcome::TimedOut);
    assert!(begun.elapsed() <= Duration::from_millis(102));
}

#[tokio::test(start_paused = true)]
async fn its_weight_is_its_share_in_the_hint() {
    let value = |weight| async move {
        let waiting = WaitingJudge::new(model(Does::Answers)).weight(weight).steps(None);
        let request = ContextRequest::new(())
            .item(item("A car to rent.", 5))
            .item(item("We have an automobile for hire.", 5))
            .question("Where can I rent a car?");
        let (_, selection) = send(layer(100).waiting_judge(waiting), request).await;
        (hint(&selection, "A car"), hint(&selection, "automobile"))
    };
    let (words, none) = value(0.0).await;
    assert!(words > 0.2, "{words}");
    let (car, automobile) = value(0.25).await;
    assert!((car - (words * 0.75 + 0.1 * 0.25)).abs() < 1e-12);
    assert!((automobile - (none * 0.75 + 0.25)).abs() < 1e-12);
    assert_eq!(value(1.0).await, (0.1, 1.0), "in the place of the words");
}

#[tokio::test(start_paused = true)]
async fn it_sees_only_what_competes_and_has_no_hint_of_its_own() {
    let judge = model(Does::Answers);
    let asked = Arc::clone(&judge.asked);
    let pinned = ContextItem::builder("secret rules", 5).pinned(true).build().unwrap();
    let known = ContextItem::builder("a passage", 5).future_relevance_hint(0.3).build().unwrap();
    let request = ContextRequest::new(()).item(pinned).item(item("hm", 5)).item(known.clone());
    let request = request.item(item("well", 5)).question("Where can I rent a car?");
    let source = Source::items("rag", vec![known, item("found", 5)]);
    let layer = layer(100).waiting_judge(WaitingJudge::new(judge)).source(source);
    let (sent, selection) = send(layer, request).await;
    assert_eq!(asked.lock().unwrap().concat(), ["hm", "well", "found"]);
    assert_eq!(hint(&selection, "a passage"), 0.3);
    assert_eq!(sent.len(), 5, "the passage once");
}

#[tokio::test(start_paused = true)]
async fn a_retriever_s_hint_is_mixed_with_both_judges_where_the_policy_says_so() {
    let relevance = Relevance::new(Lexical::new()).blend(0.5);
    let known = ContextItem::builder("automobile", 5).future_relevance_hint(0.3).build().unwrap();
    let request = ContextRequest::new(()).item(known).question("Where can I rent a car?");
    let waiting = WaitingJudge::new(model(Does::Answers)).weight(0.5);
    let layer = layer(100).relevance(relevance).waiting_judge(waiting);
    let (_, selection) = send(layer, request).await;
    // Half of 0.3, and half of the mean of 0 and 1.
    assert!((hint(&selection, "automobile") - 0.4).abs() < 1e-12);
}

#[tokio::test(start_paused = true)]
async fn a_question_without_words_to_go_by_leaves_it_alone() {
    let judge = model(Does::Answers);
    let asked = Arc::clone(&judge.asked);
    let layer = layer(40).waiting_judge(WaitingJudge::new(judge));
    let (_, selection) = send(layer, talk().question("?!")).await;
    assert_eq!(selection.gather.judge, None);
    assert!(asked.lock().unwrap().is_empty());
}

/// A source that yields its items one by one, each after some time.
fn slow(every: Duration) -> Source<Request> {
    let texts = ["an old automobile", "x", "a car", "another automobile", "a small one", "y"];
    Source::stream("archive", move |_: &Request| {
        futures::stream::iter(texts.into_iter().enumerate()).then(move |(at, text)| async move {
            tokio::time::sleep(every).await;
            ContextItem::new(text, 7 + at as i64)
        })
    })
}

#[tokio::test(start_paused = true)]
async fn streaming_gives_the_hints_and_the_selection_of_a_batch() {
    let ms = Duration::from_millis;
    let cases =
        [(Does::Answers, ms(10)), (Does::After(ms(25)), ms(10)), (Does::After(ms(5)), ms(1))];
    for (does, every) in cases {
        for budget in [15, 40, 77, 300] {
            let settings = || {
                let judge = model(does);
                let asked = Arc::clone(&judge.asked);
                (layer(budget).waiting_judge(WaitingJudge::new(judge)).source(slow(every)), asked)
            };
            let (batch, batches) = settings();
            let (batch_sent, batch) = send(batch, talk()).await;
            let (streamed, _) = settings();
            let (sent, streamed) = send(streamed.select_while_gathering(true), talk()).await;
            assert!(streamed.stream.is_some() && batch.stream.is_none());
            assert_eq!(sent, batch_sent);
            let hints = |selection: &Selection| -> Vec<(String, Option<f64>)> {
                let items = selection.report.included.iter().map(|it| &it.item);
                items.map(|it| (it.content().to_owned(), it.future_relevance_hint())).collect()
            };
            assert_eq!(hints(&streamed), hints(&batch));
            assert_eq!(judge_of(&streamed).judged, 27);
            let batches = batches.lock().unwrap();
            assert!(batches.len() > 1 && batches.iter().all(|batch| !batch.is_empty()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_it_has_judged_before_it_was_late_stays_judged() {
    for streaming in [false, true] {
        let waiting = WaitingJudge::new(model(Does::Once)).weight(0.5);
        let layer = layer(200).waiting_judge(waiting);
        let layer = layer.source(slow(Duration::from_millis(10))).select_while_gathering(streaming);
        let (_, selection) = send(layer, talk()).await;
        let report = judge_of(&selection);
        assert_eq!((&report.outcome, report.judged), (&SourceOutcome::TimedOut, 21));
        assert_eq!(hint(&selection, "for hire"), 0.5);
        assert_eq!(hint(&selection, "old automobile"), 0.0);
        assert_eq!(selection.gather.source("archive").unwrap().items, 6);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_waver_are_rounded_to_the_same_step() {
    let judge = Arc::new(model(Does::Wavers));
    let mut hints = Vec::new();
    for _ in 0..2 {
        let waiting = WaitingJudge::new(Arc::clone(&judge)).weight(0.5);
        let (_, selection) = send(layer(400).waiting_judge(waiting), talk()).await;
        hints.push([hint(&selection, "automobile"), hint(&selection, "talk 3")]);
    }
    assert_eq!(hints[0], hints[1]);
    assert_eq!(hints[0], [0.5, 0.5 * 3.0 / 32.0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_or_is_dropped_lets_go_of_it() {
    struct Note(Arc<Mutex<Option<GatherReport>>>);
    impl SelectionHook for Note {
        fn on_failure(&self, _: &ContextError, gather: &GatherReport) {
            *self.0.lock().unwrap() = Some(gather.clone());
        }
    }
    let seen = Arc::default();
    let broken = Source::list("rag", |_: &Request| async { Err::<Vec<ContextItem>, _>("broken") });
    let judge = Arc::new(model(Does::Never));
    let layer = layer(40).waiting_judge(WaitingJudge::new(Arc::clone(&judge)));
    let layer = layer.source(broken.required()).hook(Note(Arc::clone(&seen))).build().unwrap();
    let echo = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let mut service = ServiceBuilder::new().layer(layer).service(echo);
    service.ready().await.unwrap().call(talk()).await.unwrap_err();
    let report = seen.lock().unwrap().take().unwrap().judge.unwrap();
    assert_eq!(report.outcome, SourceOutcome::Abandoned);
    drop(service);
    assert_eq!(Arc::strong_count(&judge), 1, "its work was dropped with the call");
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let refused =
        |waiting: WaitingJudge| layer(40).waiting_judge(waiting).build().unwrap_err().to_string();
    let judge = || WaitingJudge::new(model(Does::Answers));
    let weight = refused(judge().weight(1.5));
    assert!(weight.contains("has a weight of 1.5, expected a number from 0 to 1"), "{weight}");
    assert!(refused(judge().weight(f64::NAN)).contains("a weight of NaN"));
    let zero = refused(judge().deadline(Duration::ZERO));
    assert!(zero.contains("\"model\" has a deadline of zero; give it time"), "{zero}");
    let steps = refused(judge().steps(0));
    assert!(steps.contains("is rounded to 0 steps, expected at least 1"), "{steps}");
    let alone = layer(40).relevance(None).waiting_judge(judge()).build().unwrap_err().to_string();
    assert!(alone.contains("needs a policy with a judge of its own"), "{alone}");
}

#[test]
fn judges_that_wait_go_between_threads() {
    fn shared<T: Send + Sync + std::fmt::Debug>() {}
    shared::<WaitingJudge>();
    shared::<Arc<dyn AsyncJudge>>();
    shared::<JudgeReport>();
}
