//! Recent calls for the page: in memory, bounded in bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use cupel::ContextItem;
use cupel::conversation::plan::Prices;
use cupel::explain::Explanation;
use cupel::layer::{Selection, TurnReport};
use cupel_audit::TurnRepeats;
use ring::digest;
use serde::Serialize;
use tokio::sync::watch;

use crate::count_ratios::{CountRatios, RatioSummary};
use crate::credentials::{hex, random};
use crate::proxy::Usage;
use crate::select::PassReason;
use crate::sides::{PlannedSums, SHADOW, Side, SideTotals};

/// Returns a duration in milliseconds, with fractions.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Recent calls, and totals over all calls.
#[derive(Debug)]
pub(crate) struct Calls {
    history: Mutex<CallHistory>,
    /// Number of changes, for pages that are open.
    changes: watch::Sender<u64>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct CallHistory {
    /// The newest call is last.
    recent: VecDeque<Arc<Call>>,
    bytes: usize,
    totals: CallTotals,
    ratios: CountRatios,
    sides: SideTotals,
}

impl Calls {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { history: Mutex::default(), changes: watch::Sender::new(0), most_bytes }
    }

    /// Adds a call, and forgets the oldest ones beyond the limit.
    pub(crate) fn begin(&self, mut call: Call) -> Arc<Call> {
        let mut history = self.history();
        let same = |other: &&Arc<Call>| other.conversation == call.conversation;
        let previous = history.recent.iter().rev().find(same).map(Arc::downgrade);
        call.previous = previous.unwrap_or_default();
        let call = Arc::new(call);
        history.totals.add(&call);
        history.bytes = history.bytes.saturating_add(call.bytes);
        history.recent.push_back(Arc::clone(&call));
        while history.bytes > self.most_bytes {
            let Some(oldest) = history.recent.pop_front() else { break };
            history.bytes = history.bytes.saturating_sub(oldest.bytes);
        }
        drop(history);
        self.changed();
        call
    }

    /// Adds a call of the gateway's own. It counts as no client's.
    pub(crate) fn own(&self, call: Call, end: CallEnd) {
        let mut history = self.history();
        history.totals.summaries += 1;
        if let Some(usage) = end.usage {
            let totals = &mut history.totals;
            totals.summary_input = totals.summary_input.saturating_add(usage.input);
            totals.summary_output = totals.summary_output.saturating_add(usage.output);
        }
        let _ = call.end.set(end);
        history.bytes = history.bytes.saturating_add(call.bytes);
        history.recent.push_back(Arc::new(call));
        while history.bytes > self.most_bytes {
            let Some(oldest) = history.recent.pop_front() else { break };
            history.bytes = history.bytes.saturating_sub(oldest.bytes);
        }
        drop(history);
        self.changed();
    }

    /// Returns the latest call of a conversation to a model, which its prompt cache has seen last.
    pub(crate) fn latest(&self, conversation: ConversationHash, model: &str) -> Option<Arc<Call>> {
        let same = |call: &&Arc<Call>| call.conversation == conversation && call.model == model;
        self.history().recent.iter().rev().find(same).map(Arc::clone)
    }

    /// Records the end of a call.
    pub(crate) fn end(&self, call: &Call, end: CallEnd) {
        let mut history = self.history();
        if let (Some(usage), Ok(fitted)) = (end.usage, &call.outcome) {
            history.ratios.add(&call.model, fitted.tokens, usage.input);
            history.totals.cached = history.totals.cached.saturating_add(usage.cached);
        }
        let side = match &call.outcome {
            Ok(_) => Some(&mut history.sides.fitted),
            Err(passed) if passed.code == SHADOW => Some(&mut history.sides.shadow),
            // Calls that nobody wanted to fit are on no side.
            Err(_) => None,
        };
        if let Some(side) = side {
            side.add(end.usage, milliseconds(end.elapsed));
        }
        drop(history);
        // A call ends once.
        let _ = call.end.set(end);
        self.changed();
    }

    /// Records the request that would have been sent, of a call that was sent unchanged.
    pub(crate) fn planned(&self, call: &Call, planned: FittedCall) {
        self.history().sides.planned.add(&PlannedSums {
            calls: 1,
            tokens: planned.tokens,
            dropped: planned.dropped,
            cached: planned.cached,
            cost: planned.plan.as_ref().map_or(0.0, |plan| plan.cost(Prices::FREE_WRITES)),
            original_bytes: planned.original_bytes,
            sent_bytes: planned.sent_bytes,
        });
        let _ = call.shadow.set(Box::new(planned));
        self.changed();
    }

    /// Records a turn in which repeats were looked for.
    pub(crate) fn turn(&self, side: Side, turn: TurnRepeats) {
        match side {
            Side::Fitted => self.history().sides.fitted.turn(turn),
            Side::Shadow => self.history().sides.shadow.turn(turn),
        }
        self.changed();
    }

    /// Returns sums over fitted calls, and over calls that are planned only.
    pub(crate) fn sides(&self) -> SideTotals {
        self.history().sides
    }

    /// Records a model's own count of a request that it refused, beside the gateway's.
    pub(crate) fn counted(&self, model: &str, ours: i64, theirs: i64) {
        self.history().ratios.add(model, ours, theirs);
        self.changed();
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns the newest calls, the newest first.
    pub(crate) fn newest(&self, most: usize) -> Vec<Arc<Call>> {
        self.history().recent.iter().rev().take(most).map(Arc::clone).collect()
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Call>> {
        self.history().recent.iter().find(|call| call.id == id).map(Arc::clone)
    }

    pub(crate) fn totals(&self) -> CallTotals {
        self.history().totals
    }

    /// Returns, for each model, its own count divided by the gateway's.
    pub(crate) fn ratios(&self) -> Vec<RatioSummary> {
        self.history().ratios.list()
    }

    fn history(&self) -> MutexGuard<'_, CallHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sums over all calls since the gateway started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct CallTotals {
    pub(crate) calls: u64,
    /// Calls that were sent unchanged.
    pub(crate) passed: u64,
    /// Tokens sent.
    pub(crate) sent: i64,
    /// Tokens of messages that were dropped; excerpts are not counted.
    pub(crate) dropped: i64,
    /// Bytes that clients sent, and bytes that were sent on.
    pub(crate) original_bytes: usize,
    pub(crate) sent_bytes: usize,
    /// Tokens that upstreams are expected to read from their caches.
    pub(crate) expected_cached: i64,
    /// Tokens that upstreams reported to have read from their caches.
    pub(crate) cached: i64,
    /// Cost of the input in new tokens, of calls that are compared with newest-first trimming.
    pub(crate) cost: f64,
    /// Cost of the same calls with newest-first trimming.
    pub(crate) newest_first_cost: f64,
    /// Calls of the gateway's own, for summaries, with the tokens that upstreams reported.
    pub(crate) summaries: u64,
    pub(crate) summary_input: i64,
    pub(crate) summary_output: i64,
}

impl CallTotals {
    fn add(&mut self, call: &Call) {
        self.calls += 1;
        let Ok(fitted) = &call.outcome else {
            self.passed += 1;
            return;
        };
        self.sent = self.sent.saturating_add(fitted.tokens);
        self.dropped = self.dropped.saturating_add(fitted.dropped);
        self.original_bytes = self.original_bytes.saturating_add(fitted.original_bytes);
        self.sent_bytes = self.sent_bytes.saturating_add(fitted.sent_bytes);
        self.expected_cached = self.expected_cached.saturating_add(fitted.cached);
        if let Some((plan, newest)) =
            fitted.plan.as_ref().and_then(|plan| Some((plan, plan.newest_first?)))
        {
            self.cost += plan.cost(Prices::FREE_WRITES);
            self.newest_first_cost += newest.cost(Prices::FREE_WRITES);
        }
    }
}

/// Request that was fitted, as the page shows it.
#[derive(Debug)]
pub(crate) struct FittedCall {
    pub(crate) explanation: Explanation,
    /// Tokens of the request that was sent, as the gateway counts them.
    pub(crate) tokens: i64,
    /// Tokens of messages that were dropped; excerpts are not counted.
    pub(crate) dropped: i64,
    /// Size of the client's request, and of the one that was sent.
    pub(crate) original_bytes: usize,
    pub(crate) sent_bytes: usize,
    /// Tokens that the upstream is expected to read from its cache.
    pub(crate) cached: i64,
    /// Plan of the turn, for the next call of the conversation.
    pub(crate) plan: Option<Box<TurnReport>>,
}

impl FittedCall {
    /// Describes a selection. `before` is the latest call of the conversation: the prompt cache has seen it.
    pub(crate) fn new(
        mut selection: Selection,
        (original_bytes, sent_bytes): (usize, usize),
        model: &str,
        before: Option<&Call>,
    ) -> Self {
        let before = before.and_then(|call| call.outcome.as_ref().ok()?.plan.as_deref());
        if let (Some(plan), Some(before)) = (&mut selection.plan, before) {
            **plan = (**plan).clone().following(before);
        }
        let excluded = selection.report.excluded.iter().map(|entry| entry.item.tokens().max(0));
        Self {
            explanation: selection.explain().title(model),
            tokens: selection.sent.tokens.saturating_add(selection.fixed_tokens),
            dropped: excluded.fold(0, i64::saturating_add),
            original_bytes,
            sent_bytes,
            cached: selection.plan.as_ref().map_or(0, |plan| plan.cached_tokens),
            plan: selection.plan,
        }
    }

    /// Returns the factor with which a request of this size would have been counted right, rounded up.
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more")]
    pub(crate) fn factor_for(&self, counted: i64) -> f64 {
        (counted as f64 / self.tokens.max(1) as f64 * 100.0).ceil() / 100.0
    }

    /// Estimates the memory that it takes. Texts that several calls share count for each of them.
    fn bytes(&self) -> usize {
        const ENTRY: usize = 400;
        let report = &self.explanation.report;
        let included = report.included.iter().map(|entry| &entry.item);
        let excluded = report.excluded.iter().map(|entry| &entry.item);
        let text = |item: &ContextItem| item.content().len() + ENTRY;
        included.chain(excluded).map(text).fold(0, usize::saturating_add)
    }
}

/// Hash of a tenant and a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConversationHash([u8; 16]);

impl ConversationHash {
    pub(crate) fn new(parts: &[&[u8]]) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        for part in parts {
            context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            context.update(part);
        }
        let hash = context.finish();
        Self(hash.as_ref().first_chunk().copied().unwrap_or_default())
    }

    /// Returns a short name.
    pub(crate) fn name(self) -> String {
        hex(self.0.get(..4).unwrap_or_default())
    }

    /// Returns the whole hash.
    pub(crate) fn long_name(self) -> String {
        hex(&self.0)
    }
}

/// End of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEnd {
    pub(crate) status: u16,
    pub(crate) reason: &'static str,
    pub(crate) usage: Option<Usage>,
    pub(crate) elapsed: Duration,
}

/// One call, as it is remembered.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) at: SystemTime,
    pub(crate) route: &'static str,
    pub(crate) model: String,
    pub(crate) conversation: ConversationHash,
    pub(crate) outcome: Result<Box<FittedCall>, PassReason>,
    /// Estimate of the memory that it takes.
    bytes: usize,
    previous: Weak<Call>,
    end: OnceLock<CallEnd>,
    /// Request that would have been sent, once it is known.
    pub(crate) shadow: OnceLock<Box<FittedCall>>,
}

impl Call {
    pub(crate) fn new(
        route: &'static str,
        model: String,
        conversation: ConversationHash,
        outcome: Result<Box<FittedCall>, PassReason>,
    ) -> Self {
        let bytes = match &outcome {
            Ok(fitted) => fitted.bytes(),
            Err(passed) => passed.why.len(),
        };
        Self {
            // Without random bytes all ids are equal, and the page shows the oldest call.
            id: hex(&random::<12>().unwrap_or_default()),
            at: SystemTime::now(),
            route,
            model,
            conversation,
            outcome,
            bytes: bytes.saturating_add(1_024),
            previous: Weak::new(),
            end: OnceLock::new(),
            shadow: OnceLock::new(),
        }
    }

    /// Counts memory for a plan that comes later.
    pub(crate) fn reserve(mut self, bytes: usize) -> Self {
        self.bytes = self.bytes.saturating_add(bytes);
        self
    }

    pub(crate) fn ending(&self) -> Option<CallEnd> {
        self.end.get().copied()
    }

    /// Returns the previous call of the conversation, if it is remembered.
    pub(crate) fn previous(&self) -> Option<Arc<Self>> {
        self.previous.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(conversation: &str) -> Call {
        let conversation = ConversationHash::new(&[b"tenant", conversation.as_bytes()]);
        let outcome = Err(PassReason { code: "bypass", why: "x".repeat(1_000) });
        Call::new("chat", "m".to_owned(), conversation, outcome)
    }

    #[test]
    fn older_calls_are_forgotten_when_there_is_no_room() {
        let calls = Calls::new(10_000);
        let first = calls.begin(draft("a"));
        assert!(calls.find(&first.id).is_some());
        for _ in 0..100 {
            calls.begin(draft("a"));
        }
        let kept = calls.newest(1_000);
        assert!(!kept.is_empty() && kept.len() < 10, "{}", kept.len());
        assert!(calls.find(&first.id).is_none());
        assert_eq!(calls.totals().calls, 101);
    }

    #[test]
    fn a_call_of_the_gateways_own_is_no_clients() {
        let calls = Calls::new(1_000_000);
        calls.begin(draft("a"));
        let before = calls.totals();
        let usage = Some(Usage { input: 100, cached: 0, written: 0, output: 7 });
        let end = CallEnd { status: 200, reason: "complete", usage, elapsed: Duration::ZERO };
        calls.own(draft("summary"), end);
        let totals = calls.totals();
        let (summaries, summary_input, summary_output) = (1, 100, 7);
        assert_eq!(totals, CallTotals { summaries, summary_input, summary_output, ..before });
        assert_eq!(calls.newest(10).len(), 2);
    }

    #[test]
    fn a_call_knows_the_one_before_it_in_its_conversation() {
        let calls = Calls::new(1_000_000);
        let first = calls.begin(draft("a"));
        calls.begin(draft("b"));
        let second = calls.begin(draft("a"));
        assert_eq!(second.previous().unwrap().id, first.id);
        assert!(first.previous().is_none());
        assert_ne!(first.id, second.id);
    }
}
