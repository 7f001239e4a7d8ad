//! What an error says about pinned items that do not fit.

use std::fmt;

use super::{BudgetOrigin, ContextError};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextItem, ContextKind};

/// A budget and who set what of it, as errors name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Tokens for the whole request and the answer.
    pub max_tokens: i64,
    /// Tokens of them that are kept for the answer.
    pub answer_tokens: i64,
    /// Who set them.
    pub origin: BudgetOrigin,
}

impl Limits {
    pub(super) fn of(budget: &ContextBudget, origin: BudgetOrigin) -> Self {
        let (max_tokens, answer_tokens) = (budget.max_tokens(), budget.output_reserve());
        Self { max_tokens, answer_tokens, origin }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_tokens, answer_tokens, origin } = self;
        let BudgetOrigin { window, answer } = origin;
        write!(
            f,
            "the {window} of {max_tokens} tokens, {answer_tokens} of them kept for the answer \
             (set by {answer})"
        )
    }
}

/// What is sent beside the items, if anything is.
pub(super) struct Beside<'a>(pub(super) &'a i64);

impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            tokens => write!(f, ", {tokens} taken by tools, formats and priming"),
        }
    }
}

/// The largest of what does not fit, as a part of a sentence.
pub(super) struct Largest<'a>(pub(super) &'a [(String, i64)]);

impl fmt::Display for Largest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (what, tokens)) in self.0.iter().enumerate() {
            let before = if index == 0 { "the largest: " } else { ", " };
            write!(f, "{before}{what} ({tokens} tokens)")?;
        }
        f.write_str(if self.0.is_empty() { "" } else { ";" })
    }
}

/// The three largest pinned items.
pub(super) fn largest(items: &[ContextItem]) -> Vec<(String, i64)> {
    let mut pinned: Vec<&ContextItem> = items.iter().filter(|item| item.pinned()).collect();
    pinned.sort_by_key(|item| std::cmp::Reverse(item.tokens()));
    pinned.into_iter().take(3).map(|item| (described(item), item.tokens())).collect()
}

/// Who speaks in the messages of a [conversation](crate::conversation).
const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// An item in words that show nothing of its content: its kind and, for a unit of a conversation,
/// whose message it begins with and the tools it calls.
fn described(item: &ContextItem) -> String {
    let content = item.content();
    let head = content.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let head = head.and_then(|(number, rest)| Some((number, rest.split_once(": ")?)));
    // Anything else that looks like a message is text, which an error must not show.
    let is_unit = |(number, (role, _)): &(&str, (&str, &str))| {
        number.parse::<usize>().is_ok() && ROLES.contains(role)
    };
    let Some((number, (role, text))) = head.filter(is_unit) else {
        return format!("an item of kind {}", item.kind().label());
    };
    let kind = item.kind();
    if *kind == ContextKind::system_prompt() {
        format!("the system prompt in message {number}")
    } else if *kind == ContextKind::tool_output() {
        // The calls stand line by line before the first result.
        let calls = text.split("\n[").next().unwrap_or_default();
        let name = |line: &str| Some(line.split_once('(')?.0.to_owned()).filter(|n| is_name(n));
        match calls.lines().find_map(name) {
            Some(tool) => format!("the result of tool {tool:?} called in message {number}"),
            None => format!("the results of the tools called in message {number}"),
        }
    } else {
        format!("message {number} of the {role}")
    }
}

/// Whether it can be the name of a tool.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(is_part)
}

/// Says more about pinned items that do not fit; other errors stay as they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Explanation {
    pub(super) limits: Limits,
    pub(super) fixed_tokens: i64,
}

impl Explanation {
    pub(super) fn of(self, error: CupelError, items: &[ContextItem]) -> ContextError {
        let Self { limits, fixed_tokens } = self;
        match error {
            CupelError::PinnedExceedsBudget { .. } => {
                let limits = Box::new(limits);
                ContextError::Pinned { error, largest: largest(items), fixed_tokens, limits }
            }
            other => other.into(),
        }
    }
}
