//! Messages of Chat Completions as rig's.

use std::collections::HashMap;

use rig_core::completion::ToolDefinition;
use rig_core::message::{
    AssistantContent, AssistantMessage, EmptyToolName, Message, ToolCall, ToolFunction, ToolName,
    ToolResultContent, UserContent,
};
use serde_json::Value;

/// A history as rig holds it: what the model says in a row is one message, and so is what the user
/// says in a row, results of tools included.
pub(crate) fn history(messages: &[Value]) -> Result<Vec<Message>, EmptyToolName> {
    let mut calls: HashMap<&str, ToolCall> = HashMap::new();
    let mut history: Vec<Message> = Vec::new();
    for message in messages {
        let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        match role {
            "system" => history.push(Message::system(text)),
            "user" => match history.last_mut() {
                Some(Message::User { content }) => content.push(UserContent::text(text)),
                _ => history.push(Message::user(text)),
            },
            "tool" => {
                let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
                let Some(call) = calls.get(id) else { continue };
                let result = call.result(vec![ToolResultContent::text(text)]);
                match history.last_mut() {
                    Some(Message::User { content }) => {
                        content.push(UserContent::ToolResult(result));
                    }
                    _ => history.push(Message::tool_results(vec![result])),
                }
            }
            _ => {
                let mut content = Vec::new();
                if !text.is_empty() {
                    content.push(AssistantContent::text(text));
                }
                let made = message.get("tool_calls").and_then(Value::as_array);
                for call in made.into_iter().flatten() {
                    let (id, call) = tool_call(call)?;
                    calls.insert(id, call.clone());
                    content.push(AssistantContent::ToolCall(call));
                }
                match history.last_mut() {
                    Some(Message::Assistant(turn)) => turn.content.extend(content),
                    _ => history.push(Message::Assistant(AssistantMessage::new(content))),
                }
            }
        }
    }
    Ok(history)
}

fn tool_call(call: &Value) -> Result<(&str, ToolCall), EmptyToolName> {
    let text =
        |value: Option<&'_ Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
    let function = call.get("function");
    let name = ToolName::new(text(function.and_then(|function| function.get("name"))))?;
    let arguments = text(function.and_then(|function| function.get("arguments")));
    let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
    Ok((id, ToolCall::from_wire(id, ToolFunction::new(name, arguments))))
}

/// Definitions of tools as rig's.
pub(crate) fn tools(tools: &[Value]) -> Result<Vec<ToolDefinition>, EmptyToolName> {
    let definition = |tool: &Value| {
        let text = |field: &str| tool.get(field).and_then(Value::as_str).unwrap_or_default();
        let parameters = tool.get("parameters").cloned().unwrap_or_default();
        Ok(ToolDefinition::new(ToolName::new(text("name"))?, text("description"), parameters))
    };
    tools.iter().map(definition).collect()
}
