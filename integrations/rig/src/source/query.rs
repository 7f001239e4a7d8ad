//! What to search for.

use rig_core::completion::CompletionRequest;
use rig_core::message::{Message, UserContent};

/// The user's last words in a request: the text of the last message that has any, tool results
/// aside.
///
/// In a tool loop that is the question of the run, on every turn, unless the agent itself asks
/// again in the user's name: for output in the right form, for instance.
///
/// ```
/// use cupel_rig::source::last_user_text;
/// use rig_core::completion::CompletionRequest;
/// use rig_core::message::Message;
///
/// let request = CompletionRequest::new("And on Sundays?")
///     .messages([Message::user("When does the office close?"), Message::assistant("At six.")]);
/// assert_eq!(last_user_text(&request).as_deref(), Some("And on Sundays?"));
/// ```
#[must_use]
pub fn last_user_text(request: &CompletionRequest) -> Option<String> {
    request.chat_history.iter().rev().find_map(words)
}

fn words(message: &Message) -> Option<String> {
    let Message::User { content } = message else { return None };
    let texts = content.iter().filter_map(|part| match part {
        UserContent::Text(text) if !text.text.trim().is_empty() => Some(text.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
