//! Selections of any size, the same on every run.

use cupel::explain::{Explanation, SourceTiming};
use cupel::placer::UShapedPlacer;
use cupel::scorer::{CompositeScorer, KindScorer, TagScorer};
use cupel::{
    ContextBudget, ContextItem, ContextKind, ContextSource, GreedySlice, Pipeline, ReflexiveScorer,
};

const WORDS: [&str; 12] = [
    "refund",
    "order",
    "invoice",
    "warehouse",
    "customer",
    "delivery",
    "price",
    "return",
    "label",
    "carrier",
    "delay",
    "address",
];

/// Items of five kinds and three sources, with a copy, an invalid and a pinned one among many.
pub(crate) fn items(count: usize) -> Vec<ContextItem> {
    let mut state = 17_u64;
    let mut below = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let kinds = ["Message", "Document", "ToolOutput", "Memory", "Ticket"];
    let sources = ["Chat", "Rag", "Tool"];
    let build = |number: usize| {
        let words: Vec<&str> = (0..25 + below(20)).map(|_| WORDS[below(WORDS.len())]).collect();
        let text = match number % 50 {
            // Some texts come twice.
            7 => "a text that came more than once".to_owned(),
            _ => format!("Item {number}: {}", words.join(" ")),
        };
        let tokens = if number % 97 == 13 { -1 } else { 10 + below(90) as i64 };
        ContextItem::builder(text, tokens)
            .kind(ContextKind::new(kinds[below(kinds.len())]).unwrap())
            .source(ContextSource::new(sources[below(sources.len())]).unwrap())
            .future_relevance_hint(below(1_000) as f64 / 1_000.0)
            .tag(WORDS[below(WORDS.len())])
            .metadata_entry("number", number.to_string())
            .pinned(number == 0)
            .build()
            .unwrap()
    };
    (0..count).map(build).collect()
}

pub(crate) fn pipeline() -> Pipeline {
    let scorer = CompositeScorer::builder()
        .add(ReflexiveScorer, 7.0)
        .add(TagScorer::new([("refund", 1.0), ("order", 1.0)]).unwrap(), 2.0)
        .add(KindScorer::default(), 1.0)
        .build()
        .unwrap();
    let pipeline = Pipeline::builder().scorer(scorer).slicer(GreedySlice).placer(UShapedPlacer);
    pipeline.build().unwrap()
}

pub(crate) fn explain(items: &[ContextItem], budget: i64) -> Explanation {
    let budget = ContextBudget::builder(budget)
        .output_reserve(budget / 5)
        .estimation_safety_margin_percent(5.0)
        .build()
        .unwrap();
    Explanation::dry_run(&pipeline(), items, &budget)
        .unwrap()
        .title("Where is my refund?")
        .fixed_tokens(120)
        .gathered(
            181.5,
            vec![
                SourceTiming::new("rag", 40, 2_100, 21.5),
                SourceTiming::new("search", 0, 0, 180.0).outcome("timed_out", true),
                SourceTiming::new("crm", 0, 0, 9.0).outcome("failed", true).detail("<b>gone</b>"),
            ],
        )
        .note("not counted: a file by its id")
}

pub(crate) fn explanation(count: usize) -> Explanation {
    explain(&items(count), 4_000.max(count as i64 * 20))
}
