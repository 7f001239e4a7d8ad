//! Rules of an API and of a caller about messages.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// Rules about messages: the place of answers to tool calls, pins, and dates.
///
/// ```
/// use cupel::conversation::{Answers, Rules};
/// use std::time::Duration;
///
/// let rules = Rules::new().answers(Answers::Later).spacing(Duration::from_secs(60));
/// # let _ = rules;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Rules {
    pub(super) answers: Answers,
    pub(super) pin_latest: bool,
    pub(super) exchanges: Exchanges,
    pub(super) user_first: bool,
    newest: Option<DateTime<Utc>>,
    spacing: Duration,
}

/// Place of the answers to a message's tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Answers {
    /// In the messages right after it.
    #[default]
    Next,
    /// In the messages right after it; instructions may stand between them.
    NextPastSystem,
    /// Anywhere after it.
    Later,
}

/// Grouping of the messages of an exchange that is over.
///
/// An exchange is a user's message and all that follows it up to the next one: calls, results, the
/// answer. Selected one by one, an answer can be sent without its question, and two answers in a
/// row, which some APIs refuse. In the exchange that is under way nothing is joined; its first
/// message is pinned unless exchanges are [apart](Self::Apart).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Exchanges {
    /// None: they are selected one by one.
    #[default]
    Apart,
    /// The question and the answer. Tool calls between them are units of their own; they are
    /// [withdrawn](super::Conversation::withdrawn) when the question is not selected.
    StepsApart,
    /// All of them.
    Whole,
}

impl Rules {
    /// The defaults: answers stand right after their call, the latest unit is pinned, and messages
    /// without a timestamp are dated a second apart.
    pub fn new() -> Self {
        Self {
            answers: Answers::Next,
            pin_latest: true,
            exchanges: Exchanges::Apart,
            user_first: false,
            newest: None,
            spacing: Duration::from_secs(1),
        }
    }

    /// Sets where the answers to tool calls stand.
    pub fn answers(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    /// Sets whether the unit with the last message is pinned; it is unless set.
    ///
    /// In a tool loop that is what the model has just asked for. A model that does not get it asks
    /// again. With `false` it competes with the rest.
    pub fn pin_latest(mut self, enabled: bool) -> Self {
        self.pin_latest = enabled;
        self
    }

    /// Sets which messages of an exchange that is over are one unit; none unless set.
    pub fn exchanges(mut self, exchanges: Exchanges) -> Self {
        self.exchanges = exchanges;
        self
    }

    /// Sets whether a [plan](super::plan) has to begin what it keeps of a history with a user's
    /// message, as some APIs want it; it need not unless set.
    pub fn user_first(mut self, enabled: bool) -> Self {
        self.user_first = enabled;
        self
    }

    /// Sets the timestamp of the last message; the time of the call unless set.
    pub fn newest(mut self, timestamp: DateTime<Utc>) -> Self {
        self.newest = Some(timestamp);
        self
    }

    /// Sets how far apart messages are dated that have no timestamp of their own; a second unless
    /// set.
    pub fn spacing(mut self, spacing: Duration) -> Self {
        self.spacing = spacing;
        self
    }

    /// The timestamps of so many messages.
    pub(super) fn timestamps(&self, messages: usize) -> Timestamps {
        let newest = self.newest.unwrap_or_else(Utc::now);
        Timestamps { newest, spacing: self.spacing, messages }
    }
}

/// Timestamps for messages that have none of their own.
pub(super) struct Timestamps {
    newest: DateTime<Utc>,
    spacing: Duration,
    messages: usize,
}

impl Timestamps {
    pub(super) fn of(&self, message: usize) -> DateTime<Utc> {
        let steps_back = self.messages.saturating_sub(message + 1);
        let steps_back = u32::try_from(steps_back).unwrap_or(u32::MAX);
        let age = TimeDelta::from_std(self.spacing.saturating_mul(steps_back));
        // Older than any calendar: the order is what matters.
        age.ok()
            .and_then(|age| self.newest.checked_sub_signed(age))
            .unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::new()
    }
}
