//! Ways of selecting.

use std::collections::{HashMap, HashSet};

use cupel::placer::AgePlacer;
use cupel::policy::Relevance;
use cupel::relevance::Lexical;
use cupel::relevance::{Blend, DEFAULT_BLEND_WEIGHT, Judge};
use cupel::scorer::AgeScorer;
use cupel::slicer::BestFirstSlice;
use cupel::{ContextBudget, ContextItem, OverflowStrategy, Policy, ReflexiveScorer, Scorer};

use cupel_model2vec::Model2Vec;

use crate::embeddings::EmbeddingsServer;
use crate::sets::Asked;

#[derive(Clone)]
pub enum Way {
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
    /// Another preset, with the question.
    Rag,
    /// Another preset, with the question.
    DocumentQa,
    /// The best first, by words and a model together.
    Blend(Model2Vec, f64),
    /// The best first, by a model alone.
    Meaning(Model2Vec),
    /// The best first, by words and a model behind a server together.
    EmbeddingsBlend(EmbeddingsServer),
    /// The best first, by a model behind a server alone.
    Embeddings(EmbeddingsServer),
}

impl Way {
    /// All there are: the last ones need a model in `CUPEL_MODEL2VEC_DIR`, or a server at
    /// `CUPEL_EMBEDDINGS_URL`.
    pub fn all() -> Vec<Self> {
        let mut all = vec![
            Self::Newest,
            Self::Chat,
            Self::ChatWithoutRelevance,
            Self::Lexical,
            Self::ToolUse,
            Self::Rag,
            Self::DocumentQa,
        ];
        if let Some(folder) = std::env::var_os("CUPEL_MODEL2VEC_DIR") {
            let model = Model2Vec::load(&folder).unwrap_or_else(|error| panic!("{error}"));
            let weight = std::env::var("CUPEL_BLEND_WEIGHT").ok();
            let weight = weight.map_or(DEFAULT_BLEND_WEIGHT, |weight| weight.parse().unwrap());
            all.extend([Self::Blend(model.clone(), weight), Self::Meaning(model)]);
        }
        if let Some(server) = EmbeddingsServer::from_env() {
            all.extend([Self::EmbeddingsBlend(server.clone()), Self::Embeddings(server)]);
        }
        all
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Chat => "chat",
            Self::ChatWithoutRelevance => "chat-without-relevance",
            Self::Lexical => "lexical",
            Self::ToolUse => "tool_use",
            Self::Rag => "rag",
            Self::DocumentQa => "document_qa",
            Self::Blend(..) => "blend",
            Self::Meaning(_) => "meaning",
            Self::EmbeddingsBlend(_) => "embeddings-blend",
            Self::Embeddings(_) => "embeddings",
        }
    }

    fn policy(&self) -> Policy {
        match self {
            Self::Newest => best_first(AgeScorer),
            Self::Chat => Policy::chat(),
            Self::ChatWithoutRelevance => Policy::chat().without_relevance(),
            Self::Lexical => by_hint(Lexical::new()),
            Self::ToolUse => Policy::tool_use(),
            Self::Rag => Policy::rag(),
            Self::DocumentQa => Policy::document_qa(),
            Self::Blend(model, weight) => {
                by_hint(Blend::new(Lexical::new(), model.clone()).weight(*weight).unwrap())
            }
            Self::Meaning(model) => by_hint(model.clone()),
            Self::EmbeddingsBlend(server) => {
                let blend = Blend::new(Lexical::new(), server.clone()).weight(server.weight);
                by_hint(blend.unwrap())
            }
            Self::Embeddings(server) => by_hint(server.clone()),
        }
    }

    /// The positions of what a budget keeps.
    pub fn select(&self, asked: &Asked<'_>, budget: i64) -> HashSet<usize> {
        let budget = ContextBudget::builder(budget).build().unwrap();
        let selected = self.policy().run_for(asked.question, asked.items, &budget).unwrap();
        // Two items may have the same text: places are told apart by the items' addresses.
        let address = |item: &ContextItem| item.content().as_ptr();
        let places: HashMap<*const u8, usize> =
            asked.items.iter().enumerate().map(|(at, item)| (address(item), at)).collect();
        selected.iter().map(|item| places[&address(item)]).collect()
    }
}

fn by_hint(judge: impl Judge + 'static) -> Policy {
    best_first(ReflexiveScorer).with_relevance(Relevance::new(judge))
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
