//! Exported counts are those of the request that was sent: they are taken after it is built.

use std::convert::Infallible;
use std::future::ready;

use cupel::gather::{BoxError, Source};
use cupel::layer::{
    ContextAdapter, CupelLayer, CupelLayerBuilder, Edits, RefusedItem, RequestFacts, Selection,
    Split, Strategy,
};
use cupel::{ContextBudget, ContextItem};
use cupel_otel::{CupelOtel, CupelVerbosity};
use opentelemetry::Value;
use opentelemetry_sdk::trace::SpanData;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::otel::common::{
    Exported, VERBOSITIES, arriving, budget, candidates, document, ms, pipeline,
};
use crate::otel::metrics::{Measured, Series};

type Items = Vec<ContextItem>;

/// A request for a model, of which the first item is refused, and the last that is selected is
/// withdrawn.
#[derive(Clone, Copy)]
struct Fussy {
    joins: bool,
}

impl ContextAdapter<Items> for Fussy {
    type Rest = ();

    fn facts<'a>(&'a self, _: &'a Items) -> RequestFacts<'a> {
        RequestFacts::new(Some("a-model"))
    }

    fn split(&self, mut items: Items, _: Strategy) -> Result<Split<()>, BoxError> {
        let first = if items.is_empty() { return Err("no items".into()) } else { items.remove(0) };
        let last = items.iter().position(|item| item.content() == "b");
        let mut split = Split::new(items, 7, ());
        // What it needs is never there.
        split.needs.extend(last.map(|last| (last, usize::MAX)));
        split.refused = vec![RefusedItem { item: first, why: "a secret reason".to_owned() }];
        Ok(split)
    }

    fn join(&self, (): (), edits: &mut Edits) -> Result<Items, BoxError> {
        let items = edits.placed.drain(..).map(|placed| placed.item).collect();
        if self.joins { Ok(items) } else { Err("cannot be joined".into()) }
    }
}

type Builder = CupelLayerBuilder<Items, Fussy>;

/// One of its candidates is larger than the budget, and has to be waited for.
fn layer(joins: bool) -> Builder {
    CupelLayer::builder()
        .adapter(Fussy { joins })
        .pipeline(pipeline().build().unwrap())
        .budget(budget(107))
        .source(arriving(vec![document("late", 500, 0.9)]))
}

/// All candidates: those of the request, and the one of the source.
fn total() -> usize {
    asked().len() + 1
}

/// An item to refuse, and the [`candidates`], of which `pin`, `a` and `b` are selected.
fn asked() -> Items {
    [document("refused", 3, 0.5)].into_iter().chain(candidates()).collect()
}

/// Request that the model got, if it was called.
async fn call(builder: Builder, hook: CupelOtel, request: Items) -> Option<Items> {
    let model = service_fn(|request: Items| ready(Ok::<_, Infallible>(request)));
    builder.hook(hook).build().unwrap().layer(model).oneshot(request).await.ok()
}

fn excluded(series: &Series) -> u64 {
    let excluded = series.iter().filter(|(name, _)| name.starts_with("cupel.items.excluded"));
    excluded.map(|(_, (count, _))| count).sum()
}

fn int(span: &SpanData, name: &str) -> i64 {
    let found = span.attributes.iter().find(|pair| pair.key.as_str() == name);
    match found.map(|pair| &pair.value) {
        Some(Value::I64(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

#[tokio::test]
async fn an_item_that_is_withdrawn_is_counted_once_as_filtered() {
    for streaming in [false, true] {
        for verbosity in VERBOSITIES {
            let measured = Measured::new();
            let hook = CupelOtel::new(verbosity).metrics(measured.metrics());
            let sent =
                call(layer(true).select_while_gathering(streaming), hook, asked()).await.unwrap();
            // `pin` of 10 and `a` of 40 tokens; `b` was selected and withdrawn.
            assert_eq!(sent.len(), 2);
            let series = measured.series();
            assert_eq!(series["cupel.items.included{}"].0, 2);
            assert_eq!(series["cupel.selection.tokens{}"], (1, 50.0));
            assert_eq!(series["cupel.budget.utilization{}"], (1, 0.5));
            let filtered = &series["cupel.items.excluded{cupel.exclusion.reason=Filtered}"];
            assert_eq!(filtered.0, 2);
            assert_eq!(2 + excluded(&series), total() as u64);
            // Reasons in the adapter's own words stay inside.
            assert!(series.keys().all(|name| !name.contains("secret")));
        }
    }
}

#[tokio::test]
async fn the_span_of_a_call_says_what_was_sent() {
    for streaming in [false, true] {
        for verbosity in VERBOSITIES {
            let exported = Exported::new();
            let hook = exported.hook(verbosity);
            let sent =
                call(layer(true).select_while_gathering(streaming), hook, asked()).await.unwrap();
            let span = exported.span("cupel.selection");
            assert_eq!(int(&span, "cupel.items.included"), sent.len() as i64);
            assert_eq!(int(&span, "cupel.items.excluded"), (total() - sent.len()) as i64);
            assert_eq!(int(&span, "cupel.tokens.fixed"), 7);
            assert_eq!(int(&span, "cupel.tokens.sent"), 10 + 40 + 7);
            assert_eq!(int(&span, "cupel.budget.max_tokens"), 107);
            assert_eq!(int(&exported.span("cupel.pipeline"), "cupel.budget.max_tokens"), 100);
            let model = span.attributes.iter().find(|p| p.key.as_str() == "gen_ai.request.model");
            assert_eq!(model.unwrap().value.as_str(), "a-model");
        }
    }
}

#[tokio::test]
async fn a_request_that_could_not_be_built_has_sent_nothing() {
    let measured = Measured::new();
    let exported = Exported::new();
    let hook = exported.hook(CupelVerbosity::Full).metrics(measured.metrics());
    assert!(call(layer(false), hook, asked()).await.is_none());
    let series = measured.series();
    assert_eq!(series["cupel.pipeline.duration{}"].0, 1);
    assert_eq!(series["cupel.selection.duration{error.type=Adapter}"].0, 1);
    assert!(!series.keys().any(|name| name.starts_with("cupel.items")), "{series:?}");
    let span = exported.span("cupel.selection");
    assert!(!span.attributes.iter().any(|pair| pair.key.as_str() == "cupel.items.included"));
}

#[tokio::test]
async fn calls_that_fail_before_the_pipeline_are_measured_by_their_error() {
    let unknown = |_: &Items| -> Result<ContextBudget, BoxError> { Err("which model?".into()) };
    let broken = Source::list("broken", |_: &Items| ready(Err::<Items, _>("no index")));
    let failing = [
        (layer(true).budget(unknown), asked(), "Budget"),
        (layer(true).budget(budget(6)), asked(), "FixedTokens"),
        (layer(true), Items::new(), "Adapter"),
        (layer(true).source(broken.required()), asked(), "Source"),
    ];
    for (builder, request, name) in failing {
        let measured = Measured::new();
        let exported = Exported::new();
        let hook = exported.hook(CupelVerbosity::StageOnly).metrics(measured.metrics());
        assert!(call(builder, hook, request).await.is_none());
        let series = measured.series();
        assert_eq!(series[&format!("cupel.selection.duration{{error.type={name}}}")].0, 1);
        assert!(!series.keys().any(|name| name.starts_with("cupel.pipeline")), "{name}");
        let span = exported.span("cupel.selection");
        assert_eq!(span.status, opentelemetry::trace::Status::error(name));
        // Which model it was for is known all the same.
        assert!(span.attributes.iter().any(|pair| pair.key.as_str() == "gen_ai.request.model"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cut_off_is_measured_as_cancelled() {
    let measured = Measured::new();
    let hook = CupelOtel::new(CupelVerbosity::StageOnly).metrics(measured.metrics());
    let hanging = Source::stream("hanging", |_: &Items| {
        futures::stream::pending::<Result<ContextItem, Infallible>>()
    });
    let cut_off = call(layer(true).source(hanging), hook, asked());
    tokio::time::timeout(ms(5), cut_off).await.unwrap_err();
    let series = measured.series();
    assert_eq!(series["cupel.selection.duration{error.type=Cancelled}"].0, 1);
    assert_eq!(series.len(), 1, "{series:?}");
}

#[tokio::test]
async fn the_report_agrees_with_the_counts() {
    for streaming in [false, true] {
        let model = service_fn(|request: Items| ready(Ok::<_, Infallible>(request)));
        let mut service = layer(true)
            .select_while_gathering(streaming)
            .build()
            .unwrap()
            .with_report()
            .layer(model);
        let service = ServiceExt::<Items>::ready(&mut service).await.unwrap();
        let (sent, selection): (Items, Selection) = service.call(asked()).await.unwrap();
        assert_eq!(selection.sent.items, sent.len());
        assert_eq!(selection.sent.items, selection.report.included.len());
        let candidates = selection.report.total_candidates;
        assert_eq!(selection.sent.left_out, candidates - sent.len());
    }
}
