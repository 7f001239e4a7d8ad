//! Agents whose model stands behind time-outs, limits and retries, over rig's own client: a streamed
//! call is held to them until its first event, as a whole one is until its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use cupel::layer::Error;
use cupel_rig::{AgentBuilderExt as _, AgentCall};
use rig_agent::AgentBuilder;
use rig_agent::completion::PromptError;
use rig_core::error::ProviderError;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tower::ServiceBuilder;
use tower::retry::Policy;

use crate::provider::{answer, model_at};
use crate::run::{Mode, QUESTION, Seen, budget, finish, layer};

const MODES: [Mode; 2] = [Mode::Whole, Mode::Streamed];

/// Long enough for anything that is not stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// A provider that takes its time and refuses its first calls.
#[derive(Clone, Default)]
struct Provider {
    delay: Duration,
    refusals: usize,
    calls: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

async fn completions(State(provider): State<Provider>, Json(body): Json<Value>) -> Response {
    let running = provider.running.fetch_add(1, Ordering::SeqCst) + 1;
    provider.most.fetch_max(running, Ordering::SeqCst);
    sleep(provider.delay).await;
    provider.running.fetch_sub(1, Ordering::SeqCst);
    if provider.calls.fetch_add(1, Ordering::SeqCst) < provider.refusals {
        let error = json!({ "error": { "message": "slow down", "type": "rate_limit" } });
        return (StatusCode::TOO_MANY_REQUESTS, Json(error)).into_response();
    }
    answer(&body, &json!({ "role": "assistant", "content": "The keeper." }), "stop", 9)
}

async fn serve(provider: &Provider) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app =
        Router::new().route("/v1/chat/completions", post(completions)).with_state(provider.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

#[tokio::test]
async fn a_time_out_ends_a_call_that_has_not_begun_to_answer() {
    for mode in MODES {
        let provider = Provider { delay: PATIENCE * 10, ..Provider::default() };
        let model = model_at(serve(&provider).await);
        let stack = ServiceBuilder::new()
            .timeout(Duration::from_millis(50))
            .layer(layer(budget(500), &Seen::default()));
        let agent = AgentBuilder::new(model.clone()).build_through(stack, model);
        let run = finish(agent.prompt(QUESTION), mode);
        let error = timeout(PATIENCE, run).await.expect("the time-out fires").unwrap_err();
        assert!(error.to_string().contains("timed out"), "{mode:?}: {error}");
    }
}

#[tokio::test]
async fn a_limit_of_one_sends_one_call_at_a_time() {
    for mode in MODES {
        let provider = Provider { delay: Duration::from_millis(20), ..Provider::default() };
        let model = model_at(serve(&provider).await);
        let stack =
            ServiceBuilder::new().concurrency_limit(1).layer(layer(budget(500), &Seen::default()));
        let agent = AgentBuilder::new(model.clone()).build_through(stack, model);
        let runs = (0..4).map(|_| finish(agent.prompt(QUESTION), mode));
        for run in futures::future::join_all(runs).await {
            assert_eq!(run.unwrap().output(), "The keeper.");
        }
        assert_eq!(provider.calls.load(Ordering::SeqCst), 4);
        assert_eq!(provider.most.load(Ordering::SeqCst), 1, "{mode:?}");
    }
}

/// Tries so many times more when the provider says that it is asked too often.
#[derive(Clone)]
struct WhenBusy(usize);

impl<T> Policy<AgentCall, T, Error<ProviderError>> for WhenBusy {
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut AgentCall,
        result: &mut Result<T, Error<ProviderError>>,
    ) -> Option<Self::Future> {
        let Err(Error::Inner(ProviderError::ProviderResponse(response))) = result else {
            return None;
        };
        assert!(response.to_string().contains("429"), "{response}");
        self.0 = self.0.checked_sub(1)?;
        Some(std::future::ready(()))
    }

    fn clone_request(&mut self, call: &AgentCall) -> Option<AgentCall> {
        Some(call.clone())
    }
}

#[tokio::test]
async fn a_retry_sees_that_the_provider_is_busy() {
    for mode in MODES {
        let run = async |tries: usize| {
            let provider = Provider { refusals: 2, ..Provider::default() };
            let model = model_at(serve(&provider).await);
            let stack = ServiceBuilder::new()
                .retry(WhenBusy(tries))
                .layer(layer(budget(500), &Seen::default()));
            let agent = AgentBuilder::new(model.clone()).build_through(stack, model);
            let answered = finish(agent.prompt(QUESTION), mode).await;
            (answered, provider.calls.load(Ordering::SeqCst))
        };
        let (answered, calls) = run(2).await;
        assert_eq!(answered.unwrap().output(), "The keeper.", "{mode:?}");
        assert_eq!(calls, 3);
        // The agent is told what the provider said, in rig's own words.
        let (answered, calls) = run(1).await;
        let error: PromptError = answered.unwrap_err();
        assert!(error.to_string().contains("slow down") && calls == 2, "{mode:?}: {error}");
    }
}
