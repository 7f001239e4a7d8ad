//! One call from top to bottom: budget, read, plan, judge, gather, select, write, report.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use tracing::Instrument as _;

use super::batch::SelectionJob;
use super::call::{LayerState, OpenedCall, ReadRequest, WriteTask, guarded};
use super::call_log::CallLog;
use super::gathering::CallIntake;
use super::room::CallRoom;
use super::{ContextAdapter, ContextError, PolicyHandle, Selection, Split};
use crate::conversation::Conversation;
use crate::conversation::edits::withdraw;
use crate::conversation::plan::{Quotation, TurnFacts};
use crate::gather::work_place::{WorkNeed, WorkPlace};
use crate::gather::{Arrivals, SelectionOutcome};
use crate::model::{ContextItem, Strategy};

/// Selects the context of requests. [`CupelLayer`](super::CupelLayer) is built around one, and
/// [`CupelLayer::selector`](super::CupelLayer::selector) gives it. Cheap to clone.
///
/// ```
/// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
/// use cupel::{ContextBudget, ContextItem, Policy};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let selector = CupelLayer::builder()
///     .adapter(ContextRequestAdapter)
///     .policy(Policy::chat())
///     .budget(ContextBudget::builder(10).build()?)
///     .build()?
///     .selector();
/// let request = ContextRequest::new("model-name")
///     .item(ContextItem::new("The key is under the mat.", 7)?)
///     .item(ContextItem::new("Nice weather today.", 5)?)
///     .question("Where is the key?");
/// let (request, selection) = selector.select(request).await?.into_parts();
/// assert_eq!(request.items().next().unwrap().content(), "The key is under the mat.");
/// assert_eq!(selection.sent.left_out, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Selector<Req, A> {
    /// Settings of the next call.
    current: Arc<RwLock<Arc<LayerState<Req, A>>>>,
}

/// A trimmed request and its selection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SelectedRequest<Req> {
    /// The request that is to be sent.
    pub request: Req,
    /// Report on the selection.
    pub selection: Box<Selection>,
}

impl<Req> SelectedRequest<Req> {
    /// The request and its selection.
    pub fn into_parts(self) -> (Req, Selection) {
        (self.request, *self.selection)
    }
}

/// The future of a selection.
pub(super) type SelectFuture<Req> =
    Pin<Box<dyn Future<Output = Result<SelectedRequest<Req>, ContextError>> + Send>>;

impl<Req: Send + 'static, A: ContextAdapter<Req> + 'static> Selector<Req, A> {
    /// A handle that replaces the policy of this selector, of its layer and of its services.
    #[must_use]
    pub fn policy_handle(&self) -> PolicyHandle {
        let selector = self.clone();
        PolicyHandle::new(move |policy| {
            let next = Arc::new(selector.shared().with_policy(policy)?);
            let mut current = selector.current.write().unwrap_or_else(PoisonError::into_inner);
            let last = std::mem::replace(&mut *current, next);
            drop(current);
            drop(last); // user code, which may want the lock
            Ok(())
        })
    }

    /// Selects the context of a request: the trimmed request, and why it is what it is.
    ///
    /// # Errors
    ///
    /// [`ContextError`] when no context can be selected.
    pub async fn select(&self, request: Req) -> Result<SelectedRequest<Req>, ContextError> {
        self.start(request, true).await
    }

    /// Starts a selection. Its span begins here, inside the caller's, and its sources are opened, which
    /// runs none of them: they see the world as it is when the call is made.
    pub(super) fn start(&self, request: Req, wants_report: bool) -> SelectFuture<Req> {
        let shared = self.shared();
        let mut log = CallLog::begin(&shared.hooks, wants_report);
        let span = log.span().clone();
        let opened = span.in_scope(|| guarded(|| shared.open(&request, &mut log)));
        let call = Box::new(StartedCall { request, opened });
        Box::pin(run(shared, call, log).instrument(span))
    }
}

/// A request, and what was opened for it. The call waits with it, so it is behind one pointer.
struct StartedCall<Req> {
    request: Req,
    opened: Result<OpenedCall, ContextError>,
}

async fn run<Req: Send + 'static, A: ContextAdapter<Req> + 'static>(
    shared: Arc<LayerState<Req, A>>,
    call: Box<StartedCall<Req>>,
    mut log: CallLog,
) -> Result<SelectedRequest<Req>, ContextError> {
    log.observe(&shared.hooks);
    let mut selection = Box::new(Selection::empty());
    match steps(&shared, call, &mut log, &mut selection).await {
        Ok(request) => {
            log.selected(&shared.hooks, &mut selection);
            Ok(SelectedRequest { request, selection })
        }
        Err(error) => {
            log.failed(&shared.hooks, &error, &selection.gather);
            Err(error)
        }
    }
}

/// The call itself.
async fn steps<Req: Send + 'static, A: ContextAdapter<Req> + 'static>(
    shared: &Arc<LayerState<Req, A>>,
    call: Box<StartedCall<Req>>,
    log: &mut CallLog,
    selection: &mut Selection,
) -> Result<Req, ContextError> {
    // Budget: what the request and the answer may take together.
    let StartedCall { request, opened } = *call;
    let OpenedCall { reading, budget, origin, gather, scope } = opened?;
    let place = &WorkPlace::new(shared.blocking_threshold, shared.gather_deadline);

    // Read: the request becomes candidates and a rest.
    let Split {
        candidates,
        conversation,
        fixed_tokens,
        rest,
        source_frame_tokens,
        recounts_sources,
        refused,
        needs,
        uncounted,
        question,
        tools,
    } = shared.read(request, reading, place).await?;
    let mut room = CallRoom::new(budget, origin);
    let frame_tokens = if gather.is_some() { source_frame_tokens } else { 0 };
    CallRoom::check([("fixed_tokens", fixed_tokens), ("source_frame_tokens", frame_tokens)])?;
    // A call waits with all of this, so it is behind one pointer.
    let mut read =
        Box::new(ReadRequest { rest, talk: conversation, own: candidates, steps: reading });

    // Tools: of a request that does not fit, those that its questions need.
    let offered = tools.tokens();
    let tool_room = room.for_tools(fixed_tokens, &read.own);
    let mut fitted = None;
    if shared.lacks_room_for_tools(&read, &tools, tool_room) {
        (read, fitted) = Box::pin(shared.fit_tools(read, tools, tool_room, place)).await?;
    }
    let tools = fitted;
    let saved = tools.as_ref().map_or(0, |tools| tools.report.saved_tokens());
    let fixed_tokens = fixed_tokens.saturating_sub(saved);
    selection.tool_tokens = offered.saturating_sub(saved);
    selection.budget = room.take_off(fixed_tokens)?;
    selection.refused = refused.len();
    selection.uncounted = uncounted;
    let came_with: Vec<Option<f64>> = match shared.waiting() {
        Some(_) => read.own.iter().map(ContextItem::future_relevance_hint).collect(),
        None => Vec::new(),
    };

    // Plan: for a conversation, what is sent whatever is recalled.
    let mut facts = TurnFacts::new(room.window(), &selection.budget, fixed_tokens);
    facts.grid_window = room.grid_window();
    facts.has_sources = !shared.sources.is_empty();
    facts.remote = !selection.uncounted.is_empty();
    facts.tools_changed = tools.as_ref().is_some_and(|tools| tools.report.changed);
    let mut turn = None;
    if shared.plans(&read) {
        let wants_report = log.wants_report();
        let plan = shared.plan(read, (facts, scope), &selection.budget, wants_report, place);
        let plan = Box::pin(plan);
        (read, turn) = plan.await?;
        selection.summaries = turn.as_mut().and_then(|turn| turn.summaries.take());
    }

    // Judge: without a plan, how close the candidates are to the question.
    let mut question = question;
    let mut judged = turn.as_ref().and_then(|turn| turn.judged.clone());
    if turn.is_none() {
        // The library quotes the items of sources in a conversation.
        let talk = read.talk.as_ref().filter(|_| gather.is_some());
        let quote_tokens = talk.map_or(0, |talk| Quotation::frame_tokens(talk.token_counter()));
        let frame_tokens = frame_tokens.saturating_add(quote_tokens);
        if frame_tokens > 0 {
            selection.budget = room.take_off(frame_tokens)?;
        }
        if let Some(judging) = &shared.judging {
            let judging = Box::pin(shared.judge_own(read, question, judging, place));
            (read, question, judged) = judging.await?;
        }
    } else if shared.waiting().is_some() {
        let asked = |talk: &Conversation| talk.question(&*shared.adapter.texts(&read.rest));
        question = guarded(|| Ok(read.talk.as_deref().and_then(asked)))?;
    }
    selection.fixed_tokens = room.fixed_tokens();
    let mut arrivals = Arrivals::new(std::mem::take(&mut read.own), shared.sources.len());
    arrivals.judged = judged;

    // Gather: the sources deliver; an async judge runs beside them, unless this exchange has its answers.
    let planned = turn.as_ref().map(|turn| &turn.planned);
    let open = turn.as_ref().and_then(|turn| turn.open.as_deref());
    let kept = open.and_then(|open| shared.exchanges.of_call_before(&open.exchange));
    let queue = shared.judge_queue(planned, &arrivals, question);
    if let Some(mut queue) = queue.filter(|_| !matches!(kept, Some(None))) {
        let texts = shared.adapter.texts(&read.rest);
        let text = |index: usize, item: &ContextItem| match &read.talk {
            Some(talk) => {
                let mut text = String::new();
                talk.write_candidate(index, &*texts, &mut text);
                text.into()
            }
            None => item.shared_content(),
        };
        let verdict = arrivals.judged.as_ref().and_then(|judged| judged.verdict.as_ref());
        let verdict = verdict.filter(|_| read.talk.is_some());
        guarded(|| {
            match open {
                Some(open) if kept.is_none() => queue.ask_about_plan(Arc::clone(&open.task)),
                Some(_) => {}
                None => {
                    let own = std::mem::take(&mut arrivals.own);
                    arrivals.own = queue.hold_own(own, &came_with, verdict, text);
                }
            }
            Ok(())
        })?;
        arrivals.queue = Some(Box::new(queue));
    }
    let intake = CallIntake {
        shared,
        read: &mut read,
        planned,
        limit: turn.as_ref().map_or(&selection.budget, |turn| &turn.limit),
        wants_report: log.wants_report(),
        recounts: recounts_sources,
    };
    shared.gather(gather, &mut arrivals, intake, &mut selection.gather).await?;

    // Its answers decide with the words what is recalled.
    if let Some(planned) = turn.take_if(|turn| turn.open.is_some()) {
        let budget = ((&selection.budget, log.wants_report()), place);
        let report = &mut selection.gather.judge;
        let again =
            Box::pin(shared.use_answers(read, planned, kept, budget, &mut arrivals, report));
        let (back, planned) = again.await?;
        (read, turn) = (back, Some(planned));
    }

    // What the request holds anyway is not quoted again.
    let mut repeats = Vec::new();
    let has_brought = arrivals.sources.iter().any(|items| !items.is_empty());
    if let Some(planned) = turn.take_if(|_| has_brought && arrivals.streaming.is_none()) {
        let taking = Box::pin(shared.take_repeats(read, planned, &mut arrivals, place));
        let (back, planned, taken) = taking.await?;
        (read, turn, repeats) = (back, Some(planned), taken);
    }

    // Select: the pipeline picks what fits.
    let (asked, planned) = (arrivals.is_asked(), turn.is_some());
    let repeated = repeats.len();
    let job = Box::new(SelectionJob {
        arrivals,
        budget: turn.as_ref().map_or(&selection.budget, |turn| &turn.limit).clone(),
        refused: refused.into_iter().chain(repeats).collect(),
        watchers: log.watchers(shared.explain_scores),
    });
    let steps = job.steps(shared.pipeline_for(asked, planned), &shared.cost);
    let state = Arc::clone(shared);
    let select = move || job.run(state.pipeline_for(asked, planned), &state.facts, &state.cost);
    let chosen = place.run(steps, WorkNeed::Required, select).await;
    let mut chosen = chosen?.map_err(|error| room.explain(error, read.talk.as_deref()))?;

    // Write: the adapter puts the selection back, where it was read. What it refused counts as a candidate.
    let candidates = chosen.candidates + selection.refused + repeated;
    if turn.is_none() {
        selection.refused += withdraw(&needs, &mut chosen.placed, &mut chosen.report);
    }
    let SelectionOutcome { placed, report, stream, sources, .. } = chosen;
    (selection.report, selection.stream) = (report, stream);
    selection.report.strategy = Strategy::of(turn.is_some());
    for (report, notes) in selection.gather.sources.iter_mut().zip(sources) {
        report.pins_lifted = notes.pins_lifted;
        report.broke_promise = notes.broke_promise;
    }
    let task = WriteTask { placed, turn, candidates, window: room.window(), tools };
    let request = Box::pin(shared.write(read, task, selection, place)).await?;
    selection.estimated = place.has_estimates();
    Ok(request)
}

impl<Req, A> Selector<Req, A> {
    pub(super) fn new(shared: LayerState<Req, A>) -> Self {
        Self { current: Arc::new(RwLock::new(Arc::new(shared))) }
    }

    fn shared(&self) -> Arc<LayerState<Req, A>> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn is_ready_after_gathering(&self) -> bool {
        self.shared().ready_after_gathering
    }

    pub(super) fn debug(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let shared = self.shared();
        f.debug_struct(name)
            .field("pipeline", &shared.pipeline)
            .field("sources", &shared.sources)
            .field("gather_deadline", &shared.gather_deadline)
            .field("ready_after_gathering", &shared.ready_after_gathering)
            .finish_non_exhaustive()
    }
}

impl<Req, A> Clone for Selector<Req, A> {
    fn clone(&self) -> Self {
        Self { current: Arc::clone(&self.current) }
    }
}

impl<Req, A> fmt::Debug for Selector<Req, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.debug(f, "Selector")
    }
}
