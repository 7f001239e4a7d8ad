//! The one-line way for an agent that exists already: a hook.

use std::fmt;

use cupel::layer::{ContextAdapter, CupelLayer, Selector};
use rig_agent::agent::{AgentHook, DispatchAction, DispatchEvent, HookContext, StepEventKind};
use rig_core::effect::EffectKind;

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
    selector: Selector<AgentCall, A>,
}

impl<A> CupelHook<A> {
    /// Selects by `layer`.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // a layer is a handle, and nobody keeps it
    pub fn new(layer: CupelLayer<AgentCall, A>) -> Self {
        Self { selector: layer.selector() }
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
        match self.selector.select(call).await {
            Ok(selected) => {
                let AgentCall { request, stream, .. } = selected.request;
                DispatchAction::patch(EffectKind::Completion { request, stream })
            }
            Err(error) => DispatchAction::deny(context_report(&error)),
        }
    }

    fn observes(&self, kind: StepEventKind) -> bool {
        kind == StepEventKind::CompletionDispatch
    }
}

impl<A> fmt::Debug for CupelHook<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CupelHook").field(&self.selector).finish()
    }
}
