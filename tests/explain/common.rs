//! Selections to explain, the same on every run.

use cupel::diagnostics::{PipelineStage, TraceEvent};
use cupel::explain::{Explanation, SourceTiming};
use cupel::placer::UShapedPlacer;
use cupel::scorer::{CompositeScorer, KindScorer, TagScorer};
use cupel::{
    ContextBudget, ContextItem, ContextItemBuilder, ContextKind, ContextSource, GreedySlice,
    Pipeline, ReflexiveScorer,
};

pub(crate) fn item(text: &str, tokens: i64, hint: f64) -> ContextItemBuilder {
    ContextItem::builder(text, tokens).future_relevance_hint(hint)
}

pub(crate) fn pipeline() -> Pipeline {
    let scorer = CompositeScorer::builder()
        .add(ReflexiveScorer, 6.0)
        .add(TagScorer::new([("refund", 1.0)]).unwrap(), 3.0)
        .add(KindScorer::default(), 1.0)
        .build()
        .unwrap();
    Pipeline::builder().scorer(scorer).slicer(GreedySlice).placer(UShapedPlacer).build().unwrap()
}

pub(crate) fn items() -> Vec<ContextItem> {
    let document = |text, tokens, hint| {
        item(text, tokens, hint).kind(ContextKind::document()).source(ContextSource::rag())
    };
    let items = [
        ContextItem::builder("You answer questions about orders.", 12)
            .kind(ContextKind::system_prompt())
            .pinned(true),
        document("Refunds are paid within five days.", 60, 0.9).tag("refund"),
        document("Orders ship from two warehouses.", 60, 0.5),
        document("Refunds are paid within five days.", 60, 0.4)
            .source(ContextSource::new("Search").unwrap()),
        document("The whole price list, from A to Z.", 900, 0.3),
        item("order 4711: paid, shipped, returned", 40, 0.8)
            .kind(ContextKind::tool_output())
            .source(ContextSource::tool()),
        item("The customer prefers e-mail.", 20, 0.2)
            .kind(ContextKind::memory())
            .priority(3)
            .metadata_entry("seen", "twice"),
        item("Good morning!", 10, 0.05),
        item("a result of an unknown size", -1, 0.5).kind(ContextKind::tool_output()),
        ContextItem::builder("Where is my refund for order 4711?", 18).pinned(true),
    ];
    items.into_iter().map(|item| item.build().unwrap()).collect()
}

pub(crate) fn budget() -> ContextBudget {
    ContextBudget::builder(300)
        .output_reserve(60)
        .estimation_safety_margin_percent(5.0)
        .build()
        .unwrap()
}

/// With the same times on every run.
pub(crate) fn explanation() -> Explanation {
    timed(Explanation::dry_run(&pipeline(), &items(), &budget()).unwrap())
        .title("Where is my refund?")
        .fixed_tokens(40)
        .gathered(
            151.25,
            vec![
                SourceTiming::new("rag", 4, 1_100, 21.5),
                SourceTiming::new("search", 0, 0, 150.0).outcome("timed_out", true),
                SourceTiming::new("crm", 1, 20, 3.0)
                    .outcome("failed", true)
                    .detail("connection closed"),
            ],
        )
        .note("not counted: a file by its id")
}

pub(crate) fn timed(mut explanation: Explanation) -> Explanation {
    let stages = PipelineStage::ALL.into_iter().zip([0.01, 0.2, 0.03, 0.05, 0.02]);
    let events = stages.zip([10, 7, 7, 6, 7]);
    explanation.report.events =
        events.map(|((stage, ms), items)| TraceEvent::stage(stage, ms, items)).collect();
    explanation
}

/// The same question a turn later: a new message, and one document that is gone.
pub(crate) fn next() -> Explanation {
    let mut candidates = items();
    candidates.remove(2);
    candidates.insert(
        6,
        item("order 4711: refund of 20.00 sent", 70, 0.95)
            .kind(ContextKind::tool_output())
            .source(ContextSource::tool())
            .tag("refund")
            .build()
            .unwrap(),
    );
    timed(Explanation::dry_run(&pipeline(), &candidates, &budget()).unwrap())
}
