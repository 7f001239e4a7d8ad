//! Questions about other budgets and other policies, asked of a conversation.
//!
//! ```
//! use cupel::conversation::{Conversation, Message, Rehearsal, Role, Rules};
//! use cupel::{ContextBudget, Policy};
//!
//! let mut messages = vec![Message::new(Role::System, "Be brief.", 6)];
//! for turn in 0..40 {
//!     messages.push(Message::new(Role::User, format!("Question {turn}?"), 50));
//!     messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 50));
//! }
//! messages.push(Message::new(Role::User, "Go on.", 10));
//! let rehearsal = Rehearsal::new(Conversation::new(messages, &Rules::new())?)?;
//! let (chat, budget) = (Policy::chat(), ContextBudget::builder(2_000).build()?);
//!
//! // The first question is quoted from 2,940 tokens on, long before everything fits.
//! assert_eq!(rehearsal.smallest_budget_for(&chat, 1, 500..=8_000)?, Some(2_940));
//!
//! let gain = rehearsal.gained_by(&chat, &budget, 500)?;
//! assert!(gain.into_view.len() >= 8, "{:?}", gain.into_view);
//!
//! let scored = Policy::chat().without_plan();
//! let side_by_side = rehearsal.compare(&[("planned", &chat), ("scored", &scored)], &budget)?;
//! for (label, turn) in &side_by_side.turns {
//!     let (kept, tokens) = (turn.edits.kept.len(), turn.sent.tokens);
//!     let cached = turn.plan.as_ref().map(|plan| (plan.cached_tokens, plan.new_tokens));
//!     println!("{label}: {kept} messages, {tokens} tokens, cached and new: {cached:?}");
//! }
//! assert!(!side_by_side.differences.is_empty());
//! # Ok::<(), cupel::CupelError>(())
//! ```

use std::ops::RangeInclusive;

use super::plan::Excerpt;
use super::rehearsal::{DryRun, Rehearsal, RehearsedMessage};
use crate::error::CupelError;
use crate::model::ContextBudget;
use crate::policy::Policy;

/// The difference that more tokens make to a turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BudgetGain {
    /// The turn without them.
    pub before: DryRun,
    /// The turn with them.
    pub after: DryRun,
    /// Messages that are sent or quoted with them only, by index.
    pub into_view: Vec<usize>,
    /// Messages that are sent or quoted without them only: more room may move the cut.
    pub out_of_view: Vec<usize>,
    /// Excerpts that grow with them.
    pub grown: Vec<GrownExcerpt>,
}

/// A tool's result of which more is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrownExcerpt {
    /// Index of its message.
    pub message: usize,
    /// Its number in that message.
    pub result: usize,
    /// Tokens of the excerpt before.
    pub before: i64,
    /// Tokens of what is sent after.
    pub after: i64,
}

/// The turns of several policies side by side.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnComparison {
    /// Label and turn of each policy, in the order given.
    pub turns: Vec<(String, DryRun)>,
    /// Messages that the policies send in different forms, by index, with the form under each.
    pub differences: Vec<(usize, Vec<RehearsedMessage>)>,
}

impl Rehearsal<'_> {
    /// The smallest window in a range in which a message is sent or quoted, found by bisection. None if
    /// it is not in view in the largest one.
    ///
    /// The windows have no output reserve. A window that does not hold what has to be sent counts as one
    /// without the message. The window that is returned was tried, and so was the one of a token less,
    /// unless that is out of range. A plan is not monotone: its cut and its shares move with the window,
    /// so a smaller window that shows the message may exist.
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] if there is no message with this index; otherwise as
    /// [`dry_run`](Self::dry_run).
    pub fn smallest_budget_for(
        &self,
        policy: &Policy,
        message: usize,
        windows: RangeInclusive<i64>,
    ) -> Result<Option<i64>, CupelError> {
        let count = self.conversation.messages().len();
        if message >= count {
            return Err(CupelError::PipelineConfig(format!(
                "there is no message {message}: the conversation has {count}, counted from 0"
            )));
        }
        let shows = |window: i64| {
            let budget = ContextBudget::builder(window).build();
            match budget.and_then(|budget| self.dry_run(policy, &budget)) {
                Ok(turn) => Ok(turn.view_of(message).is_in_view()),
                Err(
                    CupelError::PinnedExceedsBudget { .. }
                    | CupelError::Overflow { .. }
                    | CupelError::CeilingExceeded { .. }
                    | CupelError::InvalidBudget { .. },
                ) => Ok(false),
                Err(error) => Err(error),
            }
        };
        let (mut low, mut high) = windows.into_inner();
        if low > high || !shows(high)? {
            return Ok(None);
        }
        if shows(low)? {
            return Ok(Some(low));
        }
        while high.saturating_sub(low) > 1 {
            let middle = low + high.saturating_sub(low) / 2;
            if shows(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Some(high))
    }

    /// The messages and results of which `extra_tokens` more in window and target show more.
    ///
    /// # Errors
    ///
    /// [`CupelError::PipelineConfig`] if `extra_tokens` is negative; otherwise as
    /// [`dry_run`](Self::dry_run).
    pub fn gained_by(
        &self,
        policy: &Policy,
        budget: &ContextBudget,
        extra_tokens: i64,
    ) -> Result<BudgetGain, CupelError> {
        if extra_tokens < 0 {
            return Err(CupelError::PipelineConfig(format!(
                "extra_tokens must be at least 0, got {extra_tokens}; start from the smaller budget"
            )));
        }
        let before = self.dry_run(policy, budget)?;
        let after = self.dry_run(policy, &budget.plus(extra_tokens)?)?;
        let messages = self.conversation.messages();
        let only_in = |one: &DryRun, other: &DryRun| {
            let all = 0..messages.len();
            let is_new = |index: &usize| {
                one.view_of(*index).is_in_view() && !other.view_of(*index).is_in_view()
            };
            all.filter(is_new).collect()
        };
        let grown = |(key, excerpt): (&(usize, usize), &Excerpt)| {
            let (message, result) = *key;
            if after.view_of(message) < RehearsedMessage::Excerpt {
                return None;
            }
            let sent = match after.edits.excerpts.get(key) {
                Some(excerpt) => excerpt.tokens,
                None => messages.get(message)?.results.get(result).copied()?,
            };
            let before = excerpt.tokens;
            (sent > before).then_some(GrownExcerpt { message, result, before, after: sent })
        };
        Ok(BudgetGain {
            into_view: only_in(&after, &before),
            out_of_view: only_in(&before, &after),
            grown: before.edits.excerpts.iter().filter_map(grown).collect(),
            before,
            after,
        })
    }

    /// The turns that several policies would send within one budget.
    ///
    /// # Errors
    ///
    /// The first error of any policy's [`dry_run`](Self::dry_run).
    pub fn compare(
        &self,
        policies: &[(impl AsRef<str>, &Policy)],
        budget: &ContextBudget,
    ) -> Result<TurnComparison, CupelError> {
        let run = |(label, policy): &(_, &Policy)| {
            let label: &str = AsRef::<str>::as_ref(label);
            Ok((label.to_owned(), self.dry_run(policy, budget)?))
        };
        let turns = policies.iter().map(run).collect::<Result<Vec<_>, CupelError>>()?;
        let difference = |message: usize| {
            let views: Vec<RehearsedMessage> =
                turns.iter().map(|(_, turn)| turn.view_of(message)).collect();
            let differ = views.windows(2).any(|pair| pair.first() != pair.last());
            differ.then_some((message, views))
        };
        let all = 0..self.conversation.messages().len();
        Ok(TurnComparison { differences: all.filter_map(difference).collect(), turns })
    }
}
