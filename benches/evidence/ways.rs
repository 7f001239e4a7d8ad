//! Ways of selecting.

use std::collections::{HashMap, HashSet};

use cupel::policy::Relevance;
use cupel::{
    AgePlacer, AgeScorer, BestFirstSlice, ContextBudget, ContextItem, Lexical, OverflowStrategy,
    Policy, ReflexiveScorer, Scorer,
};

use super::sets::Asked;

#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// From the newest item back, skipping what does not fit.
    Newest,
    /// The preset, with the question.
    Chat,
    /// The preset, as it is without a question.
    ChatWithoutRelevance,
    /// The best first, by the hint alone.
    Lexical,
    /// Another preset, with the question.
    ToolUse,
}

impl Way {
    pub(crate) const ALL: [Self; 5] =
        [Self::Newest, Self::Chat, Self::ChatWithoutRelevance, Self::Lexical, Self::ToolUse];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Chat => "chat",
            Self::ChatWithoutRelevance => "chat-without-relevance",
            Self::Lexical => "lexical",
            Self::ToolUse => "tool_use",
        }
    }

    fn policy(self) -> Policy {
        match self {
            Self::Newest => best_first(AgeScorer),
            Self::Chat => Policy::chat(),
            Self::ChatWithoutRelevance => Policy::chat().without_relevance(),
            Self::Lexical => {
                best_first(ReflexiveScorer).with_relevance(Relevance::new(Lexical::new()))
            }
            Self::ToolUse => Policy::tool_use(),
        }
    }

    /// The positions of what a budget keeps.
    pub(crate) fn select(self, asked: &Asked<'_>, budget: i64) -> HashSet<usize> {
        let budget = ContextBudget::builder(budget).build().unwrap();
        let selected = self.policy().run_for(asked.question, asked.items, &budget).unwrap();
        // Two items may have the same text: places are told apart by the items' addresses.
        let address = |item: &ContextItem| item.content().as_ptr();
        let places: HashMap<*const u8, usize> =
            asked.items.iter().enumerate().map(|(at, item)| (address(item), at)).collect();
        selected.iter().map(|item| places[&address(item)]).collect()
    }
}

fn best_first(scorer: impl Scorer + 'static) -> Policy {
    Policy::builder()
        .scorer(scorer)
        .slicer(BestFirstSlice)
        .placer(AgePlacer)
        .overflow_strategy(OverflowStrategy::Truncate)
        .deduplication(false)
        .build()
        .unwrap()
}
