//! The question in front of a service.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use cupel::gather::Source;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, CupelLayerBuilder};
use cupel::placer::UShapedPlacer;
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Judge, Lexical, Question, Verdict};
use cupel::slicer::BestFirstSlice;
use cupel::{ContextBudget, ContextItem, Policy, ReflexiveScorer, SelectionReport};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

type Request = ContextRequest<()>;
type Builder = CupelLayerBuilder<Request, ContextRequestAdapter>;

fn item(text: &str, tokens: i64) -> ContextItem {
    ContextItem::new(text, tokens).unwrap()
}

fn layer(policy: Policy, budget: i64) -> Builder {
    CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(policy)
        .budget(ContextBudget::builder(budget).build().unwrap())
}

/// Sends a request, and returns the sent items and the report.
async fn send(layer: Builder, request: Request) -> (Vec<String>, SelectionReport) {
    let seen = Arc::new(Mutex::new(None));
    let note = Arc::clone(&seen);
    let layer = layer.on_selection(move |selection: &cupel::Selection| {
        *note.lock().unwrap() = Some(selection.report.clone());
    });
    let model = service_fn(|request: Request| async move {
        let texts = request.items().map(|item| item.content().to_owned());
        Ok::<_, Infallible>(texts.collect::<Vec<_>>())
    });
    let mut model = ServiceBuilder::new().layer(layer.build().unwrap()).service(model);
    let sent = model.ready().await.unwrap().call(request).await.unwrap();
    let report = seen.lock().unwrap().take().unwrap();
    (sent, report)
}

fn talk() -> Request {
    let mut request = ContextRequest::new(()).item(item("The parcel went to Lyon.", 10));
    for number in 0..20 {
        request = request.item(item(&format!("small talk {number}"), 10));
    }
    let question = ContextItem::builder("Where did the parcel go?", 8).pinned(true);
    request.item(question.build().unwrap())
}

#[tokio::test]
async fn the_last_pinned_message_is_the_question() {
    let (sent, report) = send(layer(Policy::chat(), 40), talk()).await;
    assert!(sent.contains(&"The parcel went to Lyon.".to_owned()), "{sent:?}");
    let relevance = report.relevance.unwrap();
    assert!(relevance.asked);
    let parcel = report.included.iter().find(|it| it.item.content().contains("Lyon")).unwrap();
    assert_eq!(parcel.item.matched_words().collect::<Vec<_>>(), ["parcel"]);
}

#[tokio::test]
async fn a_question_can_be_given_and_relevance_turned_off() {
    let request = talk().question("And number 3?");
    let (sent, _) = send(layer(Policy::chat(), 40), request).await;
    assert!(sent.contains(&"small talk 3".to_owned()), "{sent:?}");
    let (sent, report) = send(layer(Policy::chat(), 40).relevance(None), talk()).await;
    assert!(!sent.contains(&"The parcel went to Lyon.".to_owned()), "{sent:?}");
    assert_eq!(report.relevance, None);
}

#[tokio::test]
async fn what_sources_bring_is_judged_by_the_request_s_statistics() {
    let found = vec![item("nothing of it", 10), item("parcels: Lyon, Monday", 10)];
    let layer = layer(Policy::chat(), 30).source(Source::items("archive", found));
    let request = ContextRequest::new(()).item(item("hm", 5)).question("Where is the parcel?");
    let (_, report) = send(layer, request).await;
    let hint = |text: &str| {
        let all = report.included.iter().map(|it| &it.item);
        let all = all.chain(report.excluded.iter().map(|it| &it.item));
        let mut all = all.filter(|item| item.content().contains(text));
        all.next().unwrap().future_relevance_hint().unwrap()
    };
    assert!(hint("Monday") > 0.3);
    assert_eq!(hint("nothing"), 0.0);
}

#[tokio::test]
async fn streaming_gives_the_hints_and_the_selection_of_a_batch() {
    let policy = || {
        Policy::builder()
            .scorer(ReflexiveScorer)
            .slicer(BestFirstSlice)
            .placer(UShapedPlacer)
            .relevance(Relevance::new(Lexical::new()))
            .build()
            .unwrap()
    };
    let texts = ["a parcel", "parcel and parcel to Lyon", "x", "Lyon", "a parcel of some size"];
    let source = || {
        let items = texts.iter().enumerate();
        let items: Vec<_> = items.map(|(at, text)| item(text, 7 + at as i64)).collect();
        Source::stream("archive", move |_: &Request| {
            let items = items.clone().into_iter().map(Ok::<_, cupel::gather::BoxError>);
            futures::StreamExt::then(futures::stream::iter(items), |item| async {
                tokio::task::yield_now().await;
                item
            })
        })
    };
    let batch = send(layer(policy(), 40).source(source()), talk()).await;
    let streamed = layer(policy(), 40).source(source()).select_while_gathering(true);
    let streamed = send(streamed, talk()).await;
    assert_eq!(batch.0, streamed.0);
    let hints = |report: &SelectionReport| -> Vec<Option<f64>> {
        report.included.iter().map(|it| it.item.future_relevance_hint()).collect()
    };
    assert_eq!(hints(&batch.1), hints(&streamed.1));
}

#[tokio::test]
async fn a_judge_that_panics_does_not_fail_the_call() {
    struct Panics;
    impl Judge for Panics {
        fn judge(&self, _: &Question, _: &[Candidate<'_>]) -> Option<Verdict> {
            panic!("no")
        }
    }
    let layer = layer(Policy::chat(), 40).relevance(Relevance::new(Panics));
    let (sent, report) = send(layer, talk()).await;
    assert!(sent.len() > 1);
    assert_eq!(report.relevance.unwrap().problem.as_deref(), Some("panicked"));
}
