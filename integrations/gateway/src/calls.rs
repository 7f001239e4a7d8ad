//! Recent calls, for the page: in memory, and bounded in bytes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use cupel::ContextItem;
use cupel::explain::Explanation;
use cupel::layer::TurnReport;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::watch;

use crate::proxy::Usage;
use crate::secret::hex;

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

/// The selection; or the reason why a request went out as it came, as a name and in words.
pub(crate) type Outcome = Result<Box<Fitted>, (&'static str, String)>;

/// A selection, to be looked at.
#[derive(Debug)]
pub(crate) struct Fitted {
    pub(crate) explanation: Explanation,
    /// Tokens of the request that was sent, as we count them.
    pub(crate) tokens: i64,
    /// Tokens that were left out.
    pub(crate) left_out: i64,
    /// Tokens that the upstream is expected to read from its cache.
    pub(crate) cached: i64,
    /// How its turn was planned, for the call that comes after it.
    pub(crate) plan: Option<Box<TurnReport>>,
}

/// Which conversation of which tenant a call belongs to; only as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conversation([u8; 16]);

impl Conversation {
    pub(crate) fn new(parts: &[&[u8]]) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        for part in parts {
            context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            context.update(part);
        }
        let hash = context.finish();
        Self(hash.as_ref().first_chunk().copied().unwrap_or_default())
    }

    /// A short name.
    pub(crate) fn name(self) -> String {
        hex(self.0.get(..4).unwrap_or_default())
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) status: u16,
    pub(crate) how: &'static str,
    pub(crate) usage: Option<Usage>,
    pub(crate) elapsed: Duration,
}

/// A call as it is remembered.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) at: SystemTime,
    pub(crate) route: &'static str,
    pub(crate) model: String,
    pub(crate) conversation: Conversation,
    pub(crate) outcome: Outcome,
    /// What it takes in memory, about.
    pub(crate) bytes: usize,
    previous: Weak<Call>,
    ending: OnceLock<Ending>,
}

impl Call {
    pub(crate) fn new(
        route: &'static str,
        model: String,
        conversation: Conversation,
        outcome: Outcome,
    ) -> Self {
        let bytes = match &outcome {
            Ok(fitted) => size(&fitted.explanation),
            Err((_, why)) => why.len(),
        };
        Self {
            id: random_id(),
            at: SystemTime::now(),
            route,
            model,
            conversation,
            outcome,
            bytes: bytes.saturating_add(1_024),
            previous: Weak::new(),
            ending: OnceLock::new(),
        }
    }

    fn end(&self, ending: Ending) {
        // A call ends once.
        let _ = self.ending.set(ending);
    }

    /// How it ended, if it has.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.ending.get().copied()
    }

    /// The call before it in its conversation, if it is remembered.
    pub(crate) fn previous(&self) -> Option<Arc<Self>> {
        self.previous.upgrade()
    }

    pub(crate) fn fitted(&self) -> Option<&Fitted> {
        self.outcome.as_deref().ok()
    }
}

/// What an explanation takes in memory, about. Its texts may be shared with other calls' and count
/// again: then less is kept than could be.
fn size(explanation: &Explanation) -> usize {
    const ENTRY: usize = 400;
    let report = &explanation.report;
    let included = report.included.iter().map(|entry| &entry.item);
    let excluded = report.excluded.iter().map(|entry| &entry.item);
    let text = |item: &ContextItem| item.content().len() + ENTRY;
    included.chain(excluded).map(text).fold(0, usize::saturating_add)
}

/// A name that nobody can guess.
fn random_id() -> String {
    let mut bytes = [0; 12];
    // Without randomness ids are alike, and the page shows the oldest of them; nothing depends on it.
    let _ = SystemRandom::new().fill(&mut bytes);
    hex(&bytes)
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
