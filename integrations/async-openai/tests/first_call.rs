//! The first call of a process, which loads the encoding: alone in this file, since every call after it
//! finds the encoding loaded.

#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use async_openai::types::chat::{
    ChatCompletionRequestUserMessage, CreateChatCompletionRequest, CreateChatCompletionResponse,
};
use cupel::Policy;
use cupel::layer::CupelLayer;
use cupel_async_openai::OpenAiAdapter;
use tower::{Layer as _, Service as _, ServiceBuilder, service_fn};

type Answer = Result<CreateChatCompletionResponse, std::io::Error>;

// A paused clock: if the encoding were loaded on the caller's task, the first poll would come back with
// an answer, and no time would pass. The only thread for blocking work is busy, so that the load cannot
// be done by the first poll, however slowly the test's own thread runs.
#[test]
fn a_time_out_fires_while_the_encoding_loads() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (release, busy) = std::sync::mpsc::channel::<()>();
    runtime.spawn_blocking(move || busy.recv());
    runtime.block_on(time_out_while_the_encoding_loads());
    drop(release);
}

async fn time_out_while_the_encoding_loads() {
    let adapter = OpenAiAdapter::new();
    let layer = CupelLayer::<CreateChatCompletionRequest, _>::builder()
        .budget(adapter.window())
        .adapter(adapter)
        .policy(Policy::chat())
        .build()
        .unwrap();
    let model = service_fn(|_: CreateChatCompletionRequest| async {
        Answer::Err(std::io::Error::other("the model was called"))
    });
    let mut service =
        ServiceBuilder::new().timeout(Duration::from_millis(1)).service(layer.layer(model));
    let message = ChatCompletionRequestUserMessage::from("Where is the key?");
    let request = || CreateChatCompletionRequest {
        model: "gpt-4o".into(),
        messages: vec![message.clone().into()],
        ..Default::default()
    };
    let call = service.call(request());
    tokio::pin!(call);
    assert!(futures::poll!(&mut call).is_pending(), "the encoding was loaded on the caller's task");
    tokio::time::advance(Duration::from_millis(2)).await;
    let error = call.await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
}
