//! Nothing of the content ever leaves: a marker goes into every text a user could put in, and is
//! looked for in every byte that is exported.

use std::convert::Infallible;
use std::future::ready;

use cupel::gather::Source;
use cupel::layer::ContextRequest;
use cupel::{
    ContextBudget, ContextItem, ContextKind, ContextSource, CupelError, ExclusionReason,
    GreedySlice, Pipeline, ScoredItem, Sliced, Slicer,
};
use cupel_otel::{CupelMetrics, CupelOtel, CupelVerbosity};
use futures::stream;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tower::{Layer, ServiceExt, service_fn};

use crate::otel::common::{VERBOSITIES, budget, ms, pipeline};
use crate::otel::stub::Stub;

const MARKER: &str = "xyzzy";

type Marked = ContextRequest<String>;

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
    ) -> Result<Sliced, CupelError> {
        let mut sliced = GreedySlice.slice(items, budget)?;
        let last = items.len() - 1;
        let reasons = [
            ExclusionReason::Unknown { reason: MARKER.to_owned() },
            ExclusionReason::Filtered { filter_name: MARKER.to_owned() },
        ];
        for (back, reason) in reasons.into_iter().enumerate() {
            sliced.indices.retain(|index| *index != last - back);
            sliced.exclusions.push((last - back, reason));
        }
        Ok(sliced)
    }
}

/// Sources that end in every way there is.
fn sources() -> Vec<Source<Marked>> {
    let failing = Source::list("failing", |_: &Marked| ready(Err::<Vec<_>, _>(MARKER)));
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
        panicking.optional(),
        hanging.deadline(ms(5)).optional(),
        Source::items("items", items).default_tags([MARKER]).optional(),
    ]
}

/// Makes one call, and answers with every byte that was exported and how the call went.
async fn exported(
    verbosity: CupelVerbosity,
    pipeline: Pipeline,
    sources: Vec<Source<Marked>>,
    streaming: bool,
) -> (Vec<Vec<u8>>, bool) {
    let stub = Stub::start();
    let tracers = SdkTracerProvider::builder().with_batch_exporter(stub.span_exporter()).build();
    let reader = PeriodicReader::builder(stub.metric_exporter()).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    let hook =
        CupelOtel::new(verbosity).tracer_provider(&tracers).metrics(CupelMetrics::of(&meters));
    let mut builder = cupel::layer::CupelLayer::builder()
        .adapter(cupel::layer::ContextRequestAdapter)
        .pipeline(pipeline)
        .budget(budget(100))
        .streaming(streaming)
        .hook(hook);
    for source in sources {
        builder = builder.source(source);
    }
    let model = service_fn(|request: Marked| async move { Ok::<_, Infallible>(request) });
    let asked = ContextRequest::new(MARKER.to_owned()).item(marked("question", 10, 1.0, true));
    let outcome = builder.build().unwrap().layer(model).oneshot(asked).await;
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

#[tokio::test]
async fn a_call_exports_no_content_at_any_verbosity() {
    for verbosity in VERBOSITIES {
        let pipeline = pipeline().slicer(Talkative).build().unwrap();
        let (bodies, succeeded) = exported(verbosity, pipeline, sources(), false).await;
        assert!(succeeded);
        // It is not for want of anything to tell.
        assert_unmarked(&bodies, &["panicked", "timed_out", "failed", "Deduplicated", "Unknown"]);
        assert_unmarked(&bodies, &["Filtered", "PinnedOverride", "NegativeTokens"]);
    }
}

#[tokio::test]
async fn a_streaming_call_exports_no_content_at_any_verbosity() {
    for verbosity in VERBOSITIES {
        let pipeline = pipeline().build().unwrap();
        let (bodies, succeeded) = exported(verbosity, pipeline, sources(), true).await;
        assert!(succeeded);
        assert_unmarked(&bodies, &["cupel.stage.place", "Deduplicated"]);
    }
}

#[tokio::test]
async fn errors_export_their_names_and_not_their_texts() {
    struct Refusing;
    impl Slicer for Refusing {
        fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<Sliced, CupelError> {
            Err(CupelError::SlicerConfig(MARKER.to_owned()))
        }
        fn name(&self) -> &str {
            MARKER
        }
    }
    struct Wrong;
    impl Slicer for Wrong {
        fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<Sliced, CupelError> {
            Ok(vec![99].into())
        }
        fn name(&self) -> &str {
            MARKER
        }
    }
    struct Panicking;
    impl Slicer for Panicking {
        fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<Sliced, CupelError> {
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
        let (bodies, succeeded) = exported(CupelVerbosity::Full, pipeline, Vec::new(), false).await;
        assert!(!succeeded);
        assert_unmarked(&bodies, &[name]);
    }
    let required = Source::list("required", |_: &Marked| ready(Err::<Vec<_>, _>(MARKER)));
    let pipeline = pipeline().build().unwrap();
    let (bodies, succeeded) = exported(CupelVerbosity::Full, pipeline, vec![required], false).await;
    assert!(!succeeded);
    assert_unmarked(&bodies, &["required", "failed"]);
}
