//! The texts in tools' results, which a plan may replace by excerpts.

use std::borrow::Cow;

use cupel::conversation::plan::Excerpt;
use rig_core::message::{Message, ToolResultContent, UserContent};

/// The text of a result by its number in its message.
pub(super) fn text(message: &Message, number: usize) -> Option<Cow<'_, str>> {
    let Message::User { content } = message else { return None };
    let parts = content.iter().filter_map(|part| match part {
        UserContent::ToolResult(result) => Some(&result.content),
        _ => None,
    });
    let mut texts = parts.flatten().filter_map(|part| match part {
        ToolResultContent::Text(text) => Some(Cow::Borrowed(&*text.text)),
        ToolResultContent::Json { value } => Some(Cow::Owned(value.to_string())),
        ToolResultContent::Image(_) => None,
    });
    texts.nth(number)
}

/// Puts an excerpt in the place of such a text.
pub(super) fn replace(message: &mut Message, number: usize, excerpt: &Excerpt) {
    let Message::User { content } = message else { return };
    let parts = content.iter_mut().filter_map(|part| match part {
        UserContent::ToolResult(result) => Some(&mut result.content),
        _ => None,
    });
    let is_text = |part: &&mut ToolResultContent| !matches!(part, ToolResultContent::Image(_));
    if let Some(part) = parts.flatten().filter(is_text).nth(number) {
        *part = ToolResultContent::text(excerpt.text.as_str());
    }
}

#[cfg(test)]
mod tests {
    use rig_core::message::{ToolCall, ToolFunction, ToolName};

    use super::*;

    #[test]
    fn texts_and_json_are_found_by_their_number_and_images_are_passed_over() {
        let name = ToolName::new("look").unwrap();
        let call = ToolCall::from_wire("a", ToolFunction::new(name, serde_json::json!({})));
        let first = call.result(vec![ToolResultContent::text("x")]);
        let second = call.result(vec![
            ToolResultContent::image_base64("aGk=", None, None),
            ToolResultContent::json(serde_json::json!({"y": 1})),
        ]);
        let mut message = Message::tool_results(vec![first, second]);
        assert_eq!(text(&message, 0).as_deref(), Some("x"));
        assert_eq!(text(&message, 1).as_deref(), Some(r#"{"y":1}"#));
        assert_eq!(text(&message, 2), None);
        let counter = cupel::tokens::HeuristicCounter;
        replace(&mut message, 1, &Excerpt::of("short", 10, false, &counter));
        assert_eq!(text(&message, 1).as_deref(), Some("short"));
        assert_eq!(text(&message, 0).as_deref(), Some("x"));
        assert_eq!(text(&Message::user("words"), 0), None);
    }
}
