//! Tools and calls as local servers count them, whatever the API.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Endpoint;
use crate::models::{LocalRules, Meter, ModelFacts, spaced};
use crate::object::Object;

impl<M: ModelFacts> Meter<M> {
    /// Tokens of the arguments of a call. Local servers parse them, and their templates write them anew with
    /// spaces.
    pub(crate) fn input(&self, json: &str) -> i64 {
        let spaced =
            self.local.as_ref().filter(|local| local.has_template()).and_then(|_| spaced(json));
        self.text(spaced.as_deref().unwrap_or(json))
    }

    /// Tokens of a request's tools on a local server.
    pub(crate) fn local_tools(&self, request: &Object<'_>, endpoint: Endpoint) -> Option<i64> {
        let local: &LocalRules = self.local.as_ref()?;
        match chat_tools(request, endpoint) {
            Some(tools) => local.tools_tokens(&tools, |text| self.text(text)),
            None => Some(0),
        }
    }
}

/// The tools of a request in the format of Chat Completions; `None` if it has none.
fn chat_tools(request: &Object<'_>, endpoint: Endpoint) -> Option<String> {
    let list = |field| -> Vec<&RawValue> { request.array(field).unwrap_or_default() };
    let wrapped = |tool: &&RawValue| format!(r#"{{"type":"function","function":{}}}"#, tool.get());
    let mut tools: Vec<Cow<'_, str>> = Vec::new();
    for tool in list("tools") {
        let object = Object::parse(tool.get()).unwrap_or_default();
        tools.push(match endpoint {
            Endpoint::Messages => anthropic(&object).into(),
            _ if object.has("function") => tool.get().into(),
            _ => wrapped(&tool).into(),
        });
    }
    tools.extend(list("functions").iter().map(|tool| Cow::Owned(wrapped(tool))));
    (!tools.is_empty()).then(|| format!("[{}]", tools.join(",")))
}

/// A tool of Anthropic's format.
fn anthropic(tool: &Object<'_>) -> String {
    let raw = |field| tool.raw(field).map_or("null", RawValue::get);
    format!(
        r#"{{"type":"function","function":{{"name":{},"description":{},"parameters":{}}}}}"#,
        raw("name"),
        raw("description"),
        raw("input_schema"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_all_apis_come_into_one_form() {
        let tools = |endpoint, json: &str| chat_tools(&Object::parse(json).unwrap(), endpoint);
        let chat =
            r#"[{"type":"function","function":{"name":"f","description":"d","parameters":{}}}]"#;
        let of_chat = tools(Endpoint::Chat, &format!(r#"{{"tools":{chat}}}"#));
        assert_eq!(of_chat.as_deref(), Some(chat));
        let messages = r#"{"tools":[{"name":"f","input_schema":{},"description":"d"}]}"#;
        assert_eq!(tools(Endpoint::Messages, messages).as_deref(), Some(chat));
        let flat = r#"{"tools":[{"type":"function","name":"f"}]}"#;
        let expected = r#"[{"type":"function","function":{"type":"function","name":"f"}}]"#;
        assert_eq!(tools(Endpoint::Responses, flat).as_deref(), Some(expected));
        for none in ["{}", r#"{"tools":[]}"#, r#"{"tools":null}"#, r#"{"tools":7}"#] {
            assert_eq!(tools(Endpoint::Chat, none), None, "{none}");
        }
    }
}
