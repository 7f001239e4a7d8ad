//! The lines that a selection leaves in a log: one at INFO, a warning for each failed source, and more
//! for readers who want more.

use std::convert::Infallible;

use cupel::gather::Source;
use cupel::placer::UShapedPlacer;
use cupel::{GreedySlice, Pipeline, ReflexiveScorer};
use tower::{Layer, ServiceExt};
use tracing::Level;

use crate::common::{Echo, budget, layer_with, ms, pinned, relevant, request};
use cupel_dev::recorder::{Fields, Recorder, fields};

fn summaries(recorder: &Recorder) -> Vec<Fields> {
    told(recorder, Level::INFO)
}

/// The fields of our events at a level.
fn told(recorder: &Recorder, level: Level) -> Vec<Fields> {
    recorder.read(|recorded| {
        let events = recorded.events.iter();
        let ours = events.filter(|event| event.target == "cupel" && event.level == level);
        ours.map(|event| event.fields.clone()).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_layer_leaves_one() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let broken = Source::list("broken", |_: &crate::common::Request| async {
        Err::<[cupel::ContextItem; 0], _>("a text that must not be logged")
    });
    let hangs = Source::stream("hangs", |_: &crate::common::Request| {
        futures::stream::pending::<Result<cupel::ContextItem, Infallible>>()
    });
    let sources = [
        Source::items("quick", [relevant("a", 3, 0.9), relevant("b", 1_200, 0.8)]),
        broken.optional(),
        hangs.deadline(ms(5)).optional(),
    ];
    let service = layer_with(sources).build().unwrap().layer(Echo::default());
    service.oneshot(request().item(pinned("question", 2))).await.unwrap();
    let expected = fields([
        ("cupel.candidates", 3.into()),
        ("cupel.items.included", 2.into()),
        ("cupel.tokens.sent", 5.into()),
        ("cupel.budget.max_tokens", 1_000.into()),
        ("cupel.sources.late", 1.into()),
        ("cupel.sources.failed", 1.into()),
    ]);
    assert_eq!(summaries(&recorder), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_is_one_warning_with_its_name_and_outcome() {
    let failing = || {
        Source::list("broken", |_: &crate::common::Request| async {
            Err::<[cupel::ContextItem; 0], _>("a text that must not be logged")
        })
    };
    let hangs = Source::stream("hangs", |_: &crate::common::Request| {
        futures::stream::pending::<Result<cupel::ContextItem, Infallible>>()
    });
    let warning = |name: &str, outcome: &str| {
        fields([("cupel.source.name", name.into()), ("cupel.source.outcome", outcome.into())])
    };
    let (recorder, _guard) = Recorder::on_this_thread();
    let fine = Source::items("fine", [relevant("a", 3, 0.9)]).limit(1);
    let service = layer_with([failing(), hangs, fine]).build().unwrap().layer(Echo::default());
    service.oneshot(request()).await.unwrap();
    let expected = [warning("broken", "failed"), warning("hangs", "timed_out")];
    assert_eq!(told(&recorder, Level::WARN), expected);

    // Also where it fails the call.
    let (recorder, _guard) = Recorder::on_this_thread();
    let service = layer_with([failing().required()]).build().unwrap().layer(Echo::default());
    service.oneshot(request()).await.unwrap_err();
    assert_eq!(told(&recorder, Level::WARN), [warning("broken", "failed")]);
}

#[tokio::test]
async fn what_a_stage_left_out_is_a_number_at_debug_and_each_item_at_trace() {
    let items = || {
        let all = [("a", 3), ("a", 3), ("b", 1_200), ("c", 1_300), ("wrong", -1)];
        all.map(|(text, tokens)| relevant(text, tokens, 0.5))
    };
    let stages = [("classify", 1), ("score", 0), ("deduplicate", 1), ("slice", 2), ("place", 0)];
    let expected = stages.map(|(stage, count)| {
        fields([("cupel.stage.name", stage.into()), ("cupel.exclusion.count", count.into())])
    });
    for (level, single_items) in [(Level::DEBUG, 0), (Level::TRACE, 4)] {
        let (recorder, _guard) = Recorder::up_to(level);
        let service = layer_with([Source::items("rag", items())]).build().unwrap();
        service.layer(Echo::default()).oneshot(request()).await.unwrap();
        assert_eq!(told(&recorder, Level::DEBUG), expected);
        recorder.read(|recorded| {
            let events = recorded.events.iter();
            let single = events.filter(|event| event.name == "cupel.exclusion");
            assert_eq!(single.clone().count(), single_items);
            assert!(single.into_iter().all(|event| event.level == Level::TRACE));
            let mut counts = recorded.events.iter().filter(|event| event.level == Level::DEBUG);
            let classify = recorded.path(counts.next().unwrap().parent.unwrap());
            assert!(classify.ends_with("cupel.pipeline > cupel.stage.classify"), "{classify}");
        });
    }
    let (recorder, _guard) = Recorder::up_to(Level::INFO);
    let service = layer_with([Source::items("rag", items())]).build().unwrap();
    service.layer(Echo::default()).oneshot(request()).await.unwrap();
    assert_eq!(told(&recorder, Level::DEBUG), []);
}

#[test]
fn so_does_a_run_of_a_pipeline_and_a_dry_run_does_not() {
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .build()
        .unwrap();
    let items = [relevant("a", 3, 0.9), relevant("b", 400, 0.8)];
    let (recorder, _guard) = Recorder::on_this_thread();
    pipeline.dry_run(&items, &budget(100)).unwrap();
    assert!(summaries(&recorder).is_empty());
    pipeline.run(&items, &budget(100)).unwrap();
    let summaries = summaries(&recorder);
    assert_eq!(summaries.len(), 1);
    assert_eq!(summaries[0]["cupel.tokens.sent"], 3.into());
}
