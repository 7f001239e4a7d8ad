//! Vector indexes behind an agent that scores: a good one, a slow one and a broken one.

use std::time::Duration;

use cupel::gather::{Source, SourceOutcome};
use cupel::layer::{CupelLayer, CupelLayerBuilder, Selection};
use cupel::{ContextKind, Policy};
use cupel_rig::source::{IndexSource, MemorySource, ScoreScale, history_items};
use cupel_rig::{AgentCall, RigAdapter};
use rig_core::completion::CompletionRequest;
use rig_core::memory::{ConversationMemory as _, InMemoryConversationMemory};
use rig_core::message::{AssistantContent, Message};
use rig_core::vector_store::request::{Filter, VectorSearchRequest};
use rig_core::vector_store::{
    VectorSearchIdResult, VectorSearchResult, VectorStoreError, VectorStoreIndex,
};
use rig_core::wasm_compat::WasmCompatSend;
use serde::de::DeserializeOwned;

use crate::run::{ALL, QUESTION, Seen, agent, budget, finish};
use crate::support::embed::index_of;
use crate::support::model::{LocalModel, local};
use crate::support::words;

/// Answers after a while.
struct Slow<I>(I, Duration);

impl<I: VectorStoreIndex<Filter = Filter<serde_json::Value>>> VectorStoreIndex for Slow<I> {
    type Filter = I::Filter;

    async fn top_n<T: DeserializeOwned + WasmCompatSend>(
        &self,
        req: VectorSearchRequest<Self::Filter>,
    ) -> Result<Vec<VectorSearchResult<T>>, VectorStoreError> {
        tokio::time::sleep(self.1).await;
        self.0.top_n(req).await
    }

    async fn top_n_ids(
        &self,
        req: VectorSearchRequest<Self::Filter>,
    ) -> Result<Vec<VectorSearchIdResult>, VectorStoreError> {
        self.0.top_n_ids(req).await
    }
}

/// Never answers.
struct Broken;

impl VectorStoreIndex for Broken {
    type Filter = Filter<serde_json::Value>;

    async fn top_n<T: DeserializeOwned + WasmCompatSend>(
        &self,
        _: VectorSearchRequest<Self::Filter>,
    ) -> Result<Vec<VectorSearchResult<T>>, VectorStoreError> {
        Err(VectorStoreError::MissingIdError("the index is gone".to_owned()))
    }

    async fn top_n_ids(
        &self,
        _: VectorSearchRequest<Self::Filter>,
    ) -> Result<Vec<VectorSearchIdResult>, VectorStoreError> {
        Err(VectorStoreError::MissingIdError("the index is gone".to_owned()))
    }
}

const BOOK: [&str; 3] = [
    "ending The story ends at the lighthouse, who tells it is the keeper.",
    "harbour Ships wait in the harbour for the tide.",
    "recipe Boil the potatoes for twenty minutes.",
];

fn reader() -> LocalModel {
    local(i64::MAX, |_| vec![AssistantContent::text("The keeper tells it.")])
}

fn layer_with(
    sources: Vec<Source<AgentCall>>,
    room: i64,
    seen: &Seen,
) -> CupelLayer<AgentCall, RigAdapter> {
    let selections = seen.selections.clone();
    let builder = CupelLayer::builder()
        .adapter(RigAdapter::new().counter(words()))
        .policy(Policy::rag().without_plan())
        .budget(budget(room))
        .on_selection(move |selection: &Selection| selections.add(selection.clone()));
    sources.into_iter().fold(builder, CupelLayerBuilder::source).build().unwrap()
}

fn document_ids(request: &CompletionRequest) -> Vec<&str> {
    request.documents.iter().map(|document| document.id.as_str()).collect()
}

fn book(samples: u64) -> IndexSource<impl VectorStoreIndex> {
    IndexSource::new(index_of(&BOOK), ScoreScale::CosineSimilarity).samples(samples)
}

#[tokio::test(start_paused = true)]
async fn a_slow_and_a_broken_index_cost_neither_the_answer_nor_much_time() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let slow = Slow(index_of(&["late Too late."]), Duration::from_secs(60));
        let sources = vec![
            Source::new("book", book(2)),
            Source::new("slow", IndexSource::new(slow, ScoreScale::CosineSimilarity))
                .deadline(Duration::from_millis(200))
                .optional(),
            Source::new("broken", IndexSource::new(Broken, ScoreScale::Distance)).optional(),
        ];
        let agent = agent(way, reader(), layer_with(sources, 500, &seen), &seen);
        let started = tokio::time::Instant::now();
        let response = finish(agent.prompt(QUESTION), mode).await.unwrap();
        assert_eq!(response.output(), "The keeper tells it.");
        assert_eq!(started.elapsed().as_millis(), 200, "the deadline, and not a minute");

        let selection = &seen.selections.all()[0];
        let outcomes: Vec<_> =
            selection.gather.sources.iter().map(|source| (&*source.name, source.items)).collect();
        assert_eq!(outcomes, [("book", 2), ("slow", 0), ("broken", 0)]);
        assert_eq!(selection.gather.sources[1].outcome, SourceOutcome::TimedOut);
        let SourceOutcome::Failed { error } = &selection.gather.sources[2].outcome else {
            panic!("{:?}", selection.gather.sources[2]);
        };
        assert!(error.contains("the index is gone"), "{error}");

        // What was found is in the request, quoted in one document, the best first.
        let request = &seen.sent.all()[0];
        assert_eq!(document_ids(request), ["context"]);
        let text = &request.documents[0].text;
        let best = format!("\n[book, untrusted] ending: {}\n[book, untrusted] harbour: ", BOOK[0]);
        assert!(text.starts_with("<recalled>\n") && text.contains(&best), "{text}");
    }
}

#[tokio::test]
async fn a_required_index_that_breaks_fails_the_run_by_name() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let broken = IndexSource::new(Broken, ScoreScale::CosineSimilarity);
        let broken = Source::new("book", broken).required();
        let agent = agent(way, reader(), layer_with(vec![broken], 500, &seen), &seen);
        let error = finish(agent.prompt(QUESTION), mode).await.unwrap_err();
        assert!(error.to_string().contains("required source \"book\" failed"), "{error}");
    }
}

#[tokio::test]
async fn scores_become_relevance_and_a_small_budget_keeps_the_best() {
    let seen = Seen::default();
    let (way, mode) = ALL[0];
    // Room for pins and tools (49), the document (8), the frame in it (21), and one quoted text.
    let sources = vec![Source::new("book", book(3))];
    let agent = agent(way, reader(), layer_with(sources, 49 + 8 + 21 + 22, &seen), &seen);
    finish(agent.prompt(QUESTION), mode).await.unwrap();
    let selection = &seen.selections.all()[0];
    let relevance = |id: &str| {
        let included = selection.report.included.iter().map(|included| &included.item);
        let excluded = selection.report.excluded.iter().map(|excluded| &excluded.item);
        let item = included
            .chain(excluded)
            .find(|item| item.metadata().get("id").is_some_and(|i| i == id));
        item.unwrap().future_relevance_hint().unwrap()
    };
    assert!(relevance("ending") > relevance("harbour"));
    assert!(relevance("harbour") > relevance("recipe"));
    let text = &seen.sent.all()[0].documents[0].text;
    assert!(text.contains("] ending: ") && !text.contains("] harbour: "), "{text}");
    // Counted as it is quoted: the text, `[book, untrusted] ending:`, and one for the seam.
    let ending =
        selection.report.included.iter().find(|i| *i.item.kind() == ContextKind::document());
    assert_eq!(ending.unwrap().item.tokens(), 13 + 3 + 1);
}

#[tokio::test]
async fn memories_and_old_histories_are_sources_too() {
    let memory = InMemoryConversationMemory::new();
    let told = vec![
        Message::user("Who is the keeper?"),
        Message::assistant("An old sailor."),
        Message::user("Thank you."),
    ];
    memory.append(&"yesterday".into(), told.clone()).await.unwrap();
    let items = history_items(&told[..2], &RigAdapter::new().counter(words())).unwrap();
    let seen = Seen::default();
    let sources = vec![
        Source::new("memory", MemorySource::new(memory, "yesterday")).required(),
        Source::items("history", items),
    ];
    let (way, mode) = ALL[0];
    let agent = agent(way, reader(), layer_with(sources, 500, &seen), &seen);
    finish(agent.prompt(QUESTION), mode).await.unwrap();
    let request = &seen.sent.all()[0];
    let texts: Vec<&str> = request.documents.iter().map(|d| d.text.as_str()).collect();
    let exchange = "[0] user: Who is the keeper?\n> [1] assistant: An old sailor.";
    // The same exchange from both is sent once.
    let [text] = texts[..] else { panic!("{texts:?}") };
    assert_eq!(text.matches(exchange).count(), 1, "{text}");
    assert!(text.contains(": [2] user: Thank you."), "{text}");
    let pins: usize = seen.selections.all()[0].gather.sources.iter().map(|s| s.pins_lifted).sum();
    assert_eq!(pins, 0, "nothing that is remembered is pinned");
}
