//! The edits that a selection comes to, which an adapter writes into its request.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};

use super::message::{Message, Role, Texts};
use super::plan::{
    CacheExpectation, Excerpt, Part, PlanOutcome, Quotation, ReportedRequest, SentMessage,
    StandingBlock, TurnReport,
};
use super::tools::FittedTools;
use super::units::{Arrangement, Conversation, withdrawn};
use crate::diagnostics::SelectionReport;
use crate::model::{ContextBudget, ContextItem, Origin, PlacedItem};
use crate::relevance::{JudgeTask, Question};
use crate::tool_choice::ToolReport;

/// A selection as changes to a request.
///
/// An adapter of plain items writes [`placed`](Self::placed). An adapter of a conversation keeps the
/// messages in [`kept`](Self::kept), replaces results by [`excerpts`](Self::excerpts), and puts the
/// [`quotation`](Self::quotation) before the user's last words.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Edits {
    /// Selected items that are written as they are, in the placer's order. Empty for a conversation.
    pub placed: Vec<PlacedItem>,
    /// Quotation of what sources gave to a conversation that has no plan. The adapter writes it as it
    /// stands: beside the user's last words, with nothing of it taken out of its frame.
    pub sources: Option<String>,
    /// Indexes of the messages that stay, ascending. All others are dropped.
    pub kept: Vec<usize>,
    /// Numbers of the request's documents that stay where they are, ascending.
    pub documents: Vec<usize>,
    /// Texts in the place of tools' results, by message and by the result's number in it.
    pub excerpts: BTreeMap<(usize, usize), Excerpt>,
    /// Text before everything that the user says in a message.
    pub quotation: Option<QuotationEdit>,
    /// The plan that was followed, where the turn was planned. An adapter lowers
    /// [`PlanOutcome::expected`] to what its API's prompt cache can know.
    pub plan: Option<PlanOutcome>,
    /// Tokens beside the conversation: tools and formats.
    pub fixed_tokens: i64,
    /// True if the layer has sources.
    pub has_sources: bool,
    /// Indexes of the [tools](crate::tool_choice) that stay, ascending. None if all do.
    pub tools: Option<Vec<usize>>,
    conversation: Option<Conversation>,
}

/// Text that becomes the first part of a user's message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotationEdit {
    /// Index of the message.
    pub message: usize,
    /// The text.
    pub text: String,
    /// Its tokens, with those of the part that holds it.
    pub tokens: i64,
    /// Indexes of the messages that it quotes, ascending.
    pub messages: Vec<usize>,
}

impl Edits {
    /// Edits of a request that was taken apart into items.
    #[must_use]
    pub fn of_items(placed: Vec<PlacedItem>) -> Self {
        Self { placed, ..Self::default() }
    }

    /// The messages of the conversation as they were read.
    pub fn messages(&self) -> &[Message] {
        self.conversation.as_ref().map_or(&[], |conversation| conversation.messages())
    }

    /// Indexes of the messages that a candidate stands for.
    #[must_use]
    pub fn messages_of(&self, candidate: usize) -> &[usize] {
        let conversation = self.conversation.as_ref();
        conversation.map_or(&[], |conversation| conversation.messages_of(candidate))
    }

    /// Role of a message.
    #[must_use]
    pub fn role_of(&self, message: usize) -> Option<Role> {
        self.messages().get(message).map(|message| message.role)
    }

    /// Returns true if the plan cut the conversation, so that marks of a prompt cache are worth setting.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| !plan.whole)
    }

    /// Returns true if any message is dropped or changed.
    #[must_use]
    pub fn changes_messages(&self) -> bool {
        self.kept.len() < self.messages().len()
            || !self.excerpts.is_empty()
            || self.quotation.is_some()
            || self.standing().is_some()
    }

    /// Standing orders of the user. They become the first text of a user's message, before the
    /// [`quotation`](Self::quotation) if that is in the same one.
    #[must_use]
    pub fn standing(&self) -> Option<&StandingBlock> {
        self.plan.as_ref()?.standing.as_ref()
    }

    /// Notes the tools that stay. Returns their report with what the change of the set costs.
    pub(crate) fn leave_out_tools(&mut self, fitted: FittedTools) -> Box<ToolReport> {
        let FittedTools { kept, mut report } = fitted;
        self.tools = Some(kept);
        report.lost_tokens = self.plan.as_ref().map_or(0, |plan| plan.expected.lost_with_tools);
        Box::new(report)
    }

    /// The expectation of the prompt cache, to be lowered.
    pub fn expected_mut(&mut self) -> Option<&mut CacheExpectation> {
        self.plan.as_mut().map(|plan| &mut plan.expected)
    }
}

/// A selection in the order in which it is sent, and its quotation.
struct ArrangedTurn {
    /// Its documents are those that stay where they are.
    arranged: Arrangement,
    /// Text of the quotation, and the messages in it.
    quotation: Option<(String, Vec<usize>)>,
    /// Tokens of the quotation, with those of the part that holds it.
    tokens: i64,
}

impl Conversation {
    /// The edits that a selection comes to.
    #[must_use]
    pub fn edits(
        self,
        placed: &[PlacedItem],
        plan: Option<PlanOutcome>,
        texts: &dyn Texts,
    ) -> Edits {
        let turn = self.arrange_turn(placed, plan.as_ref(), texts);
        self.edits_of(turn, plan, texts)
    }

    fn edits_of(self, turn: ArrangedTurn, plan: Option<PlanOutcome>, texts: &dyn Texts) -> Edits {
        let ArrangedTurn { arranged, quotation, tokens } = turn;
        let Arrangement { kept, documents, retrieved, .. } = arranged;
        let Some(mut plan) = plan else {
            let sources = quotation.map(|(text, _)| text);
            let conversation = Some(self);
            return Edits { sources, kept, documents, conversation, ..Edits::default() };
        };
        let sources = retrieved.iter().map(|placed| texts.source(&placed.item));
        let block = plan.standing.take();
        plan.standing = block.and_then(|block| block.without(sources, self.token_counter()));
        let quotation = plan
            .question
            .zip(quotation)
            .map(|(message, (text, messages))| QuotationEdit { message, text, tokens, messages });
        Edits {
            placed: Vec::new(),
            kept,
            documents,
            excerpts: std::mem::take(&mut plan.excerpts),
            quotation,
            plan: Some(plan),
            conversation: Some(self),
            ..Edits::default()
        }
    }

    fn arrange_turn(
        &self,
        placed: &[PlacedItem],
        plan: Option<&PlanOutcome>,
        texts: &dyn Texts,
    ) -> ArrangedTurn {
        let parts = plan.map_or(&[][..], |plan| &plan.parts);
        let is_sent = |unit: usize| parts.get(unit).is_none_or(|part| part.is_sent());
        let mut arranged = self.arrange_by(placed, is_sent);
        arranged.documents.sort_unstable();
        let Some(plan) = plan else {
            let mut quotation = Quotation::new();
            quotation.sources(&arranged.retrieved, texts);
            let text = (!quotation.is_empty()).then(|| quotation.finish());
            let tokens = text.as_ref().map_or(0, |text| self.counter.count(text).max(0));
            return ArrangedTurn { arranged, quotation: text.map(|it| (it, Vec::new())), tokens };
        };
        let first = parts.len().saturating_sub(self.documents.len());
        let (kept, quoted): (Vec<usize>, Vec<usize>) =
            arranged.documents.drain(..).partition(|document| is_sent(first + document));
        arranged.documents = kept;
        let quotation = self.quotation(plan, &arranged, &quoted, texts);
        let quotation = quotation.filter(|_| plan.question.is_some());
        let tokens = quotation.as_ref().map_or(0, |(text, _)| {
            self.counter.count(text).max(0).saturating_add(self.part.tokens())
        });
        ArrangedTurn { arranged, quotation, tokens }
    }

    /// Texts of all candidates, to be judged by a question.
    pub(crate) fn judge_task(
        &self,
        question: &Question,
        items: &[ContextItem],
        texts: &dyn Texts,
    ) -> JudgeTask {
        let write = |index, _: &ContextItem, out: &mut String| {
            self.write_candidate(index, texts, out);
        };
        JudgeTask::of_items(question.clone(), items, write)
    }

    /// The candidates with their parts and the identities of the messages, for a report.
    pub(crate) fn reported_request(
        &self,
        items: &[ContextItem],
        parts: &[Part],
        texts: &dyn Texts,
    ) -> ReportedRequest {
        ReportedRequest {
            units: items.iter().cloned().zip(parts.iter().copied()).collect(),
            messages: (0..self.messages.len()).map(|at| self.identity(at, texts)).collect(),
            fixed: self.fixed_identity,
        }
    }
}

impl PlanOutcome {
    /// Gives the request's candidates their tokens, pins and hints, and says what the selection may take.
    pub(crate) fn prepare(&self, own: &mut [ContextItem], budget: &ContextBudget) -> ContextBudget {
        let parts = self.parts.iter().zip(&self.tokens).zip(&self.hints);
        for (item, ((part, tokens), hint)) in own.iter_mut().zip(parts) {
            item.set_tokens(*tokens);
            item.set_pinned(part.is_sent());
            if let Some(hint) = hint.as_ref().filter(|_| item.future_relevance_hint().is_none()) {
                item.set_hint(hint.clone());
            }
        }
        let pinned = own.iter().filter(|item| item.pinned()).map(ContextItem::tokens);
        let pinned = pinned.fold(0, i64::saturating_add);
        let target = pinned.saturating_add(self.share.saturating_sub(self.frame));
        // Where pins do not fit, the pipeline says so.
        let target = target.clamp(0, budget.target_tokens());
        ContextBudget::trusted(budget.max_tokens(), target, budget.output_reserve())
    }

    /// Returns true if a selected item is quoted.
    pub(crate) fn is_recalled(&self, placed: &PlacedItem) -> bool {
        match placed.origin {
            Origin::Request(unit) => self.parts.get(unit).is_none_or(|part| *part == Part::Earlier),
            Origin::Source { .. } => true,
        }
    }
}

impl Edits {
    /// Everything that is sent, as a report compares it: the documents as one, then the messages.
    pub(super) fn sent_messages(
        &self,
        request: &ReportedRequest,
        quotation: Option<(usize, i64)>,
    ) -> Vec<SentMessage> {
        let Some(conversation) = self.conversation.as_ref() else { return Vec::new() };
        let hasher = || foldhash::fast::FixedState::default().build_hasher();
        let first = request.units.len().saturating_sub(conversation.documents.len());
        let (mut key, mut tokens) = (hasher(), 0_i64);
        for (item, _) in self.documents.iter().filter_map(|it| request.units.get(first + it)) {
            key.write_u64(item.content_hash());
            tokens = tokens.saturating_add(item.tokens());
        }
        let documents = SentMessage { index: None, key: key.finish(), tokens };
        let messages = self.kept.iter().filter_map(|index| {
            let mut key = hasher();
            key.write_u64(*request.messages.get(*index)?);
            for ((_, number), excerpt) in self.excerpts.range((*index, 0)..=(*index, usize::MAX)) {
                key.write_usize(*number);
                key.write(excerpt.text.as_bytes());
            }
            let quoted = quotation.filter(|(at, _)| at == index).map_or(0, |(_, tokens)| tokens);
            if let Some(standing) = self.standing().filter(|it| it.message == *index) {
                key.write(standing.text.as_bytes());
            }
            let standing = conversation.standing_in(*index, self.standing());
            let tokens = conversation.sent_tokens(*index, &self.excerpts);
            let tokens = tokens.saturating_add(quoted).saturating_add(standing);
            Some(SentMessage { index: Some(*index), key: key.finish(), tokens })
        });
        let messages = messages.collect::<Vec<_>>();
        match messages.is_empty() {
            true => messages,
            false => [documents].into_iter().chain(messages).collect(),
        }
    }
}

impl TurnReport {
    /// A report on what was sent: tokens beside the fixed ones, and those of the quotation among them.
    pub(crate) fn of(edits: &Edits, sent: i64, quoted: i64) -> Option<Self> {
        let report = Self::new(edits.plan.as_ref()?, edits.excerpts.len());
        let fixed = edits.fixed_tokens;
        Some(report.finish(sent.saturating_add(fixed), fixed, quoted))
    }
}

/// Items and tokens of a request, counted when it was built. They are there without a report as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SentSummary {
    /// Number of items in the request.
    pub items: usize,
    /// Their tokens, and those of the frame around what a plan quotes; the fixed tokens come on top.
    pub tokens: i64,
    /// Number of candidates that are not in it: left out, refused, or selected and then withdrawn.
    pub left_out: usize,
}

impl SentSummary {
    /// Counts what is placed of `candidates`, the refused ones among them.
    fn count(placed: &[PlacedItem], candidates: usize) -> Self {
        let tokens = placed.iter().map(|placed| placed.item.tokens());
        Self {
            items: placed.len(),
            tokens: tokens.fold(0, i64::saturating_add),
            left_out: candidates.saturating_sub(placed.len()),
        }
    }
}

/// Takes out of a selection what cannot be sent because what it needs was not selected. Returns how
/// much that was.
pub(crate) fn withdraw(
    needs: &BTreeMap<usize, usize>,
    placed: &mut Vec<PlacedItem>,
    report: &mut SelectionReport,
) -> usize {
    if needs.is_empty() {
        return 0;
    }
    take_out(withdrawn(needs, placed), placed, report)
}

/// Takes items at these positions out of a selection. The report lists the selection in the order in which
/// it is placed.
fn take_out(
    withdrawn: Vec<(usize, String)>,
    placed: &mut Vec<PlacedItem>,
    report: &mut SelectionReport,
) -> usize {
    let mut gone = withdrawn.iter().map(|(position, _)| *position).peekable();
    let mut position = 0..;
    placed.retain(|_| position.next().is_none_or(|it| gone.next_if_eq(&it).is_none()));
    let count = withdrawn.len();
    report.withdraw(withdrawn);
    count
}

/// Positions of the least relevant quoted items that take at least so many tokens, pinned ones last.
fn least_relevant(
    placed: &[PlacedItem],
    is_quoted: impl Fn(&PlacedItem) -> bool,
    tokens: i64,
) -> Vec<(usize, String)> {
    let quoted = placed.iter().enumerate().filter(|(_, placed)| is_quoted(placed));
    let mut quoted: Vec<(usize, &ContextItem)> =
        quoted.map(|(position, placed)| (position, &placed.item)).collect();
    let hint = |item: &ContextItem| item.future_relevance_hint().unwrap_or(1.0);
    quoted.sort_by(|(a, one), (b, other)| {
        let by_hint = hint(one).total_cmp(&hint(other));
        one.pinned().cmp(&other.pinned()).then(by_hint).then(b.cmp(a))
    });
    let (mut taken, mut positions) = (0_i64, Vec::new());
    for (position, item) in quoted {
        if taken >= tokens {
            break;
        }
        taken = taken.saturating_add(item.tokens().max(1));
        positions.push((position, "quoted together with the others, it does not fit".into()));
    }
    positions.sort_unstable();
    positions
}

/// The edits that a selection comes to, and the numbers of a report on them.
pub(crate) struct WrittenTurn {
    pub(crate) edits: Edits,
    pub(crate) sent: SentSummary,
    /// Message, hash and tokens of the quotation, which an adapter may take out of the edits.
    quotation: Option<(usize, u64, i64)>,
}

impl WrittenTurn {
    /// Edits for what was placed of so many candidates, the refused ones among them. A counter may count
    /// a quotation higher than its parts: then the least relevant ones are withdrawn until it fits.
    pub(crate) fn new(
        conversation: Option<Conversation>,
        planned: Option<PlanOutcome>,
        mut placed: Vec<PlacedItem>,
        budget: &ContextBudget,
        (candidates, report): (usize, &mut SelectionReport),
        texts: &dyn Texts,
    ) -> Self {
        let Some(talk) = conversation else {
            let sent = SentSummary::count(&placed, candidates);
            return Self { edits: Edits::of_items(placed), sent, quotation: None };
        };
        take_out(talk.repeats(&placed, planned.as_ref(), texts), &mut placed, report);
        let is_quoted = |it: &PlacedItem| match &planned {
            Some(planned) => planned.is_recalled(it),
            None => matches!(it.origin, Origin::Source { .. }),
        };
        let frame = match planned {
            None if placed.iter().any(is_quoted) => Quotation::frame_tokens(talk.token_counter()),
            _ => 0,
        };
        let (turn, bare) = loop {
            // Quoted together they take less than one by one, or more, with the frame.
            let quoted = placed.iter().filter(|placed| is_quoted(placed));
            let bare = quoted.map(|placed| placed.item.tokens()).fold(0, i64::saturating_add);
            let turn = talk.arrange_turn(&placed, planned.as_ref(), texts);
            let room = match &planned {
                Some(planned) => planned.share.saturating_add(talk.part.beside_share()),
                None => {
                    let all = SentSummary::count(&placed, candidates).tokens;
                    let left = budget.effective(0).target_tokens().saturating_sub(all);
                    frame.saturating_add(bare).saturating_add(left.max(0))
                }
            };
            let over = turn.tokens.saturating_sub(room);
            let gone = if over > 0 { least_relevant(&placed, is_quoted, over) } else { Vec::new() };
            if gone.is_empty() {
                break (turn, bare);
            }
            take_out(gone, &mut placed, report);
        };
        let mut sent = SentSummary::count(&placed, candidates);
        let planned_standing = planned.as_ref().and_then(|it| Some(it.standing.as_ref()?.tokens));
        // Without a plan, the frame is among the fixed tokens.
        let beside_frame = if turn.quotation.is_some() { frame } else { 0 };
        let quoted = turn.tokens.saturating_sub(beside_frame);
        let edits = talk.edits_of(turn, planned, texts);
        let quotation = edits.quotation.as_ref().map(|quotation| {
            let hash = foldhash::fast::FixedState::default().hash_one(&quotation.text);
            (quotation.message, hash, quotation.tokens)
        });
        sent.tokens = sent.tokens.saturating_sub(bare).saturating_add(quoted);
        // Sources may have taken standing orders back.
        let standing = edits.standing().map_or(0, |standing| standing.tokens);
        let gone = planned_standing.unwrap_or_default().saturating_sub(standing);
        sent.tokens = sent.tokens.saturating_sub(gone);
        Self { edits, sent, quotation }
    }

    /// The report on a planned turn, with the request for those who asked for it.
    pub(crate) fn report(&self, request: ReportedRequest, window: i64) -> Option<TurnReport> {
        let quoted = self.quotation.map_or(0, |(_, _, tokens)| tokens);
        let mut report = TurnReport::of(&self.edits, self.sent.tokens, quoted)?;
        let place = self.quotation.map(|(message, _, tokens)| (message, tokens));
        let sent = self.edits.sent_messages(&request, place);
        let quotation = self.quotation.map(|(message, hash, _)| (message, hash));
        report.complete(request, sent, quotation, window);
        Some(report)
    }
}
