//! Nothing of the content ever leaves: a marker goes into every text a user could put in, and is
//! looked for in every byte that is exported.

use std::convert::Infallible;
use std::future::ready;
use std::sync::{Arc, Mutex};

use cupel::diagnostics::ExclusionReason;
use cupel::error::ConfigError;
use cupel::gather::{BoxError, Source};
use cupel::layer::{
    ContextAdapter, ContextRequest, ContextRequestAdapter, CupelLayer, CupelLayerBuilder, Edits,
    RefusedItem, Selection, Split, Strategy,
};
use cupel::policy::Relevance;
use cupel::relevance::{Candidate, Judge, Lexical, Question, Verdict};
use cupel::slicer::{BestFirstSlice, SliceResult};
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, ContextKind, ContextSource, CupelError,
    GreedySlice, Policy, ReflexiveScorer, ScoredItem, Slicer,
};
use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};
use futures::stream;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{VERBOSITIES, budget, ms, pipeline};
use crate::otel::exporters::Exporters as _;
use cupel_dev_servers::collector::Collector;

const MARKER: &str = "xyzzy";

type Marked = ContextRequest<String>;
type Builder = CupelLayerBuilder<Marked, Wordy>;

fn marked(name: &str, tokens: i64, hint: f64, pinned: bool) -> ContextItem {
    ContextItem::builder(format!("{MARKER} {name}"), tokens)
        // A kind that a program has made from a document.
        .kind(ContextKind::new(format!("{MARKER} of {name}")).unwrap())
        .source(ContextSource::new(MARKER).unwrap())
        .tag(MARKER)
        .metadata_entry(MARKER, MARKER)
        .future_relevance_hint(hint)
        .pinned(pinned)
        .build()
        .unwrap()
}

/// Gives reasons in its own words for the worst items, and is greedy about the others.
struct Talkative;

impl Slicer for Talkative {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let mut sliced = GreedySlice.slice(items, budget)?;
        let last = items.len() - 1;
        let reasons = [
            ExclusionReason::unknown(MARKER),
            ExclusionReason::Filtered { filter_name: MARKER.to_owned() },
        ];
        for (back, reason) in reasons.into_iter().enumerate() {
            sliced.indices.retain(|index| *index != last - back);
            sliced.exclusions.push((last - back, reason));
        }
        Ok(sliced)
    }
}

/// Says what it refuses, what it cannot count and why it fails.
#[derive(Clone, Copy)]
enum Wordy {
    Works,
    FailsToSplit,
    FailsToJoin,
}

impl ContextAdapter<Marked> for Wordy {
    type Rest = <ContextRequestAdapter as ContextAdapter<Marked>>::Rest;

    fn split(&self, request: Marked, strategy: Strategy) -> Result<Split<Self::Rest>, BoxError> {
        if matches!(self, Self::FailsToSplit) {
            return Err(MARKER.into());
        }
        let mut split = ContextRequestAdapter.split(request, strategy)?;
        let item = marked("refused", 1, 0.5, false);
        split.refused = vec![RefusedItem { item, why: MARKER.to_owned() }];
        split.uncounted = vec![MARKER.to_owned()];
        Ok(split)
    }

    fn join(&self, rest: Self::Rest, edits: &mut Edits) -> Result<Marked, BoxError> {
        match self {
            Self::FailsToJoin => Err(MARKER.into()),
            _ => ContextRequestAdapter.join(rest, edits),
        }
    }
}

fn layer(adapter: Wordy) -> Builder {
    let builder = CupelLayer::builder().adapter(adapter).budget(budget(100));
    builder.pipeline(pipeline().build().unwrap())
}

/// Sources that end in every way there is.
fn sources() -> Vec<Source<Marked>> {
    let failing = Source::list("failing", |_: &Marked| ready(Err::<Vec<_>, _>(MARKER)));
    let breaking = Source::stream("breaking", |_: &Marked| {
        stream::iter([Ok(marked("early", 1, 0.2, false)), Err(MARKER)])
    });
    let panicking = Source::stream("panicking", |_: &Marked| {
        stream::poll_fn(|_| -> std::task::Poll<Option<Result<_, Infallible>>> {
            panic!("{MARKER}")
        })
    });
    let hanging =
        Source::stream("hanging", |_: &Marked| stream::pending::<Result<_, Infallible>>());
    let items = [
        marked("same", 10, 0.9, false),
        marked("same", 10, 0.8, false),
        marked("wrong", -1, 0.5, false),
        marked("large", 5_000, 0.9, false),
        marked("displaced", 95, 0.9, false),
        marked("unpinned", 950, 0.9, true),
        marked("filtered", 1, 0.1, false),
        marked("unheard of", 1, 0.0, false),
    ];
    vec![
        failing.optional(),
        breaking.optional(),
        panicking.optional(),
        hanging.deadline(ms(5)).optional(),
        Source::items("items", items).default_tags([MARKER]).optional(),
    ]
}

fn with_sources() -> Builder {
    sources().into_iter().fold(layer(Wordy::Works), Builder::source)
}

/// Makes one call, and answers with every byte that was exported and how the call went.
async fn exported(verbosity: CupelVerbosity, builder: Builder) -> (Vec<Vec<u8>>, bool) {
    let stub = Collector::start();
    let tracers = SdkTracerProvider::builder().with_batch_exporter(stub.span_exporter()).build();
    let reader = PeriodicReader::builder(stub.metric_exporter()).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    let hook =
        CupelOtel::new(verbosity).tracer_provider(&tracers).metrics(CupelMetrics::of(&meters));
    let model = service_fn(|request: Marked| async move { Ok::<_, Infallible>(request) });
    let asked = ContextRequest::new(MARKER.to_owned())
        .item(marked("question", 10, 1.0, true))
        .question(format!("Where is the {MARKER}?"));
    let outcome = builder.hook(hook).build().unwrap().layer(model).oneshot(asked).await;
    tracers.shutdown().unwrap();
    meters.shutdown().unwrap();
    (stub.bodies(), outcome.is_ok())
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn assert_unmarked(bodies: &[Vec<u8>], expected: &[&str]) {
    assert!(!bodies.is_empty());
    for text in expected {
        assert!(bodies.iter().any(|body| contains(body, text)), "{text} was not exported");
    }
    for body in bodies {
        assert!(!contains(body, MARKER), "{}", String::from_utf8_lossy(body));
    }
}

async fn assert_fails_as(expected: &[&str], builder: Builder) {
    let (bodies, succeeded) = exported(CupelVerbosity::Full, builder).await;
    assert!(!succeeded);
    assert_unmarked(&bodies, expected);
}

#[tokio::test]
async fn a_call_exports_no_content_at_any_verbosity() {
    for verbosity in VERBOSITIES {
        let builder = with_sources().pipeline(pipeline().slicer(Talkative).build().unwrap());
        let (bodies, succeeded) = exported(verbosity, builder).await;
        assert!(succeeded);
        // There was something to report.
        assert_unmarked(&bodies, &["panicked", "timed_out", "failed", "Deduplicated", "Unknown"]);
        assert_unmarked(&bodies, &["Filtered", "PinnedOverride", "NegativeTokens"]);
    }
}

#[tokio::test]
async fn a_streaming_call_exports_no_content_at_any_verbosity() {
    for verbosity in VERBOSITIES {
        let (bodies, succeeded) =
            exported(verbosity, with_sources().select_while_gathering(true)).await;
        assert!(succeeded);
        assert_unmarked(&bodies, &["cupel.stage.place", "Deduplicated", "Filtered"]);
    }
}

/// Uses the question, in a way that can be streamed.
fn by_relevance(judge: impl Judge + 'static) -> Builder {
    let policy = Policy::builder()
        .scorer(ReflexiveScorer)
        .slicer(BestFirstSlice)
        .placer(ChronologicalPlacer)
        .relevance(Relevance::new(judge))
        .build()
        .unwrap();
    CupelLayer::builder().adapter(Wordy::Works).budget(budget(100)).policy(policy)
}

#[tokio::test]
async fn the_words_that_matched_are_for_reports_and_are_not_exported() {
    for (verbosity, streaming) in VERBOSITIES.into_iter().flat_map(|v| [(v, false), (v, true)]) {
        let found = [
            ContextItem::new(format!("The {MARKER} is in the drawer."), 10).unwrap(),
            ContextItem::new(format!("No {MARKER}, no large one."), 5_000).unwrap(),
        ];
        let matched = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&matched);
        let builder = by_relevance(Lexical::new())
            .source(Source::items("memory", found))
            .select_while_gathering(streaming)
            .on_selection(move |selection: &Selection| {
                let report = &selection.report;
                let items = report.included.iter().map(|included| &included.item);
                let items = items.chain(report.excluded.iter().map(|excluded| &excluded.item));
                let words = items.flat_map(ContextItem::matched_words).map(str::to_owned);
                note.lock().unwrap().extend(words);
            });
        let (bodies, succeeded) = exported(verbosity, builder).await;
        assert!(succeeded);
        assert_eq!(*matched.lock().unwrap(), [MARKER, MARKER], "in the report they are");
        assert_unmarked(&bodies, &["cupel.pipeline", "memory"]);
    }
}

#[tokio::test]
async fn what_a_judge_says_when_it_fails_is_not_exported() {
    struct Panicking(u64);
    impl Judge for Panicking {
        fn judge(&self, question: &Question, _: &[Candidate<'_>]) -> Option<Verdict> {
            panic!("{}", question.text())
        }
        fn steps(&self, _: &[Candidate<'_>]) -> Option<u64> {
            Some(self.0)
        }
        fn name(&self) -> &str {
            MARKER
        }
    }
    // On the caller's task, and on the blocking pool.
    for steps in [0, u64::MAX] {
        let builder = by_relevance(Panicking(steps));
        let (bodies, succeeded) = exported(CupelVerbosity::Full, builder).await;
        assert!(succeeded);
        assert_unmarked(&bodies, &["cupel.pipeline"]);
    }
}

#[tokio::test]
async fn errors_export_their_names_and_not_their_texts() {
    struct Refusing;
    impl Slicer for Refusing {
        fn slice(
            &self,
            _: &[ScoredItem<'_>],
            _: &ContextBudget,
        ) -> Result<SliceResult, CupelError> {
            Err(CupelError::SlicerConfig(ConfigError::new(MARKER, MARKER, MARKER)))
        }
        fn name(&self) -> &str {
            MARKER
        }
    }
    struct Wrong;
    impl Slicer for Wrong {
        fn slice(
            &self,
            _: &[ScoredItem<'_>],
            _: &ContextBudget,
        ) -> Result<SliceResult, CupelError> {
            Ok(vec![99].into())
        }
        fn name(&self) -> &str {
            MARKER
        }
    }
    struct Panicking;
    impl Slicer for Panicking {
        fn slice(
            &self,
            _: &[ScoredItem<'_>],
            _: &ContextBudget,
        ) -> Result<SliceResult, CupelError> {
            panic!("{MARKER}")
        }
        fn steps(&self, _: usize, _: i64) -> u64 {
            u64::MAX // to the blocking pool, where a panic is an error of the call
        }
    }
    let refusing = pipeline().slicer(Refusing).build().unwrap();
    let wrong = pipeline().slicer(Wrong).build().unwrap();
    let panicking = pipeline().slicer(Panicking).build().unwrap();
    let runs = [(refusing, "SlicerConfig"), (wrong, "Contract"), (panicking, "Panicked")];
    for (pipeline, name) in runs {
        assert_fails_as(&[name], layer(Wordy::Works).pipeline(pipeline)).await;
    }
}

#[tokio::test]
async fn a_call_that_fails_around_the_pipeline_exports_no_text_either() {
    let required = Source::list("required", |_: &Marked| ready(Err::<Vec<_>, _>(MARKER)));
    let unknown = |_: &Marked| -> Result<ContextBudget, BoxError> { Err(MARKER.into()) };
    for streaming in [false, true] {
        let layer = |adapter| layer(adapter).select_while_gathering(streaming);
        let source = layer(Wordy::Works).source(required.clone().required());
        assert_fails_as(&["required", "failed", "Source"], source).await;
        assert_fails_as(&["Budget"], layer(Wordy::Works).budget(unknown)).await;
        assert_fails_as(&["Adapter"], layer(Wordy::FailsToSplit)).await;
        assert_fails_as(&["Adapter", "cupel.pipeline"], layer(Wordy::FailsToJoin)).await;
    }
}
