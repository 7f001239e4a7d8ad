//! Random conversations: parallel calls, nested loops, interruptions, parts, emptiness, unicode.

use proptest::prelude::*;
use serde_json::{Value, json};

/// A case: what is sent, into which window, with what beside it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) messages: Vec<Value>,
    pub(crate) window: u32,
    pub(crate) output: u32,
    pub(crate) tools: bool,
    pub(crate) documents: Vec<String>,
}

pub(crate) fn cases(messages: impl Strategy<Value = Vec<Value>>) -> impl Strategy<Value = Case> {
    let window = prop_oneof![2_u32..200, 100_u32..900, 900_u32..4_000];
    let documents = prop::collection::vec(text(), 0..4);
    (messages, window, 1_u32..60, any::<bool>(), documents).prop_map(
        |(messages, window, output, tools, documents)| Case {
            messages,
            window,
            // An answer as long as the window is refused by the server, however little is sent.
            output: output.min(window - 1),
            tools,
            documents,
        },
    )
}

/// Part of a conversation before it has ids.
#[derive(Debug, Clone)]
enum Turn {
    Plain(Value),
    /// Calls, and which of them are answered, in which order.
    Calls {
        calls: Vec<Call>,
        answers: Vec<(usize, Value)>,
        say: Option<String>,
        same_id: bool,
    },
    /// The older form.
    Function {
        answered: bool,
        text: String,
    },
    Orphan(String),
    Thoughts {
        calls: Vec<Call>,
        dangling: bool,
        sealed: bool,
        say: bool,
        /// Each call's output right after it.
        interleaved: bool,
        text: String,
    },
}

#[derive(Debug, Clone)]
struct Call {
    custom: bool,
    input: String,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        4 => "[a-z]{1,9}( [a-z]{1,9}){0,30}",
        2 => "\\PC{0,40}",
        1 => Just("日本語のテキスト 🦀 e\u{301} \u{202e}abc\n\t\"quoted\" \\ <|endoftext|>".to_owned()),
        1 => "[ \\n]{1,12}",
    ]
}

fn call() -> impl Strategy<Value = Call> {
    (any::<bool>(), text()).prop_map(|(custom, input)| Call { custom, input })
}

fn answers(calls: usize) -> impl Strategy<Value = Vec<(usize, Value)>> {
    let content = prop_oneof![
        4 => text().prop_map(Value::from),
        1 => text().prop_map(|text| json!([{"type": "text", "text": text}])),
    ];
    let all: Vec<usize> = (0..calls).collect();
    let order = prop_oneof![
        4 => Just(all.clone()),
        2 => Just(all.clone()).prop_shuffle(),
        // Interrupted, or answered twice.
        1 => prop::collection::vec(0..calls, 0..calls + 1),
    ];
    (order, prop::collection::vec(content, calls + 1))
        .prop_map(|(order, contents)| order.into_iter().zip(contents).collect())
}

fn calls() -> impl Strategy<Value = Turn> {
    let calls = prop::collection::vec(call(), 1..4);
    calls.prop_flat_map(|calls| {
        let count = calls.len();
        (Just(calls), answers(count), prop::option::of(text()), prop::bool::weighted(0.1))
            .prop_map(|(calls, answers, say, same_id)| Turn::Calls { calls, answers, say, same_id })
    })
}

fn thoughts() -> impl Strategy<Value = Turn> {
    let calls = prop::collection::vec(call(), 0..5);
    let flags = (prop::bool::weighted(0.15), any::<bool>(), any::<bool>(), any::<bool>());
    (calls, flags, text()).prop_map(|(calls, (dangling, sealed, say, interleaved), text)| {
        Turn::Thoughts { calls, dangling, sealed, say, interleaved, text }
    })
}

/// A PNG of this size, as far as anyone looks.
pub(crate) fn png(width: u32, height: u32) -> String {
    use base64::Engine as _;
    let bytes = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
        &width.to_be_bytes(),
        &height.to_be_bytes(),
        b"\x08\x06\0\0\0",
        &[0; 600],
    ];
    let data = base64::engine::general_purpose::STANDARD.encode(bytes.concat());
    format!("data:image/png;base64,{data}")
}

fn named(mut message: Value, name: Option<&'static str>) -> Value {
    if let (Some(name), Some(fields)) = (name, message.as_object_mut()) {
        fields.insert("name".to_owned(), name.into());
    }
    message
}

fn name() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::weighted(0.2, prop::sample::select(vec!["ann", "bo_b", "reviewer"]))
}

pub(crate) fn chat() -> impl Strategy<Value = Vec<Value>> {
    let instructions = (prop::sample::select(vec!["system", "developer"]), text(), name())
        .prop_map(|(role, text, name)| named(json!({"role": role, "content": text}), name));
    let part = prop_oneof![
        4 => text().prop_map(|text| json!({"type": "text", "text": text})),
        1 => (1_u32..3_000, 1_u32..3_000).prop_map(|(width, height)| {
            json!({"type": "image_url", "image_url": {"url": png(width, height), "detail": "low"}})
        }),
        1 => (1_u32..600, 1_u32..600).prop_map(|(width, height)| {
            json!({"type": "image_url", "image_url": {"url": png(width, height), "detail": "high"}})
        }),
        1 => (0_usize..4_000).prop_map(|length| {
            json!({"type": "input_audio",
                "input_audio": {"data": "A".repeat(length / 4 * 4), "format": "mp3"}})
        }),
    ];
    let user = prop_oneof![
        4 => text().prop_map(Value::from),
        2 => prop::collection::vec(part, 1..4).prop_map(Value::from),
    ];
    let user = (user, name())
        .prop_map(|(content, name)| named(json!({"role": "user", "content": content}), name));
    let assistant = prop_oneof![
        6 => text().prop_map(|text| json!({"role": "assistant", "content": text})),
        1 => text().prop_map(|text| json!({"role": "assistant", "content": null, "refusal": text})),
        1 => text().prop_map(|text| json!({"role": "assistant", "content": [
            {"type": "text", "text": text}, {"type": "refusal", "refusal": "no"}]})),
        // The API takes neither of these.
        1 => Just(json!({"role": "assistant", "content": null})),
        1 => Just(json!({"role": "assistant", "content": null, "tool_calls": []})),
    ];
    let turn = prop_oneof![
        1 => instructions.prop_map(Turn::Plain),
        4 => user.prop_map(Turn::Plain),
        4 => assistant.prop_map(Turn::Plain),
        4 => calls(),
        1 => (any::<bool>(), text())
            .prop_map(|(answered, text)| Turn::Function { answered, text }),
        1 => text().prop_map(Turn::Orphan),
    ];
    prop::collection::vec(turn, 1..14).prop_map(|turns| {
        let mut messages = Vec::new();
        for (number, turn) in turns.into_iter().enumerate() {
            turn.into_chat(number, &mut messages);
        }
        messages
    })
}

pub(crate) fn responses() -> impl Strategy<Value = Vec<Value>> {
    let message = |role: &'static str| {
        text().prop_map(move |text| json!({"type": "message", "role": role, "content": text}))
    };
    let parts = prop_oneof![
        text().prop_map(|text| json!({"type": "input_text", "text": text})),
        (1_u32..900, 1_u32..900).prop_map(|(width, height)| {
            json!({"type": "input_image", "image_url": png(width, height), "detail": "high"})
        }),
    ];
    let parts = prop::collection::vec(parts, 1..3)
        .prop_map(|parts| json!({"type": "message", "role": "user", "content": parts}));
    let turn = prop_oneof![
        1 => message("developer").prop_map(Turn::Plain),
        3 => message("user").prop_map(Turn::Plain),
        1 => parts.prop_map(Turn::Plain),
        2 => message("assistant").prop_map(Turn::Plain),
        4 => calls(),
        4 => thoughts(),
        1 => text().prop_map(Turn::Orphan),
    ];
    prop::collection::vec(turn, 1..14).prop_map(|turns| {
        let mut items = Vec::new();
        for (number, turn) in turns.into_iter().enumerate() {
            turn.into_items(number, &mut items);
        }
        items
    })
}

impl Turn {
    fn into_chat(self, number: usize, messages: &mut Vec<Value>) {
        match self {
            Self::Plain(message) => messages.push(message),
            Self::Calls { calls, answers, say, same_id } => {
                let id = |index: usize| match same_id {
                    true => format!("call_{index}"),
                    false => format!("call_{number}_{index}"),
                };
                let made: Vec<Value> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, call)| match call.custom {
                        true => json!({"id": id(index), "type": "custom",
                            "custom": {"name": "sql", "input": call.input}}),
                        false => json!({"id": id(index), "type": "function",
                            "function": {"name": "look_up", "arguments": call.input}}),
                    })
                    .collect();
                messages.push(match say {
                    Some(say) => json!({"role": "assistant", "content": say, "tool_calls": made}),
                    None => json!({"role": "assistant", "tool_calls": made}),
                });
                messages.extend(answers.into_iter().map(|(index, content)| {
                    json!({"role": "tool", "tool_call_id": id(index), "content": content})
                }));
            }
            Self::Function { answered, text } => {
                messages.push(json!({"role": "assistant",
                    "function_call": {"name": "old", "arguments": text}}));
                if answered {
                    messages.push(json!({"role": "function", "name": "old", "content": text}));
                }
            }
            Self::Orphan(text) | Self::Thoughts { text, .. } => messages.push(
                json!({"role": "tool", "tool_call_id": format!("lost_{number}"), "content": text}),
            ),
        }
    }

    fn into_items(self, number: usize, items: &mut Vec<Value>) {
        let id = |index: usize| format!("call_{number}_{index}");
        let output = |index: usize, call: &Call, output: Value| match call.custom {
            true => json!({"type": "custom_tool_call_output", "call_id": id(index),
                "output": output}),
            false => json!({"type": "function_call_output", "call_id": id(index),
                "output": output}),
        };
        let made = |index: usize, call: &Call, of: &str| match call.custom {
            true => json!({"type": "custom_tool_call", "call_id": id(index), "name": "sql",
                "input": call.input, "id": format!("ctc_{number}_{index}{of}")}),
            false => json!({"type": "function_call", "call_id": id(index), "name": "look_up",
                "arguments": call.input, "id": format!("fc_{number}_{index}{of}")}),
        };
        match self {
            Self::Plain(message) => items.push(message),
            Self::Calls { calls, answers, .. } => {
                for (index, call) in calls.iter().enumerate() {
                    items.push(made(index, call, ""));
                }
                for (index, content) in answers {
                    let text = content.as_str().unwrap_or("parts").to_owned();
                    items.push(output(index, &calls[index], text.into()));
                }
            }
            Self::Function { text, .. } | Self::Orphan(text) => items
                .push(json!({"type": "function_call_output", "call_id": format!("lost_{number}"),
                    "output": text})),
            Self::Thoughts { calls, dangling, sealed, say, interleaved, text } => {
                let sealed = if sealed { Value::from("A".repeat(200)) } else { Value::Null };
                let mut thought = json!({"type": "reasoning", "id": format!("rs_{number}"),
                    "summary": [{"type": "summary_text", "text": text}]});
                if sealed.is_string() {
                    thought["encrypted_content"] = sealed;
                }
                items.push(thought);
                if dangling {
                    return;
                }
                let of = format!("-of-rs_{number}");
                let said = json!({"type": "message", "role": "assistant",
                    "id": format!("msg_{number}{of}"), "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": [],
                        "logprobs": []}]});
                if interleaved && !calls.is_empty() {
                    for (index, call) in calls.iter().enumerate() {
                        items.push(made(index, call, &of));
                        items.push(output(index, call, text.clone().into()));
                        if say && index == 0 {
                            items.push(said.clone());
                        }
                    }
                    return;
                }
                if say || calls.is_empty() {
                    items.push(said);
                }
                for (index, call) in calls.iter().enumerate() {
                    items.push(made(index, call, &of));
                }
                for (index, call) in calls.iter().enumerate() {
                    items.push(output(index, call, text.clone().into()));
                }
            }
        }
    }
}

/// A function the model may call.
pub(crate) fn chat_tool() -> Value {
    json!({"type": "function", "function": {"name": "look_up", "description": "Looks a key up.",
        "parameters": {"type": "object", "properties": {
            "key": {"type": "string", "description": "The key."}}}}})
}

/// The same for the Responses API.
pub(crate) fn response_tool() -> Value {
    json!({"type": "function", "name": "look_up", "description": "Looks a key up.",
        "parameters": {"type": "object", "properties": {
            "key": {"type": "string", "description": "The key."}}}})
}
