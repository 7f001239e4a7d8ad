//! Budgets: fixed or computed, what comes off them, and what happens when there is none.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::gather::{BoxError, GatherReport, Source};
use cupel::layer::{ContextError, ContextRequest};
use cupel::{ContextBudget, CupelError};
use futures::stream;
use tower::Layer;

use crate::common::{
    Echo, Recorder, Request, budget, call, context_error, item, layer, pinned, relevant, report,
    request,
};

/// Counts how often a source is opened and how often its stream is polled.
#[derive(Clone, Default)]
struct Touched {
    opened: Arc<AtomicUsize>,
    polled: Arc<AtomicUsize>,
}

impl Touched {
    fn source(&self) -> Source<Request> {
        let Self { opened, polled } = self.clone();
        Source::stream("counted", move |_: &Request| {
            opened.fetch_add(1, Ordering::SeqCst);
            let polled = Arc::clone(&polled);
            stream::poll_fn(move |_| {
                polled.fetch_add(1, Ordering::SeqCst);
                std::task::Poll::Ready(None::<Result<_, CupelError>>)
            })
        })
    }

    fn counts(&self) -> (usize, usize) {
        (self.opened.load(Ordering::SeqCst), self.polled.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn an_unknown_budget_is_an_error_before_anything_is_gathered() {
    let touched = Touched::default();
    let hook = Recorder::default();
    let model = Echo::default();
    let by_model = |request: &Request| match request.payload {
        "model" => Ok(budget(100)),
        other => Err(BoxError::from(format!("no such model: {other}"))),
    };
    let layer = layer().budget(by_model).source(touched.source()).hook(hook.clone());
    let mut service = layer.build().unwrap().layer(model.clone());

    let error = context_error(call(&mut service, ContextRequest::new("gpt-9")).await);
    assert!(matches!(error, ContextError::Budget(_)));
    assert_eq!(error.to_string(), "the budget of the request is unknown: no such model: gpt-9");
    assert_eq!(error.source().unwrap().to_string(), "no such model: gpt-9");
    assert_eq!(touched.counts(), (0, 0));
    assert_eq!(model.calls(), 0);
    let failures = hook.failures.lock().unwrap().clone();
    assert_eq!(failures, [(error.to_string(), GatherReport::default())]);

    // The layer is none the worse for it, and the counter does count.
    call(&mut service, request()).await.unwrap();
    assert_eq!(touched.counts(), (1, 1));
}

#[tokio::test]
async fn each_request_has_the_budget_that_was_computed_for_it() {
    let by_payload = |request: &Request| {
        Ok(ContextBudget::builder(if request.payload == "small" { 10 } else { 50 }).build()?)
    };
    let mut service = layer().budget(by_payload).build().unwrap().layer(Echo::default());
    let items = || [relevant("a", 10, 0.9), relevant("b", 10, 0.8), relevant("c", 40, 0.7)];
    let small = ContextRequest::new("small").with_items(items());
    assert_eq!(call(&mut service, small).await.unwrap(), ["a"]);
    let large = ContextRequest::new("large").with_items(items());
    assert_eq!(call(&mut service, large).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn a_shared_budget_provider_works_like_a_budget() {
    let layer = layer().budget(Arc::new(budget(1)));
    let (sent, _) = report(layer, request().item(item("two tokens", 2))).await.unwrap();
    assert!(sent.is_empty());
}

#[tokio::test]
async fn fixed_tokens_come_off_the_budget() {
    let whole = ContextBudget::builder(100).output_reserve(10).target_tokens(80).build().unwrap();
    let candidates = || [relevant("thirty", 30, 0.9), relevant("thirty-one", 31, 0.8)];

    let free = request().with_items(candidates());
    let (sent, selection) = report(layer().budget(whole.clone()), free).await.unwrap();
    assert_eq!(sent, ["thirty", "thirty-one"]);
    assert_eq!((selection.fixed_tokens, &selection.budget), (0, &whole));

    let tools = request().with_items(candidates()).fixed_tokens(50);
    let (sent, selection) = report(layer().budget(whole), tools).await.unwrap();
    assert_eq!(sent, ["thirty"]);
    assert_eq!(selection.fixed_tokens, 50);
    let left = &selection.budget;
    assert_eq!((left.max_tokens(), left.target_tokens(), left.output_reserve()), (50, 30, 10));
}

#[tokio::test]
async fn fixed_tokens_keep_the_other_settings_of_the_budget() {
    let whole = ContextBudget::builder(1_000)
        .reserve_slot(cupel::ContextKind::document(), 7)
        .estimation_safety_margin_percent(5.0)
        .build()
        .unwrap();
    let (_, selection) =
        report(layer().budget(whole.clone()), request().fixed_tokens(100)).await.unwrap();
    assert_eq!(selection.budget.reserved_slots(), whole.reserved_slots());
    assert_eq!(selection.budget.estimation_safety_margin_percent(), 5.0);
}

#[tokio::test]
async fn fixed_tokens_beyond_the_target_leave_room_for_pinned_items_only() {
    let whole = ContextBudget::builder(100).target_tokens(50).build().unwrap();
    let proceed = cupel::Pipeline::builder()
        .scorer(cupel::ReflexiveScorer)
        .slicer(cupel::GreedySlice)
        .placer(cupel::ChronologicalPlacer)
        .overflow_strategy(cupel::OverflowStrategy::Proceed)
        .build()
        .unwrap();
    let layer = crate::common::layer().pipeline(proceed).budget(whole);
    let full = request().item(pinned("question", 40)).item(item("extra", 1)).fixed_tokens(60);
    let (sent, _) = report(layer, full).await.unwrap();
    assert_eq!(sent, ["question"]);
}

#[tokio::test]
async fn too_many_fixed_tokens_are_an_error() {
    let touched = Touched::default();
    let model = Echo::default();
    let whole = ContextBudget::builder(100).output_reserve(20).build().unwrap();
    let layer = layer().budget(whole).source(touched.source()).build().unwrap();
    let mut service = layer.layer(model.clone());

    call(&mut service, request().fixed_tokens(80)).await.unwrap();
    assert_eq!((touched.counts(), model.calls()), ((1, 1), 1));
    for fixed in [81, 101, i64::MAX] {
        let error = context_error(call(&mut service, request().fixed_tokens(fixed)).await);
        assert_eq!(
            error.to_string(),
            format!(
                "instructions, tools and formats take {fixed} tokens, but the budget of 100 tokens, \
                 20 of them kept for the answer (set by the budget), has 80 for the request; \
                 shorten them, reserve less for the answer, or use a larger window"
            ),
        );
    }
    // Sources are opened before the request is taken apart, but nothing of them runs.
    assert_eq!(touched.counts().1, 1);
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn negative_fixed_tokens_do_not_make_the_budget_larger() {
    for fixed in [-1, i64::MIN] {
        let outcome = report(layer().budget(budget(10)), request().fixed_tokens(fixed)).await;
        let error = context_error(outcome);
        assert!(matches!(error, ContextError::Adapter(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!(
                "the request could not be adapted: fixed_tokens must be at least 0, got {fixed}"
            ),
        );
    }
}

#[tokio::test]
async fn pinned_items_that_do_not_fit_are_an_error_of_the_selection() {
    let model = Echo::default();
    let mut service = layer().budget(budget(10)).build().unwrap().layer(model.clone());
    let error = context_error(call(&mut service, request().item(pinned("long", 11))).await);
    let ContextError::Pinned { error: problem, largest, .. } = &error else { panic!("{error}") };
    let expected = CupelError::PinnedExceedsBudget { pinned_tokens: 11, available_tokens: 10 };
    assert_eq!(*problem, expected);
    assert_eq!(*largest, [("an item of kind Message".to_owned(), 11)]);
    assert_eq!(
        error.to_string(),
        "Pinned items require 11 tokens, but only 10 are available of the budget of 10 tokens, 0 of \
         them kept for the answer (set by the budget); the largest: an item of kind Message (11 \
         tokens); shorten or unpin some of it, reserve less for the answer, or use a larger window"
    );
    assert_eq!(model.calls(), 0);
}

#[tokio::test]
async fn an_error_about_pinned_items_quotes_none_of_them() {
    let secretive = pinned("[1] the code is 4711: keep it", 11);
    let kind = cupel::ContextKind::new("kind 4711").unwrap();
    let secretive = [secretive.to_builder().kind(kind).build().unwrap(), secretive];
    for item in secretive {
        let error = context_error(report(layer().budget(budget(10)), request().item(item)).await);
        assert!(error.to_string().contains("the largest: an item of kind "), "{error}");
        assert!(!error.to_string().contains("4711"), "{error}");
    }
}

#[tokio::test]
async fn an_empty_budget_sends_an_empty_request() {
    let (sent, selection) =
        report(layer().budget(budget(0)), request().item(item("hello", 1))).await.unwrap();
    assert!(sent.is_empty());
    assert_eq!(selection.report.excluded.len(), 1);
}
