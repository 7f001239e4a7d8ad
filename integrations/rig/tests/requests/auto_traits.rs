//! Types that can be shared between threads, cloned and printed.

use std::fmt::Debug;

use cupel_rig::source::{IndexSource, MemorySource, ScoreScale};
use cupel_rig::{
    AgentCall, CatalogModels, CatalogWindow, CupelHook, MediaTokens, ModelReply, RigAdapter,
    RigModel, RigRest, StreamingRequest, TowerModel,
};
use rig_core::completion::CompletionRequest;
use rig_core::memory::InMemoryConversationMemory;
use rig_core::vector_store::in_memory_store::InMemoryVectorIndex;

fn shared<T: Send + Sync + Debug + 'static>() {}
fn sent<T: Send + Debug + 'static>() {}
fn cloned<T: Clone>() {}

#[test]
fn everything_goes_between_threads() {
    shared::<RigModel>();
    shared::<RigAdapter>();
    shared::<CatalogModels>();
    shared::<CatalogWindow>();
    shared::<CupelHook>();
    shared::<TowerModel<RigModel>>();
    shared::<MediaTokens>();
    shared::<ScoreScale>();
    shared::<IndexSource<InMemoryVectorIndex<String>>>();
    shared::<MemorySource<InMemoryConversationMemory>>();
    shared::<AgentCall>();
    shared::<StreamingRequest>();
    shared::<RigRest<CompletionRequest>>();
    sent::<ModelReply>();
}

#[test]
fn what_calls_need_is_cheap_to_clone() {
    cloned::<RigModel>();
    cloned::<RigAdapter>();
    cloned::<TowerModel<RigModel>>();
    cloned::<AgentCall>();
    cloned::<IndexSource<InMemoryVectorIndex<String>>>();
}
