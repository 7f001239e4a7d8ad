//! A Tower stack behind rig's own kind of handler.

use std::fmt;

use cupel::gather::BoxError;
use rig_core::completion::{ModelRef, ProviderCapabilities};
use rig_core::effect::{
    EffectKind, FamilyDescriptor, HandlerDescriptor, Outcome, family, model_key,
};
use rig_core::error::{ErrorKind, ErrorReport};
use rig_core::serve::{Dispatch, Reply, Serve};
use rig_core::{DynModel, operation::Completion};
use tower::{Layer, Service, ServiceExt as _};

use crate::error::report;
use crate::{AgentCall, ModelReply, RigModel};

/// A Tower stack that answers [`AgentCall`]s, as a model that a rig agent can call.
///
/// [`AgentBuilderExt`](super::AgentBuilderExt) installs one. To do it by hand, or to offer it as
/// one of several models, give it to `AgentBuilder::model_route_handler` under its label.
#[derive(Clone)]
pub struct TowerModel<S> {
    label: ModelRef,
    capabilities: ProviderCapabilities,
    stack: S,
}

impl TowerModel<()> {
    /// The label of a model that is given none.
    pub const DEFAULT_LABEL: &str = "cupel";
}

impl<S> TowerModel<S> {
    /// Serves `stack`, without special abilities.
    pub fn new(stack: S) -> Self {
        let label = ModelRef::from(TowerModel::DEFAULT_LABEL);
        Self { label, capabilities: ProviderCapabilities::new(), stack }
    }

    /// Serves `model` behind `layer`: one layer, or a `ServiceBuilder` of several.
    pub fn layered<L>(layer: &L, model: impl Into<DynModel<Completion>>) -> Self
    where
        L: Layer<RigModel, Service = S>,
    {
        let model = model.into();
        let capabilities = model.capabilities().completion;
        Self::new(layer.layer(RigModel::new(model))).capabilities(capabilities)
    }

    /// Sets the label that the agent calls it by; [`TowerModel::DEFAULT_LABEL`] unless set.
    #[must_use]
    pub fn label(mut self, label: impl Into<ModelRef>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets what the model behind the stack can do, which decides how rig asks for structured
    /// output.
    #[must_use]
    pub fn capabilities(mut self, capabilities: ProviderCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    pub(super) fn model_ref(&self) -> ModelRef {
        self.label.clone()
    }
}

impl<S> Serve for TowerModel<S>
where
    S: Service<AgentCall, Response = ModelReply> + Clone + Send + Sync,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    type Family = family::Completion;

    fn descriptor(&self) -> HandlerDescriptor {
        HandlerDescriptor {
            key: model_key(self.label.as_str()),
            family: FamilyDescriptor::Completion {
                model: self.label.clone(),
                capabilities: self.capabilities,
            },
            layers: Vec::new(),
        }
    }

    async fn serve(&self, kind: EffectKind, dispatch: Dispatch) -> Reply {
        let EffectKind::Completion { request, stream } = kind else {
            let problem = format!("a completion handler cannot serve a `{}` effect", kind.name());
            return Reply::Outcome(Err(ErrorReport::new(ErrorKind::HandlerUnavailable, problem)));
        };
        let call = AgentCall { request, stream, observation: dispatch.adapter_context() };
        match self.stack.clone().oneshot(call).await {
            Ok(ModelReply::Whole(response)) => Reply::Outcome(Ok(Outcome::Completion(*response))),
            Ok(ModelReply::Stream(stream)) => Reply::Stream(stream.into_relay()),
            Err(error) => Reply::Outcome(Err(report(error.into()))),
        }
    }
}

impl<S> fmt::Debug for TowerModel<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TowerModel").field("label", &self.label).finish_non_exhaustive()
    }
}
