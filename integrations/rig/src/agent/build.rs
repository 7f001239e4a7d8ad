//! `.build_through(..)` on rig's agent builder.

use cupel::gather::BoxError;
use rig_agent::agent::{NoToolConfig, WithBuilderTools, WithToolServerHandle};
use rig_agent::{Agent, AgentBuilder};
use rig_core::{DynModel, operation::Completion};
use tower::{Layer, Service};

use super::TowerModel;
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
                let label = model.model_ref();
                let builder = self.model_route_handler(label.clone(), model);
                builder.build().with_model_label(label)
            }
        }
    )+};
}

build_on!(NoToolConfig, WithBuilderTools, WithToolServerHandle);
