//! What a conversation asks, and what its units say without what reports put in front.

use std::borrow::Cow;

use super::message::{Message, Role};
use crate::relevance::Question;

/// What is looked at of the work since the question; what the judge reads of it is less.
const MOST_WORK: usize = 64 << 10;

/// The user's last words, and what has been done about them since, for
/// [`Split::question`](crate::layer::Split::question).
///
/// `write` adds the whole text of the message with this index to the end of a string.
///
/// ```
/// use cupel::conversation::{Message, Role, question};
///
/// let messages = [
///     Message::new(Role::User, "Where is my parcel?", 6),
///     Message::new(Role::Assistant, "track(7731)", 5).calls("1"),
///     Message::new(Role::Tool, "in Lyon", 3).answers("1"),
/// ];
/// let asked = question(&messages, |index, text| text.push_str(&messages[index].text)).unwrap();
/// assert_eq!(asked.text(), "Where is my parcel?");
/// assert_eq!(asked.work(), Some("track(7731)\nin Lyon"));
/// ```
pub fn question(
    messages: &[Message],
    mut write: impl FnMut(usize, &mut String),
) -> Option<Question> {
    let last = messages.iter().rposition(Message::asks)?;
    let mut text = String::new();
    match messages.get(last).and_then(|message| message.words.as_ref()) {
        Some(words) => text.push_str(words),
        None => write(last, &mut text),
    }
    let mut work = String::new();
    // The newest, from the end back until there is enough.
    let mut parts = Vec::new();
    let mut bytes = 0;
    for index in (last + 1..messages.len()).rev() {
        if bytes > MOST_WORK {
            break;
        }
        let mut part = String::new();
        write(index, &mut part);
        bytes += part.len();
        parts.push(part);
    }
    for part in parts.iter().rev() {
        if !work.is_empty() {
            work.push('\n');
        }
        work.push_str(part);
    }
    let question = Question::new(text);
    Some(if work.is_empty() { question } else { question.since(work) })
}

/// The text of a candidate without the number and the role of each message, for
/// [`ContextAdapter::text`](crate::layer::ContextAdapter::text).
///
/// ```
/// use cupel::conversation::bare_text;
///
/// assert_eq!(bare_text("[2] assistant: track(7731)\n[3] tool: in Lyon"), "track(7731)\nin Lyon");
/// assert_eq!(bare_text("as it is"), "as it is");
/// ```
#[must_use]
pub fn bare_text(content: &str) -> Cow<'_, str> {
    let first = content.get(front(content)..).unwrap_or_default();
    if !first.contains("\n[") {
        return Cow::Borrowed(first);
    }
    let mut text = String::with_capacity(first.len());
    for (number, line) in first.split('\n').enumerate() {
        if number > 0 {
            text.push('\n');
            text.push_str(line.get(front(line)..).unwrap_or_default());
        } else {
            text.push_str(line);
        }
    }
    Cow::Owned(text)
}

/// How long what stands in front of a message is: `[12] user: `.
fn front(line: &str) -> usize {
    let after = || {
        let rest = line.strip_prefix('[')?;
        let rest = rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
        let rest = rest.strip_prefix("] ")?;
        let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
        roles.iter().find_map(|role| rest.strip_prefix(role.name())?.strip_prefix(": "))
    };
    after().map_or(0, |rest| line.len() - rest.len())
}
