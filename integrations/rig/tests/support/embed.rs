//! Embeddings without a network: how often each word occurs.

use futures::stream;
use rig_core::driver::{Exchange, Local, Model, Opened, Opening, Step, Transport};
use rig_core::embeddings::{Embedding, EmbeddingResponse};
use rig_core::error::ProviderError;
use rig_core::operation::Embedding as EmbeddingOp;
use rig_core::vector_store::in_memory_store::{InMemoryVectorIndex, InMemoryVectorStore};
use rig_core::wire::Capabilities;

const DIMENSIONS: usize = 64;

#[derive(Debug, Clone, Copy)]
pub(crate) struct WordCounts;

pub(crate) fn embedding_model() -> Model<Local<EmbeddingOp>, WordCounts> {
    let wire =
        Local::new("word-counts").with_capabilities(Capabilities::embedding(1_000, DIMENSIONS));
    Model::new(wire, WordCounts)
}

impl Transport<Local<EmbeddingOp>> for WordCounts {
    fn send(&self, texts: Vec<String>, _: Exchange) -> Opening<Step<EmbeddingOp>> {
        let response = EmbeddingResponse::new(texts.into_iter().map(embed).collect());
        Opening::ready(Opened::new(stream::iter([Ok::<_, ProviderError>(Step::End(response))])))
    }
}

pub(crate) fn embed(document: String) -> Embedding {
    let mut vec = vec![0.0; DIMENSIONS];
    for word in document.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        if word.len() > 2 {
            let hash = word.bytes().fold(7_usize, |hash, b| hash.wrapping_mul(31) ^ usize::from(b));
            vec[hash % DIMENSIONS] += 1.0;
        }
    }
    Embedding { document, vec }
}

/// An index over texts; the text's own first word is its id.
pub(crate) fn index_of(texts: &[&str]) -> InMemoryVectorIndex<String> {
    let id = |text: &str| text.split_whitespace().next().unwrap().to_owned();
    let documents =
        texts.iter().map(|text| (id(text), (*text).to_owned(), vec![embed((*text).to_owned())]));
    InMemoryVectorStore::from_documents_with_ids(documents).index(embedding_model())
}
