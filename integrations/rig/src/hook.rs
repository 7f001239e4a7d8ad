//! The one-line way for an agent that exists already: a hook.

use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use cupel::layer::{ContextAdapter, CupelLayer, CupelService, Error};
use rig_agent::agent::{AgentHook, DispatchAction, DispatchEvent, HookContext, StepEventKind};
use rig_core::effect::EffectKind;
use tower::{Layer as _, Service, ServiceExt as _};

use crate::error::context_report;
use crate::{AgentCall, RigAdapter};

/// Selects the context of every model call of an agent, as a hook.
///
/// It is the same [`CupelLayer`] with the same report; it only hands the trimmed request back to
/// the agent instead of calling the model. Add it after hooks that change requests. The hook sees
/// a request by reference and so copies it; a stack
/// ([`AgentBuilderExt`](crate::AgentBuilderExt)) does not.
///
/// When no context can be selected, the turn fails with the reason.
///
/// ```
/// use cupel::layer::CupelLayer;
/// use cupel::{ContextBudget, Policy};
/// use cupel_rig::{CupelHook, RigAdapter};
/// use rig_agent::AgentBuilder;
/// # use rig_core::test_utils::MockCompletionModel;
///
/// let layer = CupelLayer::builder()
///     .adapter(RigAdapter::new())
///     .policy(Policy::tool_use())
///     .budget(ContextBudget::builder(8_192).output_reserve(1_024).build()?)
///     .build()?;
/// # let model = MockCompletionModel::text("It closes at six.");
/// let agent = AgentBuilder::new(model).add_hook(CupelHook::new(layer)).build();
/// # let _ = agent;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CupelHook<A = RigAdapter> {
    select: CupelService<HandBack, AgentCall, A>,
}

impl<A> CupelHook<A> {
    /// Selects by `layer`.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // a layer is a handle, and nobody keeps it
    pub fn new(layer: CupelLayer<AgentCall, A>) -> Self {
        Self { select: layer.layer(HandBack) }
    }
}

impl<A> AgentHook for CupelHook<A>
where
    A: ContextAdapter<AgentCall> + 'static,
{
    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        let EffectKind::Completion { request, stream } = event.kind else {
            return DispatchAction::proceed();
        };
        let call = AgentCall::new(request.clone(), *stream);
        match self.select.clone().oneshot(call).await {
            Ok(AgentCall { request, stream, .. }) => {
                DispatchAction::patch(EffectKind::Completion { request, stream })
            }
            Err(Error::Context(error)) => DispatchAction::deny(context_report(&error)),
            Err(Error::Inner(never)) => match never {},
        }
    }

    fn observes(&self, kind: StepEventKind) -> bool {
        kind == StepEventKind::CompletionDispatch
    }
}

impl<A> fmt::Debug for CupelHook<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CupelHook").field(&self.select).finish()
    }
}

/// Stands where the model would be and returns what it would have been asked.
#[derive(Debug, Clone, Copy)]
struct HandBack;

impl Service<AgentCall> for HandBack {
    type Response = AgentCall;
    type Error = Infallible;
    type Future = Ready<Result<AgentCall, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: AgentCall) -> Self::Future {
        ready(Ok(call))
    }
}
