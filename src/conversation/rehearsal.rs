//! Dry runs over messages: a turn as the layer would send it, without a service.

use super::edits::{Edits, SentSummary, WrittenTurn, withdraw};
use super::message::{MessageTexts, Texts};
use super::plan::{ReportedRequest, TurnFacts, TurnReport, recall_pipeline};
use super::tools::ToolRoom;
use super::units::Conversation;
use crate::diagnostics::{DiagnosticTraceCollector, SelectionReport, TraceDetailLevel};
use crate::error::CupelError;
use crate::explain::Explanation;
use crate::model::{
    ContextBudget, ContextItem, Origin, PlacedItem, RefusedItem, Strategy, TurnPlan,
};
use crate::pipeline::Pipeline;
use crate::policy::{Policy, Relevance};
use crate::relevance::JudgeOutcome;
use crate::tool_choice::{ToolOffer, ToolReport};

/// A conversation of which policies are asked what they would send.
///
/// A policy with a [plan](Policy::plan) plans the turn; any other scores the messages. Both take the
/// steps of a layer with this policy and without sources, so the answer is what that layer sends. The
/// overflow observer is not told. [`what_if`](super::what_if) has the questions about other budgets and
/// policies.
///
/// ```
/// use cupel::conversation::{Conversation, Message, Rehearsal, Role, Rules};
/// use cupel::model::Strategy;
/// use cupel::{ContextBudget, Policy};
///
/// let mut messages = vec![Message::new(Role::User, "The key is under the mat.", 100)];
/// for turn in 0..40 {
///     messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
///     messages.push(Message::new(Role::User, format!("Remark {turn}."), 100));
/// }
/// messages.push(Message::new(Role::Assistant, "Anything else?", 100));
/// messages.push(Message::new(Role::User, "Where is the key?", 10));
///
/// let rehearsal = Rehearsal::new(Conversation::new(messages, &Rules::new())?)?;
/// let turn = rehearsal.dry_run(&Policy::chat(), &ContextBudget::builder(4_000).build()?)?;
/// assert_eq!(turn.report.strategy, Strategy::Planned);
/// assert!(turn.sent.tokens <= 4_000);
/// let quotation = turn.edits.quotation.expect("the first message is recalled");
/// assert!(quotation.text.contains("under the mat"));
/// assert_eq!(turn.edits.kept.last(), Some(&82));
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Rehearsal<'a> {
    pub(super) conversation: Conversation,
    candidates: Vec<ContextItem>,
    refused: Vec<RefusedItem>,
    texts: &'a dyn Texts,
    fixed_tokens: i64,
    grid_window: Option<i64>,
    remote: bool,
    tools: ToolOffer,
}

/// A turn that was not sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DryRun {
    /// Every candidate with its reason, and the [strategy](SelectionReport::strategy).
    pub report: SelectionReport,
    /// The plan, where the turn was planned. Its expectation of a prompt cache is that of the plan:
    /// adapters lower it to what their API can know.
    pub plan: Option<TurnReport>,
    /// The messages that are kept, the excerpts and the quotation.
    pub edits: Edits,
    /// Items and tokens of the request.
    pub sent: SentSummary,
    /// The budget that the selection had: the one that was given, less the fixed tokens.
    pub budget: ContextBudget,
    /// Tokens of the definitions of tools that are sent. They are among the fixed ones.
    pub tool_tokens: i64,
    /// Tools that are sent and left out. None if all are sent.
    pub tools: Option<Box<ToolReport>>,
}

/// Form in which a message is sent, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RehearsedMessage {
    /// Not sent.
    Dropped,
    /// Quoted before the user's last words.
    Quoted,
    /// Sent in its place, with an excerpt of a tool's result.
    Excerpt,
    /// Sent unchanged.
    Whole,
}

impl Rehearsal<'static> {
    /// Rehearses a conversation whose messages hold their own texts.
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] if no message of it could be sent.
    pub fn new(mut conversation: Conversation) -> Result<Self, CupelError> {
        conversation.check().map_err(CupelError::PipelineConfig)?;
        let (candidates, refused) = (conversation.take_candidates(), conversation.take_refused());
        Ok(Self::of_parts(conversation, candidates, refused))
    }

    /// Rehearses a conversation whose candidates have been taken out.
    pub(crate) fn of_parts(
        conversation: Conversation,
        mut candidates: Vec<ContextItem>,
        refused: Vec<RefusedItem>,
    ) -> Self {
        candidates.iter_mut().for_each(|item| item.set_gathered(false));
        Self {
            conversation,
            candidates,
            refused,
            texts: &MessageTexts,
            fixed_tokens: 0,
            grid_window: None,
            remote: false,
            tools: ToolOffer::default(),
        }
    }
}

impl<'a> Rehearsal<'a> {
    /// Reads the messages' texts here instead.
    pub fn texts<'b>(self, texts: &'b dyn Texts) -> Rehearsal<'b> {
        let Self {
            conversation,
            candidates,
            refused,
            fixed_tokens,
            grid_window,
            remote,
            tools,
            ..
        } = self;
        Rehearsal {
            conversation,
            candidates,
            refused,
            texts,
            fixed_tokens,
            grid_window,
            remote,
            tools,
        }
    }

    /// Sets the tokens that are sent beside the conversation, such as definitions of tools; 0 unless set.
    pub fn fixed_tokens(mut self, tokens: i64) -> Self {
        self.fixed_tokens = tokens;
        self
    }

    /// Sets the tools of the request, whose tokens are among the [fixed](Self::fixed_tokens) ones; none unless
    /// set.
    pub fn tools(mut self, tools: impl Into<ToolOffer>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Sets the window on which the grid of the plan depends, where it is not the budget's. A layer gets it from
    /// its [budget](crate::conversation::plan::Turn::grid_window).
    pub fn grid_window(mut self, tokens: impl Into<Option<i64>>) -> Self {
        self.grid_window = tokens.into();
        self
    }

    /// Says that the request stands for more than it holds.
    pub(crate) fn remote(mut self, is_remote: bool) -> Self {
        self.remote = is_remote;
        self
    }

    /// The turn that a policy would send within a budget.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidBudget`] if the fixed tokens are negative or leave no budget; a setting of
    /// the policy's plan or judge that is out of range; otherwise as [`Pipeline::run`].
    pub fn dry_run(&self, policy: &Policy, budget: &ContextBudget) -> Result<DryRun, CupelError> {
        let (mut talk, texts) = (self.conversation.clone(), self.texts);
        let _ = policy.tools().clone().check()?;
        let room = ToolRoom::of(budget, self.fixed_tokens, &self.candidates);
        let fitted = talk.fit_tools(self.tools.clone(), policy.tools(), room, texts);
        let saved = fitted.as_ref().map_or(0, |fitted| fitted.report.saved_tokens());
        let fixed_tokens = self.fixed_tokens.saturating_sub(saved);
        let tool_tokens = self.tools.tokens().saturating_sub(saved);
        let left = left(budget, fixed_tokens)?;
        let plan = policy.plan().cloned().map(TurnPlan::check).transpose()?;
        let relevance = policy.relevance();
        relevance.into_iter().try_for_each(Relevance::check)?;

        let mut facts = TurnFacts::new(budget.max_tokens(), &left, fixed_tokens);
        facts.grid_window = self.grid_window;
        facts.remote = self.remote;
        facts.tools_changed = fitted.as_ref().is_some_and(|fitted| fitted.report.changed);
        let judge = relevance.map(|relevance| &**relevance.judge());
        let planned = plan.and_then(|plan| {
            let planned = talk.plan(&facts.turn(&plan), judge, texts)?;
            Some((planned, recall_pipeline(&plan, policy.pipeline())))
        });

        let mut own = self.candidates.clone();
        let mut reported = ReportedRequest::default();
        let (planned, limit, pipeline, judged) = match planned {
            Some((planned, pipeline)) => {
                let limit = planned.prepare(&mut own, &left);
                reported = talk.reported_request(&own, &planned.parts, texts);
                (Some(planned), limit, pipeline, None)
            }
            None => {
                let (pipeline, judged) = self.judge(policy, &mut own);
                (None, left.clone(), pipeline, judged)
            }
        };

        let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Stage);
        let positions = pipeline.quiet().run_positions(&own, &limit, &mut collector)?;
        let mut report = collector.into_report();
        report.relevance = judged.map(|judged| judged.report);
        report.strategy = Strategy::of(planned.is_some());
        report.refuse(self.refused.iter().cloned());
        let place = |position: usize| {
            let item = own.get(position)?.clone();
            Some(PlacedItem { item, origin: Origin::Request(position) })
        };
        let mut placed: Vec<PlacedItem> = positions.into_iter().filter_map(place).collect();
        if planned.is_none() {
            withdraw(talk.needs(), &mut placed, &mut report);
        }

        let candidates = own.len() + self.refused.len();
        let listed = (candidates, &mut report);
        let mut written = WrittenTurn::new(Some(talk), planned, placed, &left, listed, texts);
        written.edits.fixed_tokens = fixed_tokens;
        let tools = fitted.map(|fitted| written.edits.leave_out_tools(*fitted));
        let plan = written.report(reported, budget.max_tokens());
        if let Some(plan) = &plan {
            plan.name_reasons(&mut report);
        }
        let WrittenTurn { edits, sent, .. } = written;
        Ok(DryRun { report, plan, edits, sent, budget: left, tool_tokens, tools })
    }

    /// Gives the candidates their hints for the conversation's question, and says how to select.
    fn judge(&self, policy: &Policy, own: &mut [ContextItem]) -> (Pipeline, Option<JudgeOutcome>) {
        let question = policy
            .relevance()
            .and_then(|relevance| Some((relevance, self.conversation.question(self.texts)?)));
        let Some((relevance, question)) = question else { return (policy.to_pipeline(), None) };
        let task = self.conversation.judge_task(&question, own, self.texts);
        let judge = relevance.judge();
        let judged = JudgeOutcome::of(judge.name(), relevance.blended(), task.run(&**judge), own);
        let pipeline = match judged.report.asked {
            true => relevance.pipeline(policy.pipeline()),
            false => policy.to_pipeline(),
        };
        (pipeline, Some(judged))
    }
}

/// The budget that the fixed tokens leave.
fn left(budget: &ContextBudget, fixed: i64) -> Result<ContextBudget, CupelError> {
    if fixed < 0 {
        let problem = format!("must be at least 0, got {fixed}");
        return Err(CupelError::budget("fixedTokens", problem));
    }
    let none_left = |_| {
        let problem = format!(
            "of {fixed} leave nothing of the {} that a request may take; shorten what is fixed, \
             or raise the budget",
            budget.available_tokens()
        );
        CupelError::budget("fixedTokens", problem)
    };
    budget.plus(fixed.saturating_neg()).map_err(none_left)
}

impl DryRun {
    /// Form in which a message is sent.
    #[must_use]
    pub fn view_of(&self, message: usize) -> RehearsedMessage {
        let Edits { kept, excerpts, quotation, .. } = &self.edits;
        if kept.binary_search(&message).is_ok() {
            let mut excerpts = excerpts.range((message, 0)..=(message, usize::MAX));
            return excerpts.next().map_or(RehearsedMessage::Whole, |_| RehearsedMessage::Excerpt);
        }
        match quotation {
            Some(quotation) if quotation.messages.binary_search(&message).is_ok() => {
                RehearsedMessage::Quoted
            }
            _ => RehearsedMessage::Dropped,
        }
    }

    /// The turn as something to look at.
    pub fn explain(&self) -> Explanation {
        let explanation = Explanation::new(self.report.clone())
            .budget(self.budget.clone())
            .fixed_tokens(self.edits.fixed_tokens)
            .tool_tokens(self.tool_tokens);
        let explanation = match &self.plan {
            Some(plan) => plan.explain(explanation),
            None => explanation,
        };
        match &self.tools {
            Some(tools) => explanation.tools((**tools).clone()),
            None => explanation,
        }
    }
}

impl RehearsedMessage {
    /// Returns true if the model sees anything of the message.
    #[must_use]
    pub fn is_in_view(self) -> bool {
        self != Self::Dropped
    }
}

impl std::fmt::Debug for Rehearsal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rehearsal")
            .field("messages", &self.conversation.messages().len())
            .field("fixed_tokens", &self.fixed_tokens)
            .finish_non_exhaustive()
    }
}
