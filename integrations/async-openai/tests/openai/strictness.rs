//! The test server itself: what it must refuse, it refuses.

use serde_json::{Value, json};

use crate::support::{assistant, calling, system, tool, user, words};
use cupel_dev_servers::local_server::strict::check;

fn chat(messages: &Value) -> Result<Value, String> {
    check(
        "/chat/completions",
        json!({"model": "gpt-4o", "messages": messages}).to_string().as_bytes(),
    )
}

fn responses(input: &Value) -> Result<Value, String> {
    check("/responses", json!({"model": "gpt-4o", "input": input}).to_string().as_bytes())
}

#[test]
fn chat_completions() {
    let fine = json!([
        system("s"),
        user("u"),
        calling(&["a", "b"]),
        tool("b", "2"),
        tool("a", ""),
        assistant(""),
    ]);
    assert_eq!(chat(&fine).map(drop), Ok(()));
    let refused = [
        (json!([]), "empty array"),
        (json!(["text"]), "Missing required parameter"),
        (json!([{"role": "critic", "content": "x"}]), "'critic'"),
        (json!([{"role": "user", "content": null}]), "expected a string or an array"),
        (json!([{"role": "user", "content": []}]), "empty array"),
        (json!([{"role": "user", "content": [{"type": "refusal", "refusal": "x"}]}]), "'refusal'"),
        (json!([{"role": "user", "content": "x", "foo": 1}]), "'foo' was unexpected"),
        (json!([{"role": "assistant"}]), "expected a string or an array"),
        (json!([{"role": "assistant", "content": "x", "tool_calls": []}]), "too short"),
        (json!([tool("a", "x")]), "preceeding message"),
        (json!([calling(&["a"])]), "did not have response messages"),
        (json!([calling(&["a"]), user("u"), tool("a", "x")]), "did not have response messages"),
        (
            json!([calling(&["a", "b"]), tool("a", "x"), user("u")]),
            "did not have response messages",
        ),
        (json!([calling(&["a"]), tool("a", "x"), tool("a", "x")]), "preceeding message"),
        (json!([calling(&["a"]), tool("b", "x")]), "preceeding message"),
        (json!([{"role": "function", "name": "f", "content": "x"}]), "must follow their call"),
    ];
    for (messages, why) in refused {
        let error = chat(&messages).expect_err(&messages.to_string());
        assert!(error.contains(why), "{messages}: {error}");
    }
}

#[test]
fn the_responses_api() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "x"});
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let of_it = json!({"type": "message", "role": "assistant", "id": "msg_1-of-rs_1",
        "content": [{"type": "output_text", "text": "x"}]});
    for fine in [
        json!("text"),
        json!([user("u"), call, user("between"), output]),
        json!([thought, of_it]),
        json!([{"type": "item_reference", "id": "fc_1"}, output]),
    ] {
        assert_eq!(responses(&fine).map(drop), Ok(()), "{fine}");
    }
    for (refused, why) in [
        (json!([]), "empty array"),
        (json!([call]), "No tool output found"),
        (json!([output]), "No tool call found"),
        (json!([output, call]), "No tool call found"),
        (json!([thought]), "without its required following item"),
        (json!([thought, user("u")]), "without its required following item"),
        (json!([of_it]), "without its required 'reasoning' item"),
        (json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}]), "'text'"),
    ] {
        let error = responses(&refused).expect_err(&refused.to_string());
        assert!(error.contains(why), "{refused}: {error}");
    }
}

#[test]
fn the_window() {
    let body = |tokens: usize, output: u32| {
        let request = json!({"model": "test-200", "max_completion_tokens": output,
            "messages": [user(&words(1, tokens))]});
        check("/chat/completions", request.to_string().as_bytes()).map(drop)
    };
    assert_eq!(body(60, 10), Ok(()));
    assert!(body(900, 10).unwrap_err().contains("maximum context length is 200"));
    assert!(body(60, 190).unwrap_err().contains("maximum context length is 200"));
    assert!(check("/chat/completions", b"{\"model\":\"gpt-99\",\"messages\":[]}").is_err());
    assert!(check("/chat/completions", b"{").is_err());
}
