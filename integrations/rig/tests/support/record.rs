//! Records requests after the selection and before rig prepares them for a provider.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use cupel_rig::CompletionCall;
use rig_agent::agent::{AgentHook, DispatchAction, DispatchEvent, HookContext};
use rig_core::completion::CompletionRequest;
use rig_core::effect::EffectKind;
use tower::{Layer, Service};

/// Everything of one kind that came by. Clones share it.
#[derive(Debug)]
pub(crate) struct Record<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Record<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Record<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Record<T> {
    pub(crate) fn add(&self, thing: T) {
        self.0.lock().unwrap().push(thing);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

/// Goes below the layer under test.
impl<S> Layer<S> for Record<CompletionRequest> {
    type Service = Recording<S>;

    fn layer(&self, inner: S) -> Recording<S> {
        Recording { record: self.clone(), inner }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Recording<S> {
    record: Record<CompletionRequest>,
    inner: S,
}

impl<R: CompletionCall, S: Service<R>> Service<R> for Recording<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: R) -> S::Future {
        self.record.add(call.completion().clone());
        self.inner.call(call)
    }
}

/// Goes after the hook under test.
impl AgentHook for Record<CompletionRequest> {
    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        if let EffectKind::Completion { request, .. } = event.kind {
            self.add(request.clone());
        }
        DispatchAction::proceed()
    }
}
