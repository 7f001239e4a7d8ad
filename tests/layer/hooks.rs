//! Hooks are told about every selection and every failure, with how gathering went.

use std::convert::Infallible;
use std::future::ready;
use std::sync::{Arc, Mutex};

use cupel::gather::{Source, SourceOutcome};
use cupel::layer::{ContextError, Selection, SelectionHook};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::common::{
    Echo, Recorder, Request, budget, call, context_error, item, layer, layer_with, pinned,
    relevant, request,
};

fn rag() -> Source<Request> {
    Source::items("rag", [relevant("passage", 5, 0.9), relevant("long passage", 50, 0.5)])
}

fn broken() -> Source<Request> {
    Source::list("broken", |_: &Request| ready(Err::<Vec<_>, _>("no index"))).required()
}

#[tokio::test]
async fn a_selection_is_told_with_its_report_its_sources_and_its_budget() {
    let hook = Recorder::default();
    let layer = layer_with([rag()]).budget(budget(20)).hook(hook.clone()).build().unwrap();
    let mut service = layer.layer(Echo::default());
    let sent = call(&mut service, request().item(pinned("question", 4)).fixed_tokens(3)).await;
    assert_eq!(sent.unwrap(), ["question", "passage"]);

    let selections = hook.selections.lock().unwrap();
    let [selection] = selections.as_slice() else { panic!("told {} times", selections.len()) };
    let contents: Vec<_> = selection.report.included.iter().map(|i| i.item.content()).collect();
    assert_eq!(contents, ["question", "passage"]);
    assert_eq!(selection.report.excluded[0].item.content(), "long passage");
    assert_eq!(selection.report.total_candidates, 3);
    let source = selection.gather.source("rag").unwrap();
    assert_eq!((source.items, source.tokens), (2, 55));
    assert_eq!(source.outcome, SourceOutcome::Completed);
    assert_eq!((selection.budget.max_tokens(), selection.fixed_tokens), (17, 3));
    assert!(hook.failures.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_failing_source_is_told_with_what_became_of_the_others() {
    let hook = Recorder::default();
    let layer = layer_with([rag(), broken()]).hook(hook.clone()).build().unwrap();
    let error = context_error(call(&mut layer.layer(Echo::default()), request()).await);
    let failures = hook.failures.lock().unwrap();
    let [(told, gather)] = failures.as_slice() else { panic!("told {} times", failures.len()) };
    assert_eq!(told, &error.to_string());
    assert_eq!(gather.source("rag").unwrap().outcome, SourceOutcome::Completed);
    let failed = SourceOutcome::Failed { error: "no index".to_owned() };
    assert_eq!(gather.source("broken").unwrap().outcome, failed);
    assert!(hook.selections.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_failing_selection_is_told_with_how_gathering_went() {
    let hook = Recorder::default();
    let layer = layer_with([rag()]).budget(budget(10)).hook(hook.clone()).build().unwrap();
    let asked = request().item(pinned("too long", 11));
    let error = context_error(call(&mut layer.layer(Echo::default()), asked).await);
    let failures = hook.failures.lock().unwrap();
    assert_eq!(failures[0].0, error.to_string());
    assert_eq!(failures[0].1.source("rag").unwrap().items, 2);
}

#[tokio::test]
async fn a_failing_model_is_no_failure_to_select() {
    let hook = Recorder::default();
    let model = service_fn(|_: Request| ready(Err::<(), _>("busy")));
    let layer = layer().hook(hook.clone()).build().unwrap();
    assert!(layer.layer(model).oneshot(request()).await.is_err());
    assert_eq!(hook.selections.lock().unwrap().len(), 1);
    assert!(hook.failures.lock().unwrap().is_empty());
}

/// Events in order.
type Log = Arc<Mutex<Vec<&'static str>>>;

#[tokio::test]
async fn hooks_are_told_in_their_order_before_the_model_is_called() {
    struct Named(Log);
    impl SelectionHook for Named {
        fn on_selection(&self, _: &Selection) {
            self.0.lock().unwrap().push("hook");
        }
    }
    let log = Log::default();
    let push = |what: &'static str| {
        let log = Arc::clone(&log);
        move || log.lock().unwrap().push(what)
    };
    let (first, called) = (push("closure"), push("model"));
    let layer = layer()
        .on_selection(move |_: &Selection| first())
        .hook(())
        .hook(Arc::new(Named(Arc::clone(&log))))
        .build()
        .unwrap();
    let model = service_fn(move |_: Request| {
        called();
        ready(Ok::<_, Infallible>(()))
    });
    layer.layer(model).oneshot(request()).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["closure", "hook", "model"]);
}

#[tokio::test]
async fn a_hook_can_tell_failures_apart() {
    struct OnlySources(Arc<Mutex<Vec<String>>>);
    impl SelectionHook for OnlySources {
        fn on_failure(&self, error: &ContextError, _: &cupel::gather::GatherReport) {
            if let ContextError::Source { name, .. } = error {
                self.0.lock().unwrap().push(name.to_string());
            }
        }
    }
    let names = Arc::default();
    let hook = OnlySources(Arc::clone(&names));
    let layer = layer_with([broken()]).hook(hook).build().unwrap();
    let mut service = layer.layer(Echo::default());
    call(&mut service, request()).await.unwrap_err();
    call(&mut service, request().fixed_tokens(i64::MAX)).await.unwrap_err();
    assert_eq!(*names.lock().unwrap(), ["broken"]);
}

#[tokio::test]
async fn the_report_beside_the_response_is_the_one_the_hook_was_told() {
    let hook = Recorder::default();
    let layer = layer_with([rag()]).budget(budget(20)).hook(hook.clone()).build().unwrap();
    let mut service = layer.with_report().layer(Echo::default());
    let asked = request().item(item("question", 4));
    let (response, selection) = service.ready().await.unwrap().call(asked).await.unwrap();
    assert_eq!(response, ["passage", "question"]);
    assert_eq!(*hook.selections.lock().unwrap(), [selection]);
}

#[tokio::test]
async fn the_report_beside_the_response_needs_no_hook() {
    let mut service = layer_with([rag()]).build().unwrap().with_report().layer(Echo::default());
    let (_, selection) = service.ready().await.unwrap().call(request()).await.unwrap();
    assert_eq!(selection.report.included.len(), 2);
    assert_eq!(selection.gather.sources.len(), 1);
    assert_eq!(selection.report.events.len(), 5);
}

#[tokio::test]
async fn a_call_with_report_fails_like_a_call() {
    let mut service = layer_with([broken()]).build().unwrap().with_report().layer(Echo::default());
    let error = context_error(service.ready().await.unwrap().call(request()).await);
    assert_eq!(error.to_string(), "required source \"broken\" failed: no index");

    let model = service_fn(|_: Request| ready(Err::<(), _>("busy")));
    let mut service = layer().build().unwrap().with_report().layer(model);
    let error = service.ready().await.unwrap().call(request()).await.unwrap_err();
    assert_eq!(error.into_inner(), Some("busy"));
}
