//! A vector index over the warehouse's handbook, with embeddings made here.

use futures::stream;
use rig_core::driver::{Exchange, Local, Model, Opened, Opening, Step, Transport};
use rig_core::embeddings::{Embedding, EmbeddingResponse};
use rig_core::error::ProviderError;
use rig_core::operation::Embedding as EmbeddingOp;
use rig_core::vector_store::in_memory_store::{InMemoryVectorIndex, InMemoryVectorStore};
use rig_core::wire::Capabilities;

/// Fact of the handbook, to check the agent's answer.
pub(crate) const BOTTLES_PER_CRATE: u64 = 12;

const HANDBOOK: [(&str, &str); 6] = [
    (
        "crates",
        "How we ship bottles: in crates. A crate holds 12 bottles in two layers, with paper between the layers.",
    ),
    (
        "boats",
        "Boats leave from quay four. The large ones take pallets; the small ones take crates by hand.",
    ),
    (
        "customs",
        "Customs forms go out in three copies. The colour of the truck goes into field nine.",
    ),
    (
        "folders",
        "Letters about money go into the blue folder and letters about boats into the green one.",
    ),
    (
        "forklift",
        "The forklift is charged every night. Batteries are ordered from the usual dealer.",
    ),
    (
        "march",
        "In March the books are closed with the last boat, and the count is signed by two people.",
    ),
];

pub(crate) fn index() -> InMemoryVectorIndex<String> {
    let documents = HANDBOOK.map(|(id, text)| (id, text.to_owned(), vec![embed(text.to_owned())]));
    let wire =
        Local::new("word-counts").with_capabilities(Capabilities::embedding(1_000, DIMENSIONS));
    InMemoryVectorStore::from_documents_with_ids(documents).index(Model::new(wire, WordCounts))
}

const DIMENSIONS: usize = 256;

/// Embeds a text by how often each word occurs in it.
#[derive(Debug, Clone, Copy)]
struct WordCounts;

impl Transport<Local<EmbeddingOp>> for WordCounts {
    fn send(&self, texts: Vec<String>, _: Exchange) -> Opening<Step<EmbeddingOp>> {
        let response = EmbeddingResponse::new(texts.into_iter().map(embed).collect());
        Opening::ready(Opened::new(stream::iter([Ok::<_, ProviderError>(Step::End(response))])))
    }
}

fn embed(document: String) -> Embedding {
    let mut vec = vec![0.0; DIMENSIONS];
    let lower = document.to_lowercase();
    // Words of three letters or less are in every text.
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3) {
        let hash = word
            .bytes()
            .fold(5_381_usize, |hash, byte| hash.wrapping_mul(33).wrapping_add(usize::from(byte)));
        if let Some(count) = vec.get_mut(hash % DIMENSIONS) {
            *count += 1.0;
        }
    }
    Embedding { document, vec }
}
