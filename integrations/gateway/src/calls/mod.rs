//! Recent calls, for the page: in memory, and bounded in bytes.

mod call;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

pub(crate) use call::{Call, Conversation, Ending, Fitted};

/// What is remembered of calls.
#[derive(Debug)]
pub(crate) struct Calls {
    kept: Mutex<Kept>,
    /// Counts changes, for those who look on.
    changes: watch::Sender<u64>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    /// The newest last.
    recent: VecDeque<Arc<Call>>,
    bytes: usize,
    totals: Totals,
    factors: Factors,
}

impl Calls {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), changes: watch::Sender::new(0), most_bytes }
    }

    /// Remembers a call that has been fitted, or passed; older ones are forgotten.
    pub(crate) fn begin(&self, mut call: Call) -> Arc<Call> {
        let mut kept = self.kept();
        let same = |other: &&Arc<Call>| other.conversation == call.conversation;
        let previous = kept.recent.iter().rev().find(same).map(Arc::downgrade);
        call.previous = previous.unwrap_or_default();
        let call = Arc::new(call);
        kept.totals.begin(&call);
        kept.bytes = kept.bytes.saturating_add(call.bytes);
        kept.recent.push_back(Arc::clone(&call));
        while kept.bytes > self.most_bytes {
            let Some(oldest) = kept.recent.pop_front() else { break };
            kept.bytes = kept.bytes.saturating_sub(oldest.bytes);
        }
        drop(kept);
        self.changed();
        call
    }

    /// The latest call of a conversation to a model: what its cache has seen last.
    pub(crate) fn latest(&self, conversation: Conversation, model: &str) -> Option<Arc<Call>> {
        let same = |call: &&Arc<Call>| call.conversation == conversation && call.model == model;
        self.kept().recent.iter().rev().find(same).map(Arc::clone)
    }

    /// Remembers how a call ended.
    pub(crate) fn end(&self, call: &Call, ending: Ending) {
        let mut kept = self.kept();
        if let (Some(usage), Some(fitted)) = (ending.usage, call.fitted()) {
            kept.factors.add(&call.model, fitted.tokens, usage.input);
            kept.totals.cached = kept.totals.cached.saturating_add(usage.cached);
        }
        drop(kept);
        call.end(ending);
        self.changed();
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// Tells when something has changed.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The newest calls, the newest first.
    pub(crate) fn newest(&self, most: usize) -> Vec<Arc<Call>> {
        self.kept().recent.iter().rev().take(most).map(Arc::clone).collect()
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Call>> {
        self.kept().recent.iter().find(|call| call.id == id).map(Arc::clone)
    }

    pub(crate) fn totals(&self) -> Totals {
        self.kept().totals
    }

    /// What each model's own count is of ours.
    pub(crate) fn factors(&self) -> Vec<(String, f64, u64)> {
        self.kept().factors.list()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sums over all calls since the gateway was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) calls: u64,
    /// Calls that went out as they came.
    pub(crate) passed: u64,
    /// Tokens sent.
    pub(crate) sent: i64,
    /// Tokens left out.
    pub(crate) left_out: i64,
    /// Tokens expected to be read from the upstream's cache.
    pub(crate) expected_cached: i64,
    /// Tokens that upstreams said they read from their caches.
    pub(crate) cached: i64,
}

impl Totals {
    fn begin(&mut self, call: &Call) {
        self.calls += 1;
        match call.fitted() {
            None => self.passed += 1,
            Some(fitted) => {
                self.sent = self.sent.saturating_add(fitted.tokens);
                self.left_out = self.left_out.saturating_add(fitted.left_out);
                self.expected_cached = self.expected_cached.saturating_add(fitted.cached);
            }
        }
    }
}

/// More models than anybody uses; names come from clients.
const MODELS: usize = 256;

/// Sums for each model: ours, the model's, and of how many calls.
#[derive(Debug, Default)]
struct Factors(BTreeMap<String, (f64, f64, u64)>);

impl Factors {
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more")]
    fn add(&mut self, model: &str, ours: i64, theirs: i64) {
        if ours <= 0 || (self.0.len() >= MODELS && !self.0.contains_key(model)) {
            return;
        }
        let sums = self.0.entry(model.to_owned()).or_default();
        *sums = (sums.0 + ours as f64, sums.1 + theirs as f64, sums.2 + 1);
    }

    /// Each model with its factor and the number of calls it comes from.
    fn list(&self) -> Vec<(String, f64, u64)> {
        let factor =
            |(model, sums): (&String, &(f64, f64, u64))| (model.clone(), sums.1 / sums.0, sums.2);
        self.0.iter().map(factor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(conversation: &str) -> Call {
        let conversation = Conversation::new(&[b"tenant", conversation.as_bytes()]);
        Call::new("chat", "m".to_owned(), conversation, Err(("bypass", "x".repeat(1_000))))
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
    fn a_call_knows_the_one_before_it_in_its_conversation() {
        let calls = Calls::new(1_000_000);
        let first = calls.begin(draft("a"));
        calls.begin(draft("b"));
        let second = calls.begin(draft("a"));
        assert_eq!(second.previous().unwrap().id, first.id);
        assert!(first.previous().is_none());
        assert_ne!(first.id, second.id);
    }

    #[test]
    fn what_a_model_counts_is_set_beside_our_count() {
        let mut factors = Factors::default();
        factors.add("m", 100, 110);
        factors.add("m", 100, 130);
        assert_eq!(factors.list(), [("m".to_owned(), 1.2, 2)]);
        for index in 0..1_000 {
            factors.add(&index.to_string(), 100, 100);
        }
        assert!(factors.list().len() <= 256);
    }
}
