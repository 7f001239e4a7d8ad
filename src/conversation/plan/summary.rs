//! Summaries that a plan may place: their keys, their settings, and those that are there.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::super::message::Role;
use super::quote::Quotation;
use crate::error::CupelError;
use crate::model::TurnPlan;
use crate::tokens::TokenCounter;

/// Smallest limit that is used unless the caller sets one.
const SHORTEST: i64 = 48;
/// Cells are this many times as long as their summary, at least.
const LEAST_RATIO: i64 = 4;

/// Key of a summary: a SHA-256 hash of exactly what it was made of and how.
///
/// ```
/// use cupel::conversation::plan::SummaryKey;
///
/// let key = SummaryKey::from_bytes([7; 32]);
/// assert_eq!(key.as_bytes(), &[7; 32]);
/// assert!(key.to_string().starts_with("0707"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SummaryKey([u8; 32]);

impl SummaryKey {
    /// A key that a store has kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key as a store keeps it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for SummaryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SummaryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SummaryKey({self})")
    }
}

/// Settings of the summaries in a plan.
///
/// ```
/// use cupel::conversation::plan::SummaryRules;
///
/// let rules = SummaryRules::new("my-model", "2").tenant("acme").share(0.05).check()?;
/// assert!(SummaryRules::new("my-model", "2").share(1.5).check().is_err());
/// # let _ = rules;
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct SummaryRules {
    tenant: Arc<str>,
    compactor: Arc<str>,
    version: Arc<str>,
    share: Option<f64>,
    limit: Option<i64>,
}

impl SummaryRules {
    /// Largest share of the window for summaries, unless set.
    pub const DEFAULT_SHARE: f64 = 0.04;

    /// Summaries of this compactor, in this version.
    pub fn new(compactor: impl Into<Arc<str>>, version: impl Into<Arc<str>>) -> Self {
        Self {
            tenant: "".into(),
            compactor: compactor.into(),
            version: version.into(),
            share: None,
            limit: None,
        }
    }

    /// Sets the tenant. Its summaries are never used for another one.
    pub fn tenant(mut self, tenant: impl Into<Arc<str>>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// Sets the share of the window that summaries take at most. Unless set, it is
    /// [4 %](Self::DEFAULT_SHARE), and no more than a sixteenth of the grid's width. The frame around them comes on top. Both
    /// come out of the share for what is [recalled](crate::model::TurnPlan::recall), up to half of it. Larger
    /// summaries, or those of a plan that recalls nothing, come out of the tail.
    pub const fn share(mut self, share: f64) -> Self {
        self.share = Some(share);
        self
    }

    /// Sets the tokens that one summary has at most; a twentieth of the grid's width unless set, and 48 in
    /// small windows. Only cells of at least four times the limit are summarised.
    pub const fn limit(mut self, tokens: i64) -> Self {
        self.limit = Some(tokens);
        self
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] names the first that is wrong, and what would be valid.
    pub fn check(self) -> Result<Self, CupelError> {
        let problem = |problem: String| Err(CupelError::PipelineConfig(problem));
        if let Some(share) = self.share.filter(|share| !(0.0..=1.0).contains(share)) {
            return problem(format!("summaries.share must be between 0 and 1, got {share}"));
        }
        if let Some(limit) = self.limit.filter(|limit| *limit < 1) {
            return problem(format!("summaries.limit must be at least 1 token, got {limit}"));
        }
        if self.compactor.trim().is_empty() {
            return problem("the compactor has no name; give it one".to_owned());
        }
        Ok(self)
    }

    /// Tokens that one summary has at most.
    #[must_use]
    pub fn limit_tokens(&self, plan: &TurnPlan, window: i64) -> i64 {
        self.limit.unwrap_or_else(|| (plan.width(window) / 20).max(SHORTEST))
    }

    /// Tokens that all summaries of a request have at most, without their frame.
    #[must_use]
    pub fn share_tokens(&self, plan: &TurnPlan, window: i64) -> i64 {
        let part = |share: f64| (window.max(0) as f64 * share).floor() as i64;
        // With twice as much, replays of recorded runs lost values that recall had found.
        let default = || part(Self::DEFAULT_SHARE).min(plan.width(window) / 16);
        self.share.map_or_else(default, part)
    }

    /// Fewest tokens of a cell that is summarised.
    pub(super) fn least_tokens(&self, plan: &TurnPlan, window: i64) -> i64 {
        self.limit_tokens(plan, window).saturating_mul(LEAST_RATIO)
    }

    /// Number of cells before a cut whose summaries are looked up.
    pub(super) fn most_cells(&self, plan: &TurnPlan, window: i64) -> usize {
        let most = self.share_tokens(plan, window).saturating_mul(2);
        let most = most / self.limit_tokens(plan, window).max(1);
        usize::try_from(most).unwrap_or_default().clamp(1, 16)
    }

    /// The key of a cell with these messages.
    pub(super) fn key<'a>(
        &self,
        limit: i64,
        messages: impl Iterator<Item = (Role, std::borrow::Cow<'a, str>)>,
    ) -> SummaryKey {
        let mut hash = Sha256::new();
        // Every part with its length, so that no two lists of messages look alike.
        let part = |hash: &mut Sha256, bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        for text in ["summary 1", &self.tenant, &self.compactor, &self.version] {
            part(&mut hash, text.as_bytes());
        }
        hash.update(limit.to_le_bytes());
        for (role, text) in messages {
            part(&mut hash, role.name().as_bytes());
            part(&mut hash, text.as_bytes());
        }
        SummaryKey(hash.finalize().into())
    }
}

/// A cell of a conversation: the units between two lines of the plan's grid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryCell {
    /// Key of its summary.
    pub key: SummaryKey,
    /// Indexes of its messages, ascending. What is always sent is not among them.
    pub messages: Vec<usize>,
    /// Tokens of these messages.
    pub tokens: i64,
    /// Tokens that its summary has at most.
    pub limit: i64,
}

impl SummaryCell {
    /// Indexes of the first and the last message.
    pub(super) fn place(&self) -> CellPlace {
        let first = self.messages.first().copied().unwrap_or_default();
        (first, self.messages.last().copied().unwrap_or_default())
    }
}

/// Indexes of the first and the last message of a cell.
pub(super) type CellPlace = (usize, usize);

/// The text of a cell, as a compactor gets it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CellContent {
    /// Its messages, in their order.
    pub messages: Vec<CellMessage>,
    /// Tokens of all of them.
    pub tokens: i64,
    /// Name of the conversation, where it is known. It is not part of the key: a summary must not depend on
    /// it.
    pub conversation: Option<Arc<str>>,
}

/// A message of a cell, as a compactor gets it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CellMessage {
    /// Speaker.
    pub role: Role,
    /// Its text. It is empty where the text may not be quoted, as with a model's thoughts.
    pub text: String,
    /// Its tokens.
    pub tokens: i64,
    /// True if results of tools are in it.
    pub has_results: bool,
}

impl CellContent {
    /// The messages of a cell.
    #[must_use]
    pub fn new(messages: Vec<CellMessage>) -> Self {
        let tokens = messages.iter().map(|it| it.tokens).fold(0, i64::saturating_add);
        Self { messages, tokens, conversation: None }
    }

    /// Sets the name of the conversation.
    #[must_use]
    pub fn conversation(mut self, name: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(name.into());
        self
    }

    /// The cell as a prompt: instructions, in which `{limit}` stands for the limit, and the messages
    /// [quoted](Self::quoted).
    #[must_use]
    pub fn prompt(&self, instructions: &str, limit: i64) -> String {
        let instructions = instructions.replace("{limit}", &limit.to_string());
        format!("{}\n\n{}", instructions.trim_end(), self.quoted())
    }

    /// The messages as quoted data. No text of them can end its quotation.
    #[must_use]
    pub fn quoted(&self) -> String {
        let mut quotation = Quotation::new();
        for (at, message) in self.messages.iter().enumerate() {
            if !message.text.trim().is_empty() {
                quotation.place(at, message.role, message.has_results, &message.text);
            }
        }
        quotation.finish().trim_end().to_owned()
    }
}

impl CellMessage {
    /// A message of so many tokens.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>, tokens: i64) -> Self {
        Self { role, text: text.into(), tokens, has_results: role == Role::Tool }
    }
}

/// A finished summary, as a store gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSummary {
    /// The text.
    pub text: Arc<str>,
    /// Place of the cut when it was last asked for and was not there: the number of messages from the
    /// first one of the cell to the cut. It is used for later cuts only, so that it never changes a prefix
    /// between two cuts.
    pub asked_at: i64,
}

impl StoredSummary {
    /// A summary that may be used from the first cut behind `asked_at` on.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, asked_at: i64) -> Self {
        Self { text: text.into(), asked_at }
    }
}

/// Value of [`StoredSummary::asked_at`] for a summary that any cut may use.
pub const ANY_CUT: i64 = i64::MIN;

/// The summaries that are there for one request.
///
/// See [`Conversation::summary_cells`](crate::conversation::Conversation::summary_cells) for an example.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct TurnSummaries {
    pub(super) rules: SummaryRules,
    pub(super) texts: BTreeMap<CellPlace, StoredSummary>,
}

impl TurnSummaries {
    /// None yet.
    pub fn new(rules: SummaryRules) -> Self {
        Self { rules, texts: BTreeMap::new() }
    }

    /// Adds the summary of a cell of this request.
    pub fn with(mut self, cell: &SummaryCell, summary: StoredSummary) -> Self {
        self.texts.insert(cell.place(), summary);
        self
    }

    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// A summary that a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlacedSummary {
    /// Index of the first message that it stands for.
    pub first: usize,
    /// Index of the last one.
    pub last: usize,
    /// About as many tokens as it takes.
    pub tokens: i64,
}

/// Tests if a text can be a summary: it says something, and is no longer than its limit.
pub(crate) fn is_usable(text: &str, limit: i64, counter: &dyn TokenCounter) -> bool {
    // A text that is far too long is not counted.
    let most_bytes = usize::try_from(limit.max(1).saturating_mul(32)).unwrap_or(usize::MAX);
    text.len() <= most_bytes && !text.trim().is_empty() && counter.count(text) <= limit
}
