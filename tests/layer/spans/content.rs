//! Nothing of the content, of a request or of an error's text ever reaches a span or an event.

use std::convert::Infallible;
use std::future::ready;

use cupel::diagnostics::ExclusionReason;
use cupel::gather::Source;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::policy::Relevance;
use cupel::relevance::{Lexical, judge_fn};
use cupel::slicer::{BestFirstSlice, SliceResult};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, ContextKind, CupelError, Pipeline, Policy,
    ReflexiveScorer, ScoredItem, Slicer,
};
use futures::stream;
use tower::{Layer, Service, ServiceExt};

use crate::common::{Echo, Request, budget, layer, layer_with, ms, request};
use cupel_dev::recorder::Recorder;

/// In every text a user could put in.
const MARKER: &str = "xyzzy";

fn marked(name: &str, tokens: i64, hint: f64, pinned: bool) -> ContextItem {
    ContextItem::builder(format!("{MARKER} {name}"), tokens)
        // A kind that a program has made from a document.
        .kind(ContextKind::new(format!("{MARKER} of {name}")).unwrap())
        .tag(MARKER)
        .metadata_entry(MARKER, MARKER)
        .future_relevance_hint(hint)
        .pinned(pinned)
        .build()
        .unwrap()
}

/// Sources that end in every way there is.
fn sources() -> Vec<Source<Request>> {
    let failing = Source::list("failing", |_: &Request| ready(Err::<Vec<_>, _>(MARKER)));
    let panicking = Source::stream("panicking", |_: &Request| {
        stream::poll_fn(|_| -> std::task::Poll<Option<Result<_, Infallible>>> {
            panic!("{MARKER}")
        })
    });
    let hanging =
        Source::stream("hanging", |_: &Request| stream::pending::<Result<_, Infallible>>());
    let duplicates = [
        marked("same", 10, 0.9, false),
        marked("same", 10, 0.8, false),
        marked("wrong", -1, 0.5, false),
        marked("large", 5_000, 0.9, false),
        marked("displaced", 850, 0.9, false),
        marked("unpinned", 950, 0.9, true),
    ];
    vec![
        failing.optional(),
        panicking.optional(),
        hanging.deadline(ms(5)).optional(),
        Source::items("items", duplicates).default_tags([MARKER]).optional(),
    ]
}

fn assert_unmarked(recorder: &Recorder) {
    recorder.read(|recorded| {
        let spans = recorded.spans.iter().map(|span| (span.name, &span.fields));
        let events = recorded.events.iter().map(|event| (event.name, &event.fields));
        for (name, fields) in spans.chain(events) {
            assert!(!format!("{fields:?}").contains(MARKER), "{name}: {fields:?}");
            assert!(!name.contains(MARKER));
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_successful_call_shows_no_content() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let service = layer_with(sources()).build().unwrap().layer(Echo::default());
    let asked = ContextRequest::new(MARKER).item(marked("question", 200, 0.5, true));
    let sent = service.oneshot(asked).await.unwrap();
    assert_eq!(sent.len(), 2);
    assert_unmarked(&recorder);

    // The events are there: it is their fields that say nothing.
    recorder.read(|recorded| {
        let reasons: Vec<_> = recorded
            .events
            .iter()
            .filter(|event| event.name == "cupel.exclusion")
            .map(|event| format!("{:?}", event.fields["cupel.exclusion.reason"]))
            .collect();
        for reason in ["NegativeTokens", "Deduplicated", "BudgetExceeded", "PinnedOverride"] {
            assert!(reasons.iter().any(|r| r.contains(reason)), "{reason} not in {reasons:?}");
        }
        let included = recorded.events.iter().filter(|e| e.name == "cupel.item.included");
        assert_eq!(included.count(), 2);
        for event in &recorded.events {
            assert_eq!(event.target, "cupel");
            assert!(!event.fields.contains_key("message"));
            let within = match event.name {
                "cupel.selected" => "cupel.selection",
                "cupel.source.failed" => "cupel.selection > cupel.gather > cupel.source",
                _ => "cupel.selection > cupel.pipeline",
            };
            assert!(recorded.path(event.parent.unwrap()).starts_with(within));
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_shows_no_content() {
    for source in sources() {
        let (recorder, _guard) = Recorder::on_this_thread();
        let layer = layer_with([source.required()]).build().unwrap();
        let asked = ContextRequest::new(MARKER).item(marked("question", 200, 0.5, true));
        // Pinned items that do not fit are a failure of the selection, the others of a source.
        layer.layer(Echo::default()).oneshot(asked).await.unwrap_err();
        assert!(recorder.opened().contains(&"cupel.source"));
        assert_unmarked(&recorder);
    }
}

#[tokio::test]
async fn an_unknown_budget_shows_no_content() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let unknown =
        |_: &Request| -> Result<ContextBudget, cupel::gather::BoxError> { Err(MARKER.into()) };
    let layer = layer_with([]).budget(unknown).build().unwrap();
    layer.layer(Echo::default()).oneshot(request()).await.unwrap_err();
    assert_eq!(recorder.opened(), ["cupel.selection"]);
    assert_unmarked(&recorder);
}

/// Leaves everything out, for a reason in its own words.
struct Talkative;

impl Slicer for Talkative {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        _: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let reason = || ExclusionReason::unknown(format!("{MARKER} again"));
        let exclusions = (0..items.len()).map(|position| (position, reason())).collect();
        Ok(SliceResult { exclusions, ..SliceResult::default() })
    }
}

#[tokio::test]
async fn a_reason_in_somebodys_words_shows_nothing_of_them() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(Talkative)
        .placer(ChronologicalPlacer)
        .build()
        .unwrap();
    let layer = layer_with([]).pipeline(pipeline).build().unwrap();
    let asked = ContextRequest::new(MARKER).item(marked("left out", 1, 0.5, false));
    assert!(layer.layer(Echo::default()).oneshot(asked).await.unwrap().is_empty());
    assert_unmarked(&recorder);
    recorder.read(|recorded| {
        let mut events = recorded.events.iter();
        let fields = &events.find(|event| event.name == "cupel.exclusion").unwrap().fields;
        assert_eq!(fields["cupel.exclusion.reason"], "Unknown".into());
        assert_eq!(fields["cupel.exclusion.item_kind"], "Other".into());
    });
}

#[tokio::test]
async fn the_words_that_matched_are_in_the_report_and_in_no_span_or_event() {
    for streaming in [false, true] {
        let (recorder, _guard) = Recorder::on_this_thread();
        let policy = Policy::builder()
            .scorer(ReflexiveScorer)
            .slicer(BestFirstSlice)
            .placer(ChronologicalPlacer)
            .relevance(Relevance::new(Lexical::new()))
            .build()
            .unwrap();
        let found = ContextItem::new(format!("The {MARKER} is in the drawer."), 10).unwrap();
        let large = ContextItem::new(format!("No {MARKER}, no large one."), 5_000).unwrap();
        let layer = CupelLayer::builder()
            .adapter(ContextRequestAdapter)
            .policy(policy)
            .budget(budget(1_000))
            .source(Source::items("memory", [found.clone(), large.clone()]))
            .explain_scores(!streaming)
            .select_while_gathering(streaming)
            .build()
            .unwrap();
        let asked = ContextRequest::new(MARKER)
            .with_items([found, large])
            .question(format!("Where is the {MARKER}?"));
        let mut service = layer.with_report().layer(Echo::default());
        let call = service.ready().await.unwrap().call(asked);
        let (_, selection) = call.await.unwrap();
        let details = selection.report.included[0].item.matched_words();
        assert_eq!(details.collect::<Vec<_>>(), [MARKER]);
        assert!(selection.report.relevance.unwrap().asked);
        assert!(recorder.opened().contains(&"cupel.pipeline"));
        assert_unmarked(&recorder);
    }
}

#[tokio::test]
async fn a_judge_that_panics_shows_no_content() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let judge = judge_fn(MARKER, |question, _| panic!("{}", question.text()));
    let layer = layer().relevance(Relevance::new(judge)).build().unwrap();
    let asked = ContextRequest::new(MARKER)
        .item(marked("left out", 1, 0.5, false))
        .question(format!("Where is the {MARKER}?"));
    layer.layer(Echo::default()).oneshot(asked).await.unwrap();
    assert_unmarked(&recorder);
}
