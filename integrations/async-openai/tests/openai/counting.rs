//! Counts beside those of another tokenizer and of OpenAI's own documents.

use cupel_async_openai::{Endpoint, JsonBody};
use serde_json::{Value, json};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::arbitrary::{chat_tool, png, response_tool};
use crate::support::{adapter, assistant, builder, calling, system, tool, user, words};
use cupel_dev_servers::local_server::tokens;

/// Count of the layer for a whole request.
async fn counted(endpoint: Endpoint, request: &Value) -> i64 {
    let model = request["model"].as_str().unwrap();
    let layer = builder(adapter(model)).build().unwrap();
    let inner = service_fn(|_: JsonBody| async { Ok::<_, std::convert::Infallible>(()) });
    let mut service = ServiceBuilder::new().layer(layer.with_report()).service(inner);
    let body = JsonBody::parse(endpoint, request.to_string()).unwrap();
    let call = service.ready().await.unwrap().call(body);
    let ((), selection) = call.await.unwrap();
    assert!(selection.report.excluded.is_empty(), "all of it must be counted");
    let messages: i64 = selection.report.included.iter().map(|one| one.item.tokens()).sum();
    messages + selection.fixed_tokens
}

fn shapes() -> Vec<(&'static str, Endpoint, Value)> {
    let chat = |model: &str, messages: Value| json!({"model": model, "messages": messages});
    let responses = |input: Value| json!({"model": "gpt-4o", "input": input});
    let with = |mut request: Value, field: &str, value: Value| {
        request[field] = value;
        request
    };
    let parts = |parts: Value| json!([{"role": "user", "content": parts}]);
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string", "description": "The city."},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}});
    let nested = json!({"type": "function", "function": {"name": "book", "description": "Books.",
        "parameters": {"type": "object", "properties": {
            "guests": {"type": "array", "description": "Who comes.", "items": {
                "type": "object", "description": "One of them", "properties": {
                    "name": {"type": "string", "description": "Their name."},
                    "diet": {"type": "string", "enum": ["none", "vegan"]}}}},
            "when": {"type": "object", "properties": {"day": {"type": "string"}}}}}}});
    let unicode = "Größe, 大きさ, размер, حجم, 🦀🦀🦀 e\u{301}";
    let loop_of = |rounds: usize| {
        let mut messages = vec![system("You look things up."), user("Where is it?")];
        for round in 0..rounds {
            let ids = [format!("a{round}"), format!("b{round}")];
            messages.push(calling(&[&ids[0], &ids[1]]));
            messages.push(tool(&ids[0], &words(round, 40)));
            messages.push(tool(&ids[1], ""));
        }
        Value::from(messages)
    };
    let thought = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "QUJD".repeat(99),
        "summary": [{"type": "summary_text", "text": "It must be in the other drawer."}]});
    let said = json!({"type": "message", "role": "assistant", "id": "m", "status": "completed",
        "content": [{"type": "output_text", "text": "In the drawer.", "annotations": []}]});
    let call =
        json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\":1}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": words(1, 30)});
    use Endpoint::{Chat, Responses};
    vec![
        ("one word", Chat, chat("gpt-4o", json!([user("Hi")]))),
        ("an empty message", Chat, chat("gpt-4o", json!([user("")]))),
        ("an older model", Chat, chat("gpt-4", json!([system("Be kind."), user("Hello there!")]))),
        ("a long text", Chat, chat("gpt-4o", json!([user(&words(5, 3_000))]))),
        ("unicode", Chat, chat("gpt-4o", json!([user(unicode), assistant(unicode)]))),
        ("unicode, older", Chat, chat("gpt-4", json!([user(unicode), assistant(unicode)]))),
        ("a name", Chat, chat("gpt-4o", json!([{"role": "user", "name": "ann", "content": "Hi"}]))),
        (
            "a developer",
            Chat,
            chat("gpt-4o", json!([{"role": "developer", "content": "x"}, user("u")])),
        ),
        (
            "parts",
            Chat,
            chat(
                "gpt-4o",
                parts(json!([
            {"type": "text", "text": "What is this?"}, {"type": "text", "text": "Tell me."}])),
            ),
        ),
        (
            "an image, low",
            Chat,
            chat(
                "gpt-4o",
                parts(json!([{"type": "image_url",
            "image_url": {"url": png(4_000, 3_000), "detail": "low"}}])),
            ),
        ),
        (
            "an image, high",
            Chat,
            chat(
                "gpt-4o",
                parts(json!([{"type": "image_url",
            "image_url": {"url": png(2_048, 4_096), "detail": "high"}}])),
            ),
        ),
        (
            "an image by link",
            Chat,
            chat(
                "gpt-4o",
                parts(json!([{"type": "image_url",
            "image_url": {"url": "https://example.com/cat.png"}}])),
            ),
        ),
        (
            "audio",
            Chat,
            chat(
                "gpt-4o",
                parts(json!([{"type": "input_audio",
            "input_audio": {"data": "QUJD".repeat(9_000), "format": "mp3"}}])),
            ),
        ),
        (
            "a refusal",
            Chat,
            chat(
                "gpt-4o",
                json!([user("u"),
            {"role": "assistant", "content": null, "refusal": "I would rather not."}]),
            ),
        ),
        ("a tool loop", Chat, chat("gpt-4o", loop_of(4))),
        ("a long tool loop", Chat, chat("gpt-4", loop_of(40))),
        (
            "custom tools",
            Chat,
            chat(
                "gpt-4o",
                json!([user("u"),
            {"role": "assistant", "content": "Let me see.", "tool_calls": [{"id": "a",
                "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]},
            tool("a", "1")]),
            ),
        ),
        (
            "an older function",
            Chat,
            chat(
                "gpt-4",
                json!([user("u"),
            {"role": "assistant", "content": null,
                "function_call": {"name": "f", "arguments": "{\"x\": 1}"}},
            {"role": "function", "name": "f", "content": "2"}]),
            ),
        ),
        ("tools", Chat, with(chat("gpt-4o", json!([user("u")])), "tools", json!([chat_tool()]))),
        (
            "tools, older",
            Chat,
            with(chat("gpt-4", json!([user("u")])), "tools", json!([chat_tool()])),
        ),
        (
            "nested tools",
            Chat,
            with(chat("gpt-4o", json!([user("u")])), "tools", json!([nested, chat_tool()])),
        ),
        (
            "functions",
            Chat,
            with(chat("gpt-4", json!([user("u")])), "functions", json!([chat_tool()["function"]])),
        ),
        (
            "a format",
            Chat,
            with(
                chat("gpt-4o", json!([user("u")])),
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": "weather",
                "description": "The weather.", "schema": schema}}),
            ),
        ),
        ("a text as input", Responses, responses(json!("Where is the key?"))),
        (
            "instructions",
            Responses,
            with(responses(json!([user("u")])), "instructions", json!("Answer in one word.")),
        ),
        ("items", Responses, responses(json!([user("u"), said, user("v")]))),
        ("thoughts", Responses, responses(json!([user("u"), thought, call, output]))),
        (
            "flat tools",
            Responses,
            with(responses(json!([user("u")])), "tools", json!([response_tool()])),
        ),
        (
            "a text format",
            Responses,
            with(
                responses(json!([user("u")])),
                "text",
                json!({"format": {"type": "json_schema", "name": "weather", "schema": schema}}),
            ),
        ),
        (
            "an input image",
            Responses,
            responses(json!([{"role": "user", "content": [
            {"type": "input_image", "image_url": png(1_024, 1_024), "detail": "high"}]}])),
        ),
    ]
}

#[tokio::test]
async fn thirty_shapes_of_requests_beside_another_tokenizer() {
    let shapes = shapes();
    assert!(shapes.len() >= 20);
    println!("| request | server | counted | error |\n| --- | ---: | ---: | ---: |");
    for (name, endpoint, request) in shapes {
        let theirs = match endpoint {
            Endpoint::Chat => tokens::chat(&request),
            _ => tokens::response(&request),
        };
        let ours = counted(endpoint, &request).await;
        let error = (ours - theirs) as f64 / theirs as f64 * 100.0;
        println!("| {name} | {theirs} | {ours} | {error:.2} % |");
        assert!(error.abs() <= 1.0, "{name}: {ours} against {theirs}");
        // No margin is set, so no count may be too low at all.
        assert!(ours >= theirs, "{name}: {ours} against {theirs}");
    }
}

/// The numbers are those of "How to count tokens with tiktoken", section 6.
#[tokio::test]
async fn the_cookbooks_messages() {
    let example = |name: &str, text: &str| json!({"role": "system", "name": name, "content": text});
    let messages = json!([
        system(
            "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."
        ),
        example("example_user", "New synergies will help drive top-line growth."),
        example("example_assistant", "Things working well together will increase revenue."),
        example(
            "example_user",
            "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."
        ),
        example(
            "example_assistant",
            "Let's talk later when we're less busy about how to do better."
        ),
        user(
            "This late pivot means we don't have time to boil the ocean for the client deliverable."
        ),
    ]);
    for (model, published) in [("gpt-4", 129), ("gpt-4o", 124), ("gpt-4o-mini", 124)] {
        let request = json!({"model": model, "messages": messages});
        assert_eq!(counted(Endpoint::Chat, &request).await, published, "{model}");
    }
}
