//! What a plan changes in a message: its text by an excerpt, a quotation before it, a marker on it.
//!
//! Messages are edited as JSON, where they stand: every field but the one that changes stays as the
//! bytes it was.

use cupel::gather::BoxError;

use crate::read::{Endpoint, Object, elements, string};

/// How one message is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// What is sent instead of a tool's result.
    pub(crate) excerpt: Option<String>,
    /// What is put before the user's words.
    pub(crate) quotation: Option<String>,
    /// Whether a prompt cache may end here.
    pub(crate) breakpoint: bool,
}

/// Where a provider's prompt cache may end.
const BREAKPOINT: &str = r#""prompt_cache_breakpoint":{"mode":"explicit"}"#;

impl Edit {
    /// Changes the JSON of a message.
    pub(crate) fn apply(&self, endpoint: Endpoint, json: &str) -> Result<String, BoxError> {
        let mut json = json.to_owned();
        if let Some(text) = &self.excerpt {
            let object = Object::parse(&json).unwrap_or_default();
            let fields = ["content", "output", "result"];
            let field = fields.iter().find_map(|name| object.raw(name));
            let field = field.ok_or("a result without a text to cut")?;
            json = replace(&json, field.get(), &serde_json::to_string(text)?);
        }
        if let Some(text) = &self.quotation {
            json = with_part_before(endpoint, &json, text)?;
        }
        if self.breakpoint {
            json = with_breakpoint(endpoint, &json)?;
        }
        Ok(json)
    }
}

/// A part of a message that is text.
fn part(endpoint: Endpoint, text: &str) -> String {
    let kind = match endpoint {
        Endpoint::Chat | Endpoint::Messages => "text",
        Endpoint::Responses => "input_text",
    };
    format!(r#"{{"type":"{kind}","text":{text}}}"#)
}

fn with_part_before(endpoint: Endpoint, json: &str, text: &str) -> Result<String, BoxError> {
    let object = Object::parse(json).unwrap_or_default();
    let content = object.raw("content").ok_or("a user's message without content")?;
    let first = part(endpoint, &serde_json::to_string(text)?);
    let parts = match (string(content), elements(content)) {
        (Some(_), _) => format!("[{first},{}]", part(endpoint, content.get())),
        (None, Some(parts)) => {
            let others = content.get().trim_start().trim_start_matches('[');
            if parts.is_empty() { format!("[{first}]") } else { format!("[{first},{others}") }
        }
        (None, None) => {
            return Err("a user's message whose content is neither text nor parts".into());
        }
    };
    Ok(replace(json, content.get(), &parts))
}

/// Marks the last part of a message.
fn with_breakpoint(endpoint: Endpoint, json: &str) -> Result<String, BoxError> {
    let object = Object::parse(json).unwrap_or_default();
    let field = ["content", "output"].iter().find_map(|name| object.raw(name));
    let content = field.ok_or("a message without content to mark")?;
    let marked = match (string(content), elements(content)) {
        (Some(_), _) => {
            let part = part(endpoint, content.get());
            format!("[{},{BREAKPOINT}}}]", part.trim_end_matches('}'))
        }
        (None, Some(parts)) => {
            let last = parts.last().ok_or("a message without parts to mark")?.get();
            let marked = format!("{},{BREAKPOINT}}}", last.trim_end().trim_end_matches('}'));
            replace(content.get(), last, &marked)
        }
        (None, None) => return Err("a message whose content is neither text nor parts".into()),
    };
    Ok(replace(json, content.get(), &marked))
}

/// Replaces a slice of a text, which was borrowed from it.
fn replace(text: &str, part: &str, by: &str) -> String {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..start).unwrap_or_default();
    let after = text.get(start.saturating_add(part.len())..).unwrap_or_default();
    format!("{before}{by}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(edit: &Edit, endpoint: Endpoint, json: &str) -> String {
        let edited = edit.apply(endpoint, json).unwrap();
        assert!(Object::parse(&edited).is_some(), "{edited}");
        edited
    }

    #[test]
    fn a_result_is_cut_where_it_stands() {
        let edit = Edit { excerpt: Some("a\n[…]".into()), ..Edit::default() };
        let chat = r#"{ "role":"tool", "x" : 1.50, "content" : "long \u0041", "tool_call_id":"7"}"#;
        let expected = r#"{ "role":"tool", "x" : 1.50, "content" : "a\n[…]", "tool_call_id":"7"}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, chat), expected);
        let item = r#"{"type":"function_call_output","call_id":"7","output":["long"]}"#;
        let expected = r#"{"type":"function_call_output","call_id":"7","output":"a\n[…]"}"#;
        assert_eq!(apply(&edit, Endpoint::Responses, item), expected);
    }

    #[test]
    fn a_quotation_is_the_first_part() {
        let edit = Edit { quotation: Some("q\"".into()), ..Edit::default() };
        let text = r#"{"role":"user","content":"Hi \u0041","name":"n"}"#;
        let expected = r#"{"role":"user","content":[{"type":"text","text":"q\""},{"type":"text","text":"Hi \u0041"}],"name":"n"}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, text), expected);
        let parts = r#"{"role":"user","content": [ {"type":"input_text","text":"Hi"} ]}"#;
        let expected = r#"{"role":"user","content": [{"type":"input_text","text":"q\""}, {"type":"input_text","text":"Hi"} ]}"#;
        assert_eq!(apply(&edit, Endpoint::Responses, parts), expected);
        assert!(edit.apply(Endpoint::Chat, r#"{"role":"user"}"#).is_err());
    }

    #[test]
    fn a_marker_stands_on_the_last_part() {
        let edit = Edit { breakpoint: true, ..Edit::default() };
        let text = r#"{"role":"user","content":"Hi"}"#;
        let expected = r#"{"role":"user","content":[{"type":"text","text":"Hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, text), expected);
        let parts =
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        let expected = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#;
        assert_eq!(apply(&edit, Endpoint::Chat, parts), expected);
    }
}
