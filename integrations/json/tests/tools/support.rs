//! Conversations in the formats of three APIs, and a check of what is sent.

use cupel::layer::{ContextAdapter, ContextError, CupelLayer, Selection};
use cupel::model::ToolLimit;
use cupel::tokens::HeuristicCounter;
use cupel::{ContextBudget, Policy};
use cupel_json::{Endpoint, JsonBody, MessagesAdapter, OpenAiAdapter};
use futures::executor::block_on;
use serde_json::{Value, json};

pub(crate) const APIS: [Endpoint; 3] = [Endpoint::Chat, Endpoint::Responses, Endpoint::Messages];

/// A step of a conversation.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    System(String),
    User(String),
    Model(String),
    /// Calls of tools by name, each with its result.
    Calls(Vec<(String, String)>),
}

/// Messages in an API's format, and the instructions where they stand beside them.
pub(crate) fn body(api: Endpoint, tools: &[Value], steps: &[Step], choice: Value) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    let mut system = String::new();
    let mut calls = 0;
    for step in steps {
        match (step, api) {
            (Step::System(text), Endpoint::Messages) => system.push_str(text),
            (Step::System(text), _) => messages.push(json!({"role": "system", "content": text})),
            (Step::User(text), _) => messages.push(json!({"role": "user", "content": text})),
            (Step::Model(text), _) => messages.push(json!({"role": "assistant", "content": text})),
            (Step::Calls(made), _) => {
                let ids: Vec<String> = made
                    .iter()
                    .map(|_| {
                        calls += 1;
                        format!("call_{calls}")
                    })
                    .collect();
                let made = made.iter().zip(&ids);
                match api {
                    Endpoint::Chat => {
                        let call = |((name, _), id): (&(String, String), &String)| {
                            json!({"id": id,
                            "type": "function", "function": {"name": name, "arguments": "{}"}})
                        };
                        let all: Vec<Value> = made.clone().map(call).collect();
                        messages.push(json!({"role": "assistant", "tool_calls": all}));
                        messages.extend(made.map(|((_, result), id)| {
                            json!({"role": "tool",
                            "tool_call_id": id, "content": result})
                        }));
                    }
                    Endpoint::Responses => {
                        messages.extend(made.clone().map(|((name, _), id)| {
                            json!({"type":
                            "function_call", "call_id": id, "name": name, "arguments": "{}"})
                        }));
                        messages.extend(made.map(|((_, result), id)| {
                            json!({"type":
                            "function_call_output", "call_id": id, "output": result})
                        }));
                    }
                    _ => {
                        let call = |((name, _), id): (&(String, String), &String)| {
                            json!({"type":
                            "tool_use", "id": id, "name": name, "input": {}})
                        };
                        let all: Vec<Value> = made.clone().map(call).collect();
                        messages.push(json!({"role": "assistant", "content": all}));
                        let result = |((_, result), id): (&(String, String), &String)| {
                            json!({"type":
                            "tool_result", "tool_use_id": id, "content": result})
                        };
                        let all: Vec<Value> = made.map(result).collect();
                        messages.push(json!({"role": "user", "content": all}));
                    }
                }
            }
        }
    }
    let mut body = match api {
        Endpoint::Messages => json!({"model": "claude-sonnet-4-5", "max_tokens": 100,
            "system": system, "messages": messages}),
        Endpoint::Responses => json!({"model": "gpt-4o", "input": messages}),
        _ => json!({"model": "gpt-4o", "messages": messages}),
    };
    body["tools"] = json!(tools);
    if !choice.is_null() {
        body["tool_choice"] = choice;
    }
    body
}

/// A definition in an API's format.
pub(crate) fn tool(api: Endpoint, name: &str, description: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"value": {"type": "string"}}});
    match api {
        Endpoint::Chat => json!({"type": "function", "function": {"name": name,
            "description": description, "parameters": schema}}),
        Endpoint::Responses => json!({"type": "function", "name": name,
            "description": description, "parameters": schema}),
        _ => json!({"name": name, "description": description,
            "input_schema": schema}),
    }
}

/// `tool_choice` that names a tool.
pub(crate) fn demand(api: Endpoint, name: &str) -> Value {
    match api {
        Endpoint::Chat => json!({"type": "function", "function": {"name": name}}),
        Endpoint::Responses => json!({"type": "allowed_tools", "mode": "auto",
            "tools": [{"type": "function", "name": name}]}),
        _ => json!({"type": "tool", "name": name}),
    }
}

pub(crate) fn name_of(tool: &Value) -> String {
    let own = tool["name"].as_str().or(tool["function"]["name"].as_str());
    own.or(tool["type"].as_str()).unwrap().to_owned()
}

pub(crate) fn names(body: &Value) -> Vec<String> {
    body["tools"].as_array().unwrap().iter().map(name_of).collect()
}

pub(crate) fn send(
    api: Endpoint,
    body: &Value,
    window: i64,
    policy: Policy,
) -> Result<(Value, String, Selection), ContextError> {
    let body = JsonBody::parse(api, body.to_string()).unwrap();
    match api {
        Endpoint::Messages => {
            run(MessagesAdapter::new().counter(HeuristicCounter), body, window, policy)
        }
        _ => run(OpenAiAdapter::new().counter(HeuristicCounter), body, window, policy),
    }
}

fn run<A: ContextAdapter<JsonBody> + 'static>(
    adapter: A,
    body: JsonBody,
    window: i64,
    policy: Policy,
) -> Result<(Value, String, Selection), ContextError> {
    let layer = CupelLayer::builder()
        .adapter(adapter)
        .policy(policy)
        .budget(ContextBudget::builder(window).build().unwrap())
        .build()
        .unwrap();
    let (body, selection) = block_on(layer.selector().select(body))?.into_parts();
    Ok((serde_json::from_str(body.json()).unwrap(), body.json().to_owned(), selection))
}

pub(crate) fn chat(share: f64) -> Policy {
    Policy::chat().with_tools(ToolLimit::new().share(share))
}

/// Names of all tools that are called in a body.
fn called(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_str);
            let made = match kind {
                Some("function_call" | "tool_use") => fields.get("name"),
                Some("function") => fields.get("function").and_then(|it| it.get("name")),
                _ => None,
            };
            names.extend(made.and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| called(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| called(item, names)),
        _ => {}
    }
}

/// Fails if an API would refuse the tools of a body that was made of another one.
pub(crate) fn check(offered: &Value, sent: &Value) {
    let (before, after) = (names(offered), names(sent));
    assert!(!after.is_empty(), "an empty list");
    let mut rest = before.iter();
    assert!(after.iter().all(|name| rest.any(|it| it == name)), "{after:?} of {before:?}");
    let mut called_in = Vec::new();
    for field in ["messages", "input"] {
        called(&sent[field], &mut called_in);
    }
    for name in called_in.iter().filter(|name| before.contains(name)) {
        assert!(after.contains(name), "{name} is called and not in {after:?}");
    }
    let demanded =
        [&sent["tool_choice"], &sent["tool_choice"]["function"], &sent["tool_choice"]["tools"][0]];
    for name in demanded.iter().filter_map(|it| it["name"].as_str()) {
        assert!(after.iter().any(|it| it == name), "{name} is demanded and not in {after:?}");
    }
    for field in ["model", "tool_choice", "max_tokens"] {
        assert_eq!(offered[field], sent[field]);
    }
}
