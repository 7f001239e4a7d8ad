//! Whatever the sources and however they interleave, streaming sends what a batch sends.

use cupel::layer::{ContextRequest, CupelLayerBuilder};
use cupel::placer::UShapedPlacer;
use cupel::{
    ContextBudget, ContextItem, ContextKind, GreedySlice, OverflowStrategy, Pipeline,
    ReflexiveScorer,
};
use proptest::prelude::*;

use crate::support::{Recounting, Request, send, timetable};

#[derive(Debug, Clone)]
struct Case {
    own: Vec<ContextItem>,
    sources: Vec<Vec<(u64, ContextItem)>>,
    max: i64,
    target: i64,
    reserve: i64,
    margin: f64,
    deduplication: bool,
    /// Tokens that the adapter adds to a source's item.
    overhead: i64,
}

/// Few distinct scores and contents, so that ties and duplicates are common.
fn items(pinned_share: u32) -> impl Strategy<Value = ContextItem> {
    let pin = prop::bool::weighted(f64::from(pinned_share) / 100.0);
    (0_u8..12, 0_u8..5, pin, prop::bool::weighted(0.05)).prop_map(|(text, hint, pinned, bad)| {
        // Equal contents have equal tokens, as one tokenizer would count them.
        let tokens = if bad { -3 } else { i64::from(text % 7) * 3 };
        ContextItem::builder(format!("text {text}"), tokens)
            .kind(if text % 2 == 0 { ContextKind::document() } else { ContextKind::message() })
            .future_relevance_hint(f64::from(hint) / 4.0)
            .pinned(pinned)
            .build()
            .unwrap()
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let source = prop::collection::vec((0_u64..20, items(4)), 0..12);
    (
        prop::collection::vec(items(10), 0..8),
        prop::collection::vec(source, 0..5),
        (40_i64..90, 0_i64..=40, 0_i64..=20),
        prop::sample::select(vec![0.0, 10.0]),
        any::<bool>(),
        prop::sample::select(vec![0, 0, 2, 7, -1]),
    )
        .prop_map(|(own, sources, (max, below, reserve), margin, deduplication, overhead)| {
            Case {
                own,
                sources,
                max,
                target: max - below,
                reserve,
                margin,
                deduplication,
                overhead,
            }
        })
}

fn builder(case: &Case, streaming: bool) -> CupelLayerBuilder<Request, Recounting> {
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .overflow_strategy(OverflowStrategy::Truncate)
        .deduplication(case.deduplication)
        .build()
        .unwrap();
    let budget = ContextBudget::builder(case.max)
        .target_tokens(case.target)
        .output_reserve(case.reserve)
        .estimation_safety_margin_percent(case.margin)
        .build()
        .unwrap();
    let mut builder = cupel::layer::CupelLayer::builder()
        .adapter(Recounting(case.overhead))
        .pipeline(pipeline)
        .budget(budget)
        .select_while_gathering(streaming);
    for (number, items) in case.sources.iter().enumerate() {
        let source = timetable(&format!("source {number}"), items.clone());
        // Pins of every second source may be lifted.
        builder = builder.source(if number % 2 == 0 { source.required() } else { source });
    }
    builder
}

fn request(case: &Case) -> Request {
    ContextRequest::new(()).with_items(case.own.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn streaming_sends_what_a_batch_sends(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let batch = send(builder(&case, false), request(&case)).await;
            let stream = send(builder(&case, true), request(&case)).await;
            match (batch, stream) {
                (Ok((batch, batch_report)), Ok((stream, stream_report))) => {
                    prop_assert_eq!(batch, stream);
                    let scores = |s: &cupel::layer::Selection| {
                        let line = |i: &cupel::diagnostics::IncludedItem| (i.score, i.reason.clone());
                        s.report.included.iter().map(line).collect::<Vec<_>>()
                    };
                    prop_assert_eq!(scores(&batch_report), scores(&stream_report));
                    prop_assert_eq!(batch_report.report.total_candidates, stream_report.report.total_candidates);
                    prop_assert_eq!(
                        batch_report.report.total_tokens_considered,
                        stream_report.report.total_tokens_considered
                    );
                    // The sample is large enough for all of it here.
                    let left_out = |s: &cupel::layer::Selection| {
                        let mut all: Vec<String> = s
                            .report.excluded
                            .iter()
                            .map(|e| format!("{} {} {}", e.item.content(), e.score, e.reason))
                            .collect();
                        all.sort();
                        all
                    };
                    prop_assert_eq!(left_out(&batch_report), left_out(&stream_report));
                }
                (Err(batch), Err(stream)) => {
                    prop_assert!(batch.to_string().starts_with("Pinned items require"), "{batch}");
                    prop_assert_eq!(batch.to_string(), stream.to_string());
                }
                (batch, stream) => prop_assert!(false, "{batch:?} but {stream:?}"),
            }
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn an_optional_pin_makes_room_for_a_required_one_that_comes_later() {
    use crate::support::{layer, pinned};
    let builder = |streaming| {
        layer(100)
            .select_while_gathering(streaming)
            .source(timetable("memory", vec![(0, pinned("nice to have", 50))]).optional())
            .source(timetable("rules", vec![(10, pinned("must have", 60))]).required())
    };
    let (batch, _) = send(builder(false), ContextRequest::new(())).await.unwrap();
    let (stream, report) = send(builder(true), ContextRequest::new(())).await.unwrap();
    assert_eq!(batch, stream);
    assert_eq!(report.gather.source("memory").unwrap().pins_lifted, 1);
}
