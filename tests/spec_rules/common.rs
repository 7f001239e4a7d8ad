//! Items, budgets and pipelines the tests share, and reproducible random numbers.

use cupel::pipeline::PipelineBuilder;
use cupel::placer::UShapedPlacer;
use cupel::{
    ContextBudget, ContextItem, ContextKind, GreedySlice, Pipeline, ReflexiveScorer, ScoredItem,
};

/// An item with a hint.
pub(crate) fn hinted(content: &str, tokens: i64, hint: f64) -> ContextItem {
    ContextItem::builder(content, tokens).future_relevance_hint(hint).build().unwrap()
}

/// A pinned item.
pub(crate) fn pinned(content: &str, tokens: i64) -> ContextItem {
    ContextItem::builder(content, tokens).pinned(true).build().unwrap()
}

/// A budget whose target is its window.
pub(crate) fn budget(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).target_tokens(tokens).build().unwrap()
}

/// Reflexive, greedy, U-shaped: to be changed where a test needs it.
pub(crate) fn pipeline() -> PipelineBuilder {
    Pipeline::builder().scorer(ReflexiveScorer).slicer(GreedySlice).placer(UShapedPlacer)
}

/// The contents, for short assertions.
pub(crate) fn contents(items: &[ContextItem]) -> Vec<&str> {
    items.iter().map(ContextItem::content).collect()
}

/// Pairs items with scores.
pub(crate) fn scored<'a>(items: &'a [ContextItem], scores: &[f64]) -> Vec<ScoredItem<'a>> {
    assert_eq!(items.len(), scores.len());
    items.iter().zip(scores).map(|(item, &score)| ScoredItem::new(item, score)).collect()
}

/// A small generator (xorshift): the same seed gives the same instances everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    /// Items of a few kinds and sizes with coarse scores, so that ties are common; the scores are
    /// in descending order when `sorted`.
    pub(crate) fn instance(&mut self, most: u64, sorted: bool) -> (Vec<ContextItem>, Vec<f64>) {
        let count = self.below(most + 1) as usize;
        let mut scores: Vec<f64> = (0..count).map(|_| self.below(21) as f64 / 20.0).collect();
        if sorted {
            scores.sort_by(|a, b| b.total_cmp(a));
        }
        let kinds = ["Message", "Document", "tool"];
        let items = (0..count).map(|index| {
            ContextItem::builder(format!("item {index}"), self.below(40) as i64)
                .kind(ContextKind::new(kinds[self.below(3) as usize]).unwrap())
                .build()
                .unwrap()
        });
        (items.collect(), scores)
    }
}
