//! A Tower stack as the model of an agent.

use std::fmt;

use cupel::gather::BoxError;
use rig_agent::agent::{NoToolConfig, WithBuilderTools, WithToolServerHandle};
use rig_agent::{Agent, AgentBuilder};
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

/// Builds agents whose model is a Tower stack.
///
/// Every call of the agent's model passes through the stack: the first, those after tool results,
/// retries, whole and streamed ones. What the agent itself remembers of the run is not touched, so
/// a message that does not fit one turn can come back in the next.
///
/// ```
/// use cupel::layer::{CupelLayer, Selection};
/// use cupel::{ContextBudget, Policy};
/// use cupel_rig::{AgentBuilderExt as _, RigAdapter};
/// use rig_agent::AgentBuilder;
/// use rig_core::test_utils::MockCompletionModel;
///
/// let layer = CupelLayer::builder()
///     .adapter(RigAdapter::new())
///     .policy(Policy::tool_use())
///     .budget(ContextBudget::builder(8_192).output_reserve(1_024).build()?)
///     .on_selection(|s: &Selection| println!("{} left out", s.report.excluded.len()))
///     .build()?;
/// let model = MockCompletionModel::text("It closes at six.");
/// let agent = AgentBuilder::new(model.clone()).preamble("Be brief.").build_through(layer, model);
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let response = agent.prompt("When does the office close?").await?;
/// assert_eq!(response.output(), "It closes at six.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AgentBuilderExt: Sized {
    /// Builds the agent so that it calls `model` through `layer`: one layer, or a
    /// `ServiceBuilder` of several.
    fn build_through<L>(self, layer: L, model: impl Into<DynModel<Completion>>) -> Agent
    where
        L: Layer<RigModel>,
        L::Service: Service<AgentCall, Response = ModelReply> + Clone + Send + Sync + 'static,
        <L::Service as Service<AgentCall>>::Error: Into<BoxError>,
        <L::Service as Service<AgentCall>>::Future: Send,
    {
        self.build_on(TowerModel::layered(&layer, model))
    }

    /// Builds the agent so that it calls a stack.
    fn build_on<S>(self, model: TowerModel<S>) -> Agent
    where
        S: Service<AgentCall, Response = ModelReply> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send;
}

macro_rules! build_on {
    ($($tools:ty),+) => {$(
        impl AgentBuilderExt for AgentBuilder<$tools> {
            fn build_on<S>(self, model: TowerModel<S>) -> Agent
            where
                S: Service<AgentCall, Response = ModelReply> + Clone + Send + Sync + 'static,
                S::Error: Into<BoxError>,
                S::Future: Send,
            {
                let label = model.label.clone();
                let builder = self.model_route_handler(label.clone(), model);
                builder.build().with_model_label(label)
            }
        }
    )+};
}

build_on!(NoToolConfig, WithBuilderTools, WithToolServerHandle);

/// A Tower stack that answers [`AgentCall`]s, as a model that a rig agent can call.
///
/// [`AgentBuilderExt`](AgentBuilderExt) installs one. To do it by hand, or to offer it as
/// one of several models, give it to `AgentBuilder::model_route_handler` under its label.
#[derive(Clone)]
pub struct TowerModel<S> {
    label: ModelRef,
    capabilities: ProviderCapabilities,
    stack: S,
}

impl<S> TowerModel<S> {
    /// Serves `stack`, without special abilities.
    pub fn new(stack: S) -> Self {
        Self { label: ModelRef::from("cupel"), capabilities: ProviderCapabilities::new(), stack }
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

    /// Sets the label that the agent calls it by; `cupel` unless set.
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
