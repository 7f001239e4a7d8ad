//! Plans requests that are not sent: what a layer without sources would send of them.

use cupel::conversation::{DryRun, RehearsedMessage, Role};
use cupel::layer::{ContextAdapter, Strategy};
use cupel::tokens::{Encoding, TokenCounter};
use cupel::{ContextBudget, Policy};
use cupel_json::{
    ClaudeModel, ClaudeModels, Endpoint, JsonBody, MessagesAdapter, Model, Models, OpenAiAdapter,
};

/// Plans requests of all three APIs without sending them. It asks no source, stores nothing, and does not
/// wait.
///
/// ```
/// use cupel::{ContextBudget, Policy};
/// use cupel_audit::Planner;
/// use cupel_json::{Endpoint, JsonBody};
///
/// let json = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}"#;
/// let body = JsonBody::parse(Endpoint::Chat, json).ok_or("no messages")?;
/// let budget = ContextBudget::builder(8_000).build()?;
/// let planned = Planner::new().plan(body, &Policy::chat(), &budget)?;
/// assert!(!planned.is_cut);
/// assert_eq!(planned.body.json(), json);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Planner {
    openai: OpenAiAdapter,
    messages: MessagesAdapter,
    grid_window: Option<i64>,
}

/// A request as it would be sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlannedRequest<T = ()> {
    /// The body that would be sent.
    pub body: JsonBody<T>,
    /// Set if anything was dropped, shortened or quoted.
    pub is_cut: bool,
    /// Form in which each message would be sent.
    pub forms: Vec<RehearsedMessage>,
    /// Tokens of the request that would be sent.
    pub tokens: i64,
    /// Report on the turn.
    pub turn: DryRun,
}

/// Tokens of a request, message by message.
#[derive(Debug, Clone, Default)]
pub(crate) struct MeasuredRequest {
    /// Tokens beside the messages.
    pub(crate) fixed: i64,
    /// Tokens of each message.
    pub(crate) messages: Vec<i64>,
    /// Messages that are sent together or not at all.
    pub(crate) units: Vec<Vec<usize>>,
    /// Set for instructions.
    pub(crate) instructions: Vec<bool>,
}

impl Default for Planner {
    fn default() -> Self {
        Self::new()
    }
}

impl Planner {
    /// Counts as each model does. Models that are not known are counted as GPT-4o is, or as Claude is.
    pub fn new() -> Self {
        let models = Models::new().otherwise(Model::new(128_000, Encoding::O200k));
        let claude = ClaudeModels::new().otherwise(ClaudeModel::new(200_000));
        Self {
            openai: OpenAiAdapter::new().models(models),
            messages: MessagesAdapter::new().models(claude),
            grid_window: None,
        }
    }

    /// Uses this adapter for Chat Completions and Responses.
    pub fn openai(mut self, adapter: OpenAiAdapter) -> Self {
        self.openai = adapter;
        self
    }

    /// Uses this adapter for Anthropic's Messages.
    pub fn messages(mut self, adapter: MessagesAdapter) -> Self {
        self.messages = adapter;
        self
    }

    /// Counts all texts with this counter.
    pub fn counter(mut self, counter: impl TokenCounter + Clone + 'static) -> Self {
        self.openai = self.openai.counter(counter.clone());
        self.messages = self.messages.counter(counter);
        self
    }

    /// Sets the window on which the grid of plans depends, if it is not the budget's.
    pub fn grid_window(mut self, tokens: impl Into<Option<i64>>) -> Self {
        self.grid_window = tokens.into();
        self
    }

    /// Plans a request.
    ///
    /// # Errors
    ///
    /// Says why the request cannot be fitted.
    pub fn plan<T: Clone + Send + 'static>(
        &self,
        body: JsonBody<T>,
        policy: &Policy,
        budget: &ContextBudget,
    ) -> Result<PlannedRequest<T>, String> {
        match body.endpoint() {
            Endpoint::Messages => plan(&self.messages, body, policy, (budget, self.grid_window)),
            _ => plan(&self.openai, body, policy, (budget, self.grid_window)),
        }
    }

    /// Counts a request.
    pub(crate) fn measure(&self, body: &JsonBody) -> Result<MeasuredRequest, String> {
        match body.endpoint() {
            Endpoint::Messages => measure(&self.messages, body.clone()),
            _ => measure(&self.openai, body.clone()),
        }
    }
}

fn plan<T: Clone + Send + 'static, A: ContextAdapter<JsonBody<T>>>(
    adapter: &A,
    body: JsonBody<T>,
    policy: &Policy,
    (budget, grid_window): (&ContextBudget, Option<i64>),
) -> Result<PlannedRequest<T>, String> {
    let count = body.message_count();
    let strategy = match policy.plan() {
        Some(_) => Strategy::Planned,
        None => Strategy::Scored,
    };
    let split = adapter.split(body, strategy).map_err(|error| error.to_string())?;
    let turn = {
        let texts = adapter.texts(&split.rest);
        let rehearsal = split.rehearsal(&*texts).ok_or("the request has no conversation")?;
        rehearsal
            .grid_window(grid_window)
            .dry_run(policy, budget)
            .map_err(|error| error.to_string())?
    };
    let forms: Vec<RehearsedMessage> = (0..count).map(|at| turn.view_of(at)).collect();
    let is_cut = turn.edits.changes_messages();
    let tokens = turn.sent.tokens.saturating_add(split.fixed_tokens);
    let mut edits = turn.edits.clone();
    let body = adapter.join(split.rest, &mut edits).map_err(|error| error.to_string())?;
    Ok(PlannedRequest { body, is_cut, forms, tokens, turn })
}

fn measure<A: ContextAdapter<JsonBody>>(
    adapter: &A,
    body: JsonBody,
) -> Result<MeasuredRequest, String> {
    let split = adapter.split(body, Strategy::Planned).map_err(|error| error.to_string())?;
    let conversation = split.conversation.as_deref().ok_or("the request has no conversation")?;
    let messages = conversation.messages();
    Ok(MeasuredRequest {
        fixed: split.fixed_tokens,
        messages: messages.iter().map(|message| message.tokens).collect(),
        units: (0..split.candidates.len())
            .map(|unit| conversation.messages_of(unit).to_vec())
            .collect(),
        instructions: messages.iter().map(|message| message.role == Role::System).collect(),
    })
}
