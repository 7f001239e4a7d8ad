//! The plan of one call, as reports show it.

use foldhash::HashMap;

use super::planned::{NewestFirst, Part, PlanOutcome, PrefixBreak, Prices};
use super::standing_block::StandingBlock;
use crate::diagnostics::SelectionReport;
use crate::explain::Explanation;
use crate::model::{ContextItem, ExclusionReason};

/// The plan of one call: how it was cut, what was recalled, and what a prompt cache may know of it.
///
/// ```
/// use cupel::conversation::{Conversation, Message, Rehearsal, Role, Rules};
/// use cupel::{ContextBudget, Policy};
///
/// let turn = |turn| {
///     let answer = Message::new(Role::Assistant, format!("Answer {turn}."), 100);
///     [Message::new(Role::User, format!("Question {turn}?"), 100), answer]
/// };
/// let mut messages: Vec<Message> = (0..9).flat_map(turn).collect();
/// messages.push(Message::new(Role::User, "Anything else?", 100));
///
/// let rehearsal = Rehearsal::new(Conversation::new(messages, &Rules::new())?)?;
/// let dry_run = rehearsal.dry_run(&Policy::chat(), &ContextBudget::builder(1_000).build()?)?;
/// let plan = dry_run.plan.expect("`chat` plans the turn");
/// assert!(!plan.whole);
/// assert_eq!(plan.cached_tokens + plan.new_tokens, dry_run.sent.tokens);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TurnReport {
    /// True if the conversation was sent unchanged.
    pub whole: bool,
    /// Tokens kept for what is recalled; 0 when there was no room.
    pub share: i64,
    /// Says in words that recall gave way to the exchange, such as "recall shrank to 300 tokens: the
    /// exchange needed the room".
    pub recall_gave_way: Option<String>,
    /// Tokens of what was recalled, with the frame around it.
    pub recalled_tokens: i64,
    /// Number of tool results that were sent as excerpts.
    pub excerpts: usize,
    /// Standing orders of the user that were sent because their messages were not.
    pub standing: Option<StandingBlock>,
    /// Tokens expected to be read from a prompt cache, if the call before was this one without its
    /// newest messages and is still remembered: an upper bound.
    pub cached_tokens: i64,
    /// Tokens that are new to it: all others that are sent.
    pub new_tokens: i64,
    /// New tokens that it is expected to take up for the next call. Some providers charge more for
    /// these.
    pub written_tokens: i64,
    /// Why the request does not begin as the one before did; none when it does.
    pub broke: Option<PrefixBreak>,
    /// The model's window.
    pub window: i64,
    /// Newest-first trimming of the same request, where the plan is asked to
    /// [compare](crate::model::TurnPlan::compare).
    pub newest_first: Option<NewestFirst>,
    same_recall: bool,
    written_up_to: Option<i64>,
    /// Tokens beside the conversation: tools and formats.
    fixed_tokens: i64,
    request: ReportedRequest,
    /// Messages that are sent, in their order, behind the documents as one.
    sent: Vec<SentMessage>,
    /// Index of the message with the question.
    question: Option<usize>,
    /// The sent message that holds the quotation, and the hash of that.
    quotation: Option<(usize, u64)>,
}

/// Candidates and messages of a request. Empty when nobody asked for a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReportedRequest {
    /// Candidates with their parts, in the order of the conversation, then documents.
    pub(crate) units: Vec<(ContextItem, Part)>,
    /// Hash of each message.
    pub(crate) messages: Vec<u64>,
    /// Hash of what is sent before the messages.
    pub(crate) fixed: u64,
}

/// A message as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentMessage {
    /// Index in the request.
    pub(crate) index: Option<usize>,
    /// Hash of the message with its excerpts, without the quotation.
    pub(crate) key: u64,
    /// Tokens, with those of the quotation.
    pub(crate) tokens: i64,
}

impl TurnReport {
    pub(crate) fn new(planned: &PlanOutcome, excerpts: usize) -> Self {
        Self {
            whole: planned.whole,
            share: planned.share,
            recall_gave_way: planned.recall_gave_way(),
            recalled_tokens: 0,
            excerpts,
            standing: planned.standing.clone(),
            cached_tokens: planned.expected.cached_tokens,
            new_tokens: 0,
            written_tokens: 0,
            broke: planned.expected.broke,
            window: 0,
            newest_first: planned.newest_first,
            same_recall: planned.expected.same_recall,
            written_up_to: planned.expected.written_up_to,
            fixed_tokens: 0,
            request: ReportedRequest::default(),
            sent: Vec::new(),
            question: planned.question,
            quotation: None,
        }
    }

    pub(crate) fn finish(mut self, sent: i64, fixed: i64, recalled_tokens: i64) -> Self {
        self.fixed_tokens = fixed;
        self.recalled_tokens = recalled_tokens;
        if self.same_recall {
            self.cached_tokens = self.cached_tokens.saturating_add(recalled_tokens);
        }
        self.split(sent);
        self
    }

    /// Adds the window, and what was asked for of the request: its candidates, the messages that are
    /// sent, and the quotation in one of them.
    pub(crate) fn complete(
        &mut self,
        request: ReportedRequest,
        sent: Vec<SentMessage>,
        quotation: Option<(usize, u64)>,
        window: i64,
    ) {
        let position = |index: usize| sent.iter().position(|it| it.index == Some(index));
        self.quotation = quotation.and_then(|(index, hash)| Some((position(index)?, hash)));
        self.request = request;
        self.sent = sent;
        self.window = window;
    }

    /// Says what of so many tokens is new, and what of that is taken up.
    fn split(&mut self, sent: i64) {
        self.cached_tokens = self.cached_tokens.clamp(0, sent.max(0));
        self.new_tokens = sent.saturating_sub(self.cached_tokens);
        let written = self.written_up_to.unwrap_or(sent).saturating_sub(self.cached_tokens);
        self.written_tokens = written.clamp(0, self.new_tokens.max(0));
    }

    /// Expected cost of the input, in new tokens. [`NewestFirst::cost`] is the one of newest-first
    /// trimming.
    #[must_use]
    pub fn cost(&self, prices: Prices) -> f64 {
        prices.cost(self.cached_tokens, self.written_tokens, self.new_tokens)
    }

    /// The report with what is expected of a cache that has seen another call.
    ///
    /// A plan assumes that the previous call was this one without its newest messages. If you know the
    /// previous call, pass its report here: then [`cached_tokens`](Self::cached_tokens) are those of the
    /// messages that both requests begin with, and [`PrefixBreak::Edited`] says that the history was edited,
    /// cut, or continued from an earlier place. They are never more than the requests share, if the
    /// adapter has [noted](crate::conversation::Message::note_unseen) what the texts do not show.
    ///
    /// If nobody asked for one of the reports, it holds no messages to compare. Then nothing is known:
    /// [`PrefixBreak::Unknown`] and no cached tokens.
    #[must_use]
    pub fn following(mut self, before: &Self) -> Self {
        if self.broke == Some(PrefixBreak::Unknown) {
            return self;
        }
        let sent = self.cached_tokens.saturating_add(self.new_tokens);
        if self.sent.is_empty() || before.sent.is_empty() {
            (self.cached_tokens, self.broke) = (0, Some(PrefixBreak::Unknown));
            self.split(sent);
            return self;
        }
        let same_fixed =
            self.fixed_tokens == before.fixed_tokens && self.request.fixed == before.request.fixed;
        let (shared, intact) = if same_fixed { self.shared_with(before) } else { (0, false) };
        // Without a mark the cache takes up nothing.
        self.cached_tokens = if self.written_up_to == Some(0) { 0 } else { shared };
        self.broke = match self.broke {
            _ if !self.request.messages.starts_with(&before.request.messages) => {
                Some(PrefixBreak::Edited)
            }
            _ if intact => None,
            Some(PrefixBreak::First) | None => Some(PrefixBreak::GaveWay),
            broke => broke,
        };
        self.split(sent);
        self
    }

    /// Tokens of the messages that stand at the beginning of both requests. True if they are all of the
    /// other one, or all up to a question that is no longer the last.
    fn shared_with(&self, before: &Self) -> (i64, bool) {
        let mut shared = self.fixed_tokens;
        for (at, then) in before.sent.iter().enumerate() {
            let Some(now) = self.sent.get(at).filter(|now| now.key == then.key) else {
                return (shared, false);
            };
            let quoted = |report: &Self| report.quotation.filter(|(it, _)| *it == at);
            if quoted(self) != quoted(before) {
                return (shared, self.question.is_none_or(|question| now.index != Some(question)));
            }
            shared = shared.saturating_add(now.tokens);
        }
        (shared, true)
    }

    /// The part of the plan that an item of the report was in; none for what sources gave.
    #[must_use]
    pub fn part_of(&self, item: &ContextItem) -> Option<Part> {
        self.parts().find(|(own, _)| ContextItem::same(own, item)).map(|(_, part)| part)
    }

    /// Every candidate of the request with its part, in the order of the conversation. Empty when
    /// nobody asked for a report.
    pub fn parts(&self) -> impl Iterator<Item = (&ContextItem, Part)> {
        self.request.units.iter().map(|(item, part)| (item, *part))
    }

    /// Says of every item which part of the plan it was in, and what a prompt cache may know.
    pub(crate) fn explain(&self, mut explanation: Explanation) -> Explanation {
        let parts = self.parts_by_address();
        let report = &mut explanation.report;
        let included = report.included.iter_mut().map(|entry| (&entry.item, &mut entry.details));
        let excluded = report.excluded.iter_mut().map(|entry| (&entry.item, &mut entry.details));
        for (item, details) in included.chain(excluded) {
            if let Some(part) = parts.get(&item.address()) {
                details.get_or_insert_default().part = Some(part.as_str().to_owned());
            }
        }
        if let Some(words) = &self.recall_gave_way {
            explanation = explanation.note(words.clone());
        }
        let frame = self.frame_tokens(&explanation.report);
        if frame > 0 {
            let note = format!("the frame around what is recalled takes {frame} more tokens");
            explanation = explanation.note(note);
        }
        if let Some(block) = &self.standing {
            explanation = explanation.note(block.describe());
        }
        let broke = self.broke.map(|broke| broke.as_str().to_owned());
        if let Some(newest) = &self.newest_first {
            let [ours, newest] =
                [self.cost(Prices::FREE_WRITES), newest.cost(Prices::FREE_WRITES)].map(f64::round);
            let note = format!(
                "the input costs as much as {ours} new tokens, newest-first trimming {newest} (a \
                 cached token for a tenth)"
            );
            explanation = explanation.note(note);
        }
        explanation.cache(self.cached_tokens, self.new_tokens, broke)
    }

    /// Gives the items that are not recalled because recall gave way a reason that says so.
    pub(crate) fn name_reasons(&self, report: &mut SelectionReport) {
        let Some(words) = &self.recall_gave_way else { return };
        let parts = self.parts_by_address();
        let is_sent =
            |item: &ContextItem| parts.get(&item.address()).is_some_and(|it| it.is_sent());
        for excluded in report.excluded.iter_mut().filter(|it| !is_sent(&it.item)) {
            if matches!(excluded.reason, ExclusionReason::PinnedOverride { .. }) {
                excluded.reason = ExclusionReason::Filtered { filter_name: words.clone() };
            }
        }
    }

    /// Tokens of the frame around quoted items: they belong to none of them.
    fn frame_tokens(&self, report: &SelectionReport) -> i64 {
        if self.recalled_tokens <= 0 {
            return 0;
        }
        let parts = self.parts_by_address();
        let is_sent =
            |item: &ContextItem| parts.get(&item.address()).is_some_and(|it| it.is_sent());
        let items = report.included.iter().filter(|entry| !is_sent(&entry.item));
        let items = items.map(|entry| entry.item.tokens()).fold(0, i64::saturating_add);
        self.recalled_tokens.saturating_sub(items).max(0)
    }

    /// The parts of the candidates, found by item in constant time.
    fn parts_by_address(&self) -> HashMap<usize, Part> {
        self.parts().map(|(item, part)| (item.address(), part)).collect()
    }
}
