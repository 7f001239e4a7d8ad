//! Everything can be sent, shared, cloned and printed.

use std::fmt::Debug;

use async_openai::config::OpenAIConfig;
use async_openai::middleware::ReqwestService;
use async_openai::types::chat::CreateChatCompletionRequest;
use async_openai::types::responses::CreateResponse;
use cupel::layer::CupelLayer;
use cupel_async_openai::{
    ChatService, ContextPosition, ContextRole, ContextTemplate, Detail, Endpoint, HttpFuture,
    HttpLayer, HttpService, ImageRule, JsonBody, JsonWindow, MessageView, Model, Models,
    OpenAiAdapter, ResponsesService, Streaming, ToolRule, UnknownModel,
};

fn everything<T: Send + Sync + Clone + Debug>() {}
fn sent<T: Send + Debug>() {}
fn an_error<T: std::error::Error + Send + Sync + 'static>() {}

#[test]
fn the_parts_are_send_sync_clone_and_debug() {
    everything::<OpenAiAdapter>();
    everything::<JsonWindow>();
    everything::<Models>();
    everything::<Model>();
    everything::<ImageRule>();
    everything::<Detail>();
    everything::<ToolRule>();
    everything::<ContextTemplate>();
    everything::<ContextRole>();
    everything::<ContextPosition>();
    everything::<Endpoint>();
    everything::<JsonBody>();
    everything::<MessageView<'_>>();
    everything::<Streaming<CreateResponse>>();
    everything::<ChatService<OpenAIConfig>>();
    everything::<ResponsesService<OpenAIConfig>>();
    everything::<HttpLayer<OpenAiAdapter>>();
    everything::<HttpService<ReqwestService, OpenAiAdapter>>();
    everything::<CupelLayer<CreateChatCompletionRequest, OpenAiAdapter>>();
    sent::<HttpFuture>();
    an_error::<UnknownModel>();
}
