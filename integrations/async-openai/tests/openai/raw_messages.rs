//! Messages of Chat Completions that no typed client would write.

use cupel::layer::Selection;
use cupel_async_openai::Endpoint;
use serde_json::{Value, json};

use crate::support::{adapter, select, tool, user};

async fn send(messages: Value) -> (Vec<Value>, Selection) {
    let request = json!({"model": "gpt-4o", "messages": messages});
    select(Endpoint::Chat, adapter("gpt-4o"), &request).await
}

fn tokens(selection: &Selection) -> i64 {
    selection.included.iter().map(|one| one.item.tokens()).sum()
}

#[tokio::test]
async fn content_that_is_neither_text_nor_parts_is_counted_and_named() {
    let long: Vec<u32> = (100..400).collect();
    let object = json!({"role": "user", "content": {"numbers": long}});
    let numbers = json!({"role": "user", "content": long});
    for message in [object, numbers] {
        let (_, selection) = send(json!([message])).await;
        assert!(tokens(&selection) > 300, "{}", tokens(&selection));
        assert_eq!(selection.uncounted[0], "content of type \"\"");
    }
}

#[tokio::test]
async fn arguments_that_are_no_text_are_counted_and_shown() {
    let long: Vec<u32> = (100..400).collect();
    let call = json!({"role": "assistant", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"of": long}}}]});
    let older = json!({"role": "assistant",
        "function_call": {"name": "f", "arguments": {"of": long}}});
    let answer = json!({"role": "function", "name": "f", "content": "x"});
    for (call, answer) in [(call, tool("a", "x")), (older, answer)] {
        let (_, selection) = send(json!([user("u"), call, answer])).await;
        assert!(tokens(&selection) > 300, "{}", tokens(&selection));
        let shown = |text: &str| text.contains("f({\"of\":[100,101,");
        assert!(selection.included.iter().any(|one| shown(one.item.content())));
    }
}

#[tokio::test]
async fn an_empty_list_of_calls_does_not_take_the_words_with_it() {
    let said = json!({"role": "assistant", "content": "x", "tool_calls": []});
    let silent = json!({"role": "assistant", "tool_calls": []});
    let (sent, selection) = send(json!([said, silent, user("u")])).await;
    assert_eq!(sent, [said, user("u")]);
    assert_eq!(selection.excluded.len(), 1);
}
