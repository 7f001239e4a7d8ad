//! One call: what was selected for it, and how it went.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use cupel::ContextItem;
use cupel::explain::Explanation;
use cupel::layer::TurnReport;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

use crate::proxy::Usage;
use crate::secret::hex;

/// What was selected and what it comes to; or why it went out as it came, as a name and in words.
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
    pub(super) previous: Weak<Call>,
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

    pub(super) fn end(&self, ending: Ending) {
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
