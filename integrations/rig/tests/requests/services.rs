//! A rig model as a Tower service, without an agent.

use std::time::Duration;

use cupel::Policy;
use cupel::layer::{CupelLayer, Error};
use cupel_rig::{AgentCall, ModelReply, RigModel, StreamingRequest};
use futures::StreamExt as _;
use rig_core::completion::CompletionRequest;
use rig_core::error::ProviderError;
use rig_core::message::{AssistantContent, Message};
use rig_core::streaming::{Item, StreamEvent};
use tower::{Layer as _, Service, ServiceBuilder, ServiceExt as _};

use crate::select::{adapter, room};
use crate::support::filler;
use crate::support::model::{LocalModel, local};

/// Says how many messages it got, within a window of 60 words.
fn counting() -> LocalModel {
    local(60, |request| {
        vec![AssistantContent::text(format!("{} messages", request.chat_history.len()))]
    })
}

/// Two long exchanges and a question.
fn long() -> CompletionRequest {
    CompletionRequest::new("And now?").messages([
        Message::user(filler(40)),
        Message::assistant("one"),
        Message::user(filler(30)),
        Message::assistant("two"),
    ])
}

fn layer<R: cupel_rig::CompletionCall>() -> CupelLayer<R, cupel_rig::RigAdapter> {
    CupelLayer::builder()
        .adapter(adapter())
        .policy(Policy::chat())
        .budget(room(60))
        .build()
        .unwrap()
}

#[tokio::test]
async fn whole_answers() {
    let mut model = layer().layer(RigModel::new(counting()));
    let answer = model.ready().await.unwrap().call(long()).await.unwrap();
    assert_eq!(answer.text(), "3 messages");
    // Without the layer the model refuses.
    let mut bare = RigModel::new(counting());
    let error = Service::<CompletionRequest>::call(&mut bare, long()).await.unwrap_err();
    assert!(error.to_string().contains("exceed the window of 60"));
}

#[tokio::test]
async fn streams() {
    let mut model = layer().layer(RigModel::new(counting()));
    let stream = model.ready().await.unwrap().call(StreamingRequest(long())).await.unwrap();
    let texts: Vec<String> = stream
        .filter_map(|item| async {
            match item.unwrap() {
                Item::Event(StreamEvent::Text { text, .. }) => Some(text),
                _ => None,
            }
        })
        .collect()
        .await;
    assert_eq!(texts, ["3 ", "messages"]);
}

#[tokio::test]
async fn either_for_a_call_of_an_agent() {
    for stream in [false, true] {
        let mut model = layer().layer(RigModel::new(counting()));
        let reply =
            model.ready().await.unwrap().call(AgentCall::new(long(), stream)).await.unwrap();
        let response = match reply {
            ModelReply::Whole(response) if !stream => *response,
            ModelReply::Stream(events) if stream => events.finish().await.unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(response.text(), "3 messages");
    }
}

#[tokio::test]
async fn a_providers_error_passes_unchanged() {
    let model = local(1, |_| Vec::new());
    let mut model = layer().layer(RigModel::new(model));
    let error = model.ready().await.unwrap().call(long()).await.unwrap_err();
    let Error::Inner(ProviderError::Provider(text)) = error else { panic!("{error}") };
    assert!(text.contains("exceed the window of 1"));
}

#[tokio::test]
async fn other_layers_go_above_and_below() {
    let mut model = ServiceBuilder::new()
        .timeout(Duration::from_secs(5))
        .layer(layer())
        .concurrency_limit(2)
        .service(RigModel::new(counting()));
    let answer = model.ready().await.unwrap().call(long()).await.unwrap();
    assert_eq!(answer.text(), "3 messages");
}
