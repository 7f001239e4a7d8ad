//! The requests a model answers: a completion, a streamed one, and a call of an agent.

use rig_core::completion::CompletionRequest;
use rig_core::observe::AdapterContext;

/// A request with a rig completion request in it.
///
/// The adapter, the budget and the sources of this crate work on any such request. Implement it
/// for a type of your own to carry more through a Tower stack, such as a tenant.
///
/// ```
/// use cupel_rig::CompletionCall;
/// use rig_core::completion::CompletionRequest;
///
/// struct ForTenant { tenant: u64, request: CompletionRequest }
///
/// impl CompletionCall for ForTenant {
///     fn completion(&self) -> &CompletionRequest { &self.request }
///     fn completion_mut(&mut self) -> &mut CompletionRequest { &mut self.request }
/// }
/// # let call = ForTenant { tenant: 7, request: CompletionRequest::new("hello") };
/// # assert_eq!((call.tenant, call.completion().chat_history.len()), (7, 1));
/// ```
pub trait CompletionCall: Send + 'static {
    /// The completion request.
    fn completion(&self) -> &CompletionRequest;

    /// The completion request, to be edited in place.
    fn completion_mut(&mut self) -> &mut CompletionRequest;
}

impl CompletionCall for CompletionRequest {
    fn completion(&self) -> &CompletionRequest {
        self
    }

    fn completion_mut(&mut self) -> &mut CompletionRequest {
        self
    }
}

/// A completion whose answer is wanted piece by piece.
///
/// A Tower service has one response type for each request type, so a streamed call is another
/// request than a whole one.
#[derive(Debug, Clone)]
pub struct StreamingRequest(pub CompletionRequest);

impl CompletionCall for StreamingRequest {
    fn completion(&self) -> &CompletionRequest {
        &self.0
    }

    fn completion_mut(&mut self) -> &mut CompletionRequest {
        &mut self.0
    }
}

/// One call of a model as an agent makes it: whole or streamed, in one type, so that one Tower
/// stack serves both.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentCall {
    /// Request of the agent.
    pub request: CompletionRequest,
    /// True if the agent wants a streamed answer.
    pub stream: bool,
    /// Observer of the call, if the agent's runtime has one.
    pub observation: Option<AdapterContext>,
}

impl AgentCall {
    /// A call that nobody watches.
    #[must_use]
    pub fn new(request: CompletionRequest, stream: bool) -> Self {
        Self { request, stream, observation: None }
    }
}

impl CompletionCall for AgentCall {
    fn completion(&self) -> &CompletionRequest {
        &self.request
    }

    fn completion_mut(&mut self) -> &mut CompletionRequest {
        &mut self.request
    }
}
