//! Messages of Chat Completions that no typed client would write.

use cupel::layer::Selection;
use cupel::tokens::TokenCounter;
use cupel_async_openai::Endpoint;
use serde_json::{Value, json};

use crate::support::{adapter, select, tool, user, words};

async fn send(messages: Value) -> (Vec<Value>, Selection) {
    let request = json!({"model": "gpt-4o", "messages": messages});
    select(Endpoint::Chat, adapter("gpt-4o"), &request).await
}

fn tokens(selection: &Selection) -> i64 {
    selection.report.included.iter().map(|one| one.item.tokens()).sum()
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
        assert!(selection.report.included.iter().any(|one| shown(one.item.content())));
    }
}

#[tokio::test]
async fn an_empty_list_of_calls_does_not_take_the_words_with_it() {
    let said = json!({"role": "assistant", "content": "x", "tool_calls": []});
    let silent = json!({"role": "assistant", "tool_calls": []});
    let (sent, selection) = send(json!([said, silent, user("u")])).await;
    assert_eq!(sent, [said, user("u")]);
    assert_eq!(selection.report.excluded.len(), 1);
}

#[tokio::test]
async fn a_role_nobody_has_heard_of_is_never_dropped() {
    let critic = json!({"role": "critic", "content": "never forget this"});
    let mut messages = vec![critic.clone()];
    messages.extend((0..20).map(|number| user(&words(number, 60))));
    let request = json!({"model": "test-200", "messages": messages});
    let (sent, _) = select(Endpoint::Chat, adapter("test-200"), &request).await;
    assert!(sent.len() < messages.len());
    assert_eq!(sent[0], critic);
}

#[tokio::test]
async fn messages_and_calls_without_ids_are_refused() {
    let nameless = json!({"role": "tool", "content": "whose?"});
    let call = json!({"role": "assistant", "tool_calls": [
        {"type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    for (message, why) in
        [(nameless, "a tool message without tool_call_id"), (call, "a tool call without an id")]
    {
        let (sent, selection) = send(json!([message, user("u")])).await;
        assert_eq!(sent, [user("u")]);
        let reason = selection.report.excluded[0].reason.to_string();
        assert!(reason.contains(why), "{reason}");
    }
}

#[tokio::test]
async fn text_is_counted_with_the_callers_counter() {
    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> i64 {
            text.len() as i64
        }
    }

    let request = json!({"model": "gpt-4o", "messages": [user("0123456789")]});
    let adapter = adapter("gpt-4o").counter(Bytes);
    let (_, selection) = select(Endpoint::Chat, adapter, &request).await;
    assert_eq!(tokens(&selection), 3 + 4 + 10);
}
