//! Rules by which a server other than the vendor's counts requests.

use std::fmt;
use std::sync::Arc;

use cupel::tokens::{FormatOverhead, TokenCounter};
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// Rules that an adapter was given instead of its vendor's.
#[derive(Debug, Clone, Default)]
pub(crate) struct CountRules {
    pub(crate) counter: Option<Arc<dyn TokenCounter>>,
    pub(crate) local: Option<LocalRules>,
}

/// Tokens that a local server adds to the texts of a request: the format of its chat, and definitions of tools.
///
/// Servers for open models bring requests of all APIs into one form, and write that into the prompt by the
/// model's chat template. So the same rules count Chat Completions, Responses and Anthropic's Messages.
///
/// ```
/// use cupel::tokens::FormatOverhead;
/// use cupel_json::{LocalRules, OpenAiAdapter};
///
/// // ChatML: `<|im_start|>`, the role, a line feed, the text, `<|im_end|>`, a line feed.
/// let rules = LocalRules::new(FormatOverhead::LOCAL.with_per_message(5));
/// let adapter = OpenAiAdapter::new().local(rules);
/// # let _ = adapter;
/// ```
#[derive(Clone)]
#[must_use]
pub struct LocalRules {
    pub(crate) format: FormatOverhead,
    tools: LocalTools,
}

/// Rule by which tools count.
#[derive(Clone)]
enum LocalTools {
    /// As JSON with spaces, or with a line for each value.
    Json { indent: usize },
    /// By a function of their definitions.
    Counted(Arc<dyn Fn(&str) -> i64 + Send + Sync>),
    /// By the vendor's rule.
    Vendor,
}

impl LocalRules {
    /// Counts with this overhead. Tools count as JSON and what the overhead has for them.
    pub fn new(format: FormatOverhead) -> Self {
        Self { format, tools: LocalTools::Json { indent: 0 } }
    }

    /// Rules for any open model: more than what the chat templates in use add. Most write tools in one line,
    /// those of Llama 3 indented by 4.
    pub fn any() -> Self {
        Self::new(FormatOverhead::LOCAL)
    }

    /// Counts tools as JSON with spaces, in one line; so it is unless set otherwise.
    pub fn json_tools(self) -> Self {
        self.indented_tools(0)
    }

    /// Counts tools as JSON in lines that are indented by so many spaces.
    pub fn indented_tools(mut self, spaces: usize) -> Self {
        self.tools = LocalTools::Json { indent: spaces };
        self
    }

    /// Counts tools by the vendor's rule: for a server that hands requests on to it.
    pub fn vendor_tools(mut self) -> Self {
        self.tools = LocalTools::Vendor;
        self
    }

    /// Counts tools with a function of their definitions: JSON in the format of Chat Completions.
    pub fn tools(mut self, tokens: impl Fn(&str) -> i64 + Send + Sync + 'static) -> Self {
        self.tools = LocalTools::Counted(Arc::new(tokens));
        self
    }

    /// Counts as a model's chat template does.
    #[cfg(feature = "tokenizers")]
    pub fn of_template(template: &Arc<cupel::tokens::ChatTemplate>) -> Self {
        let shared = Arc::clone(template);
        Self::new(template.overhead()).tools(move |json| shared.tools(json))
    }
}

impl fmt::Debug for LocalRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRules").field("format", &self.format).finish_non_exhaustive()
    }
}

impl LocalRules {
    /// Returns true if the server writes calls and tools by a chat template.
    pub(crate) fn has_template(&self) -> bool {
        !matches!(self.tools, LocalTools::Vendor)
    }

    /// Tokens of tools; `None` if the vendor's rule counts them.
    pub(crate) fn tools_tokens(&self, tools: &str, text: impl Fn(&str) -> i64) -> Option<i64> {
        match &self.tools {
            LocalTools::Counted(tokens) => Some(tokens(tools)),
            LocalTools::Json { indent } => {
                let written = if *indent > 0 { indented(tools, *indent) } else { spaced(tools) };
                let tokens = text(written.as_deref().unwrap_or(tools));
                Some(tokens.saturating_add(self.format.tools))
            }
            LocalTools::Vendor => None,
        }
    }
}

/// JSON with a space after each comma and colon, as templates write it. Its numbers may be written in other ways.
pub(crate) fn spaced(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let mut text = String::with_capacity(json.len() + json.len() / 8);
    write(&value, &mut text);
    Some(text)
}

/// JSON with a line for each value.
fn indented(json: &str, spaces: usize) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let (mut text, indent) = (Vec::new(), " ".repeat(spaces));
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    value.serialize(&mut Serializer::with_formatter(&mut text, formatter)).ok()?;
    String::from_utf8(text).ok()
}

fn write(value: &Value, to: &mut String) {
    match value {
        Value::Array(items) => {
            to.push('[');
            for (index, item) in items.iter().enumerate() {
                to.push_str(if index > 0 { ", " } else { "" });
                write(item, to);
            }
            to.push(']');
        }
        Value::Object(fields) => {
            to.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                to.push_str(if index > 0 { ", " } else { "" });
                to.push_str(&Value::from(name.as_str()).to_string());
                to.push_str(": ");
                write(field, to);
            }
            to.push('}');
        }
        other => to.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_spaced_as_templates_write_it() {
        let spaced = |json| spaced(json);
        assert_eq!(spaced(r#"{"a":[1,2],"b":"x,y:z"}"#).unwrap(), r#"{"a": [1, 2], "b": "x,y:z"}"#);
        assert_eq!(spaced("not json"), None);
    }
}
