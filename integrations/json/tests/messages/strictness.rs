//! The stand-in refuses what the API does, rule by rule.

use serde_json::{Value, json};

use cupel_dev_servers::local_server::messages::{LARGEST, check, check_count, thoughts};

/// A request that is taken.
fn sound() -> Value {
    json!({
        "model": "test-9000", "max_tokens": 100, "system": "Be brief.",
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I will."},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "42"},
                {"type": "text", "text": "And?"}]},
        ],
    })
}

fn refused(rule: &str, change: impl FnOnce(&mut Value), why: &str) {
    let mut request = sound();
    change(&mut request);
    match check(request.to_string().as_bytes(), "") {
        Ok(_) => panic!("{rule}: taken, {request}"),
        Err(refused) => assert!(refused.message.contains(why), "{rule}: {}", refused.message),
    }
}

#[test]
fn a_sound_request_is_taken() {
    check(sound().to_string().as_bytes(), "").unwrap();
    let mut count = sound();
    count.as_object_mut().unwrap().remove("max_tokens");
    check_count(count.to_string().as_bytes(), "").unwrap();
}

#[test]
fn bodies_models_and_limits() {
    assert!(check(b"[", "").is_err() && check(b"[]", "").is_err());
    assert_eq!(check(&vec![b' '; LARGEST + 1], "").unwrap_err().kind, "request_too_large");
    refused("model", |r| r["model"] = json!(null), "model: Field required");
    refused("model", |r| r["model"] = json!("gpt-4o"), "model: gpt-4o");
    refused("max_tokens", |r| r["max_tokens"] = json!(null), "max_tokens: Field required");
    refused("max_tokens", |r| r["max_tokens"] = json!(0), "greater than or equal to 1");
    refused(
        "max_tokens",
        |r| {
            r["model"] = json!("claude-haiku-4-5");
            r["max_tokens"] = json!(64_001);
        },
        "maximum allowed number of output tokens",
    );
    refused("messages", |r| r["messages"] = json!([]), "at least one message");
    refused("window", |r| r["model"] = json!("test-300"), "prompt is too long");
    refused("window", |r| r["max_tokens"] = json!(8_900), "exceed context limit");
}

#[test]
fn roles() {
    refused("role", |r| r["messages"][0]["role"] = json!("tool"), "'user' or 'assistant'");
    refused("first", |r| drop(r["messages"].as_array_mut().unwrap().remove(0)), "first message");
    let insert = |r: &mut Value, at: usize, role: &str| {
        r["messages"].as_array_mut().unwrap().insert(at, json!({"role": role, "content": "x"}));
    };
    refused("alternate", |r| insert(r, 1, "user"), "must alternate");
    refused("system", |r| insert(r, 0, "system"), "must follow a 'user'");
    let mut with_system = sound();
    insert(&mut with_system, 1, "system");
    check(with_system.to_string().as_bytes(), "").unwrap();
}

#[test]
fn contents() {
    refused("content", |r| r["messages"][0]["content"] = json!(null), "Field required");
    refused("empty", |r| r["messages"][0]["content"] = json!(""), "non-empty content");
    refused("empty", |r| r["messages"][0]["content"] = json!([]), "non-empty content");
    refused("blank", |r| r["messages"][0]["content"] = json!(" \n"), "non-whitespace");
    let block = |block: Value| move |r: &mut Value| r["messages"][0]["content"] = json!([block]);
    refused("empty", block(json!({"type": "text", "text": ""})), "must be non-empty");
    refused("type", block(json!({"type": "sound"})), "does not match any of the expected tags");
    refused("image", block(json!({"type": "image"})), "does not match");
    refused("image", block(json!({"type": "image", "source": {"type": "base64"}})), "data");
    refused("document", block(json!({"type": "document", "source": {"type": "ftp"}})), "does not");
    refused("thinking", block(json!({"type": "thinking"})), "cannot be in `user`");
    refused(
        "nested",
        block(json!({"type": "tool_result", "tool_use_id": "a",
        "content": [{"type": "tool_use"}]})),
        "does not match",
    );
    let many = |r: &mut Value| {
        let image = json!({"type": "image", "source": {"type": "url", "url": "https://x"}});
        r["messages"][0]["content"] = json!(vec![image; 101]);
    };
    refused("images", many, "Too many images");
    let documents = |r: &mut Value| {
        let source = json!({"type": "text", "media_type": "text/plain", "data": "x"});
        r["messages"][0]["content"] = json!([
            {"type": "document", "source": source, "citations": {"enabled": true}},
            {"type": "document", "source": source}]);
    };
    refused("citations", documents, "all documents or none");
}

#[test]
fn the_last_message() {
    let prefill = |text: &'static str| {
        move |r: &mut Value| {
            let message = json!({"role": "assistant", "content": text});
            r["messages"].as_array_mut().unwrap().push(message);
        }
    };
    refused("prefill", prefill("So "), "trailing whitespace");
    refused(
        "prefill",
        |r| {
            r["thinking"] = json!({"type": "adaptive"});
            prefill("So")(r);
        },
        "not supported with thinking",
    );
}

#[test]
fn calls_and_results() {
    refused("id", |r| r["messages"][1]["content"][1]["id"] = json!("a b"), "match pattern");
    refused("name", |r| r["messages"][1]["content"][1]["name"] = json!(""), "name: Field");
    refused("input", |r| r["messages"][1]["content"][1]["input"] = json!("x"), "input: Field");
    let blocks = |r: &mut Value, at: usize| -> Vec<Value> {
        r["messages"][at]["content"].as_array().unwrap().clone()
    };
    refused(
        "unique",
        |r| {
            let more = [
                json!({"role": "assistant", "content": blocks(r, 1)}),
                json!({"role": "user", "content": blocks(r, 2)}),
            ];
            r["messages"].as_array_mut().unwrap().extend(more);
        },
        "ids must be unique",
    );
    refused("unanswered", |r| r["messages"][2]["content"] = json!("No."), "without `tool_result`");
    refused(
        "at the end",
        |r| drop(r["messages"].as_array_mut().unwrap().pop()),
        "without `tool_result`",
    );
    refused("orphan", |r| r["messages"][1]["content"] = json!("No."), "unexpected `tool_use_id`");
    refused(
        "twice",
        |r| {
            let result = r["messages"][2]["content"][0].clone();
            r["messages"][2]["content"].as_array_mut().unwrap().insert(0, result);
        },
        "single result",
    );
    refused(
        "first",
        |r| r["messages"][2]["content"].as_array_mut().unwrap().reverse(),
        "must come before",
    );
    refused("tools", |r| r["tools"] = json!([]), "must define tools");
    refused(
        "server",
        |r| {
            r["messages"][1]["content"].as_array_mut().unwrap().insert(
                0,
                json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
            );
        },
        "corresponding `server_tool_use`",
    );
}

/// A request whose answer thought twice before it called.
fn thoughtful(model: &str) -> Value {
    let mut request = sound();
    request["model"] = json!(model);
    request["max_tokens"] = json!(2_000);
    let mut before = request.clone();
    before["messages"].as_array_mut().unwrap().truncate(1);
    let first = thoughts::think(&before, "Look first.", None);
    let second = thoughts::think_sealed(&before, "hidden", Some(&first));
    let blocks = request["messages"][1]["content"].as_array_mut().unwrap();
    blocks.splice(0..0, [first, second]);
    request
}

#[test]
fn thinking_is_left_as_it_was() {
    let edited = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut request = thoughtful("test-9000");
        change(request["messages"][1]["content"].as_array_mut().unwrap());
        check(request.to_string().as_bytes(), "").map_err(|refused| refused.message)
    };
    edited(&|_| {}).unwrap();
    for change in [
        &|blocks: &mut Vec<Value>| blocks[0]["thinking"] = json!("Look later.") as _,
        &|blocks: &mut Vec<Value>| blocks[0]["signature"] = json!("x"),
        &|blocks: &mut Vec<Value>| blocks[1]["data"] = json!("other.sig"),
        &|blocks: &mut Vec<Value>| drop(blocks.remove(0)),
        &|blocks: &mut Vec<Value>| blocks.swap(0, 1),
    ] as [&dyn Fn(&mut Vec<Value>); 5]
    {
        let why = edited(change).unwrap_err();
        assert!(why.contains("cannot be modified"), "{why}");
    }
}

#[test]
fn a_turn_under_way_begins_with_its_thoughts() {
    let manual = |change: &dyn Fn(&mut Value)| {
        let mut request = thoughtful("test-9000");
        request["thinking"] = json!({"type": "enabled", "budget_tokens": 1_024});
        change(&mut request);
        check(request.to_string().as_bytes(), "").map_err(|refused| refused.message)
    };
    manual(&|_| {}).unwrap();
    let without = |request: &mut Value| {
        request["messages"][1]["content"].as_array_mut().unwrap().drain(..2).for_each(drop);
    };
    assert!(manual(&without).unwrap_err().contains("Expected `thinking`"));
    let budget = |tokens: i64| {
        move |request: &mut Value| request["thinking"]["budget_tokens"] = json!(tokens)
    };
    assert!(manual(&budget(1_000)).unwrap_err().contains("1024"));
    assert!(manual(&budget(2_000)).unwrap_err().contains("max_tokens"));
}

#[test]
fn bound_thinking_wants_the_words_before_it() {
    let beta = cupel_json::BINDING_BETA;
    let mut request = thoughtful("test-bound-9000");
    check(request.to_string().as_bytes(), "").unwrap();
    request["messages"][0]["content"] = json!([{"type": "text", "text": "Look.",
        "cache_control": {"type": "ephemeral"}}]);
    check(request.to_string().as_bytes(), "").unwrap();
    request["messages"][0]["content"] = json!("Look there.");
    let why = check(request.to_string().as_bytes(), "").unwrap_err().message;
    assert!(why.contains("bound to a different conversation"), "{why}");
    request["thinking"] = json!({"type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    let why = check(request.to_string().as_bytes(), "").unwrap_err().message;
    assert!(why.contains("Extra inputs"), "{why}");
    check(request.to_string().as_bytes(), &format!("other, {beta}")).unwrap();
    request["model"] = json!("test-9000");
    check(request.to_string().as_bytes(), beta).unwrap();
}

#[test]
fn marks_of_the_cache() {
    let marked = |at: &[&str], control: Value| {
        let places: Vec<String> = at.iter().map(ToString::to_string).collect();
        move |r: &mut Value| {
            for place in &places {
                r.pointer_mut(place).unwrap()["cache_control"] = control.clone();
            }
        }
    };
    let here = "/messages/1/content/0";
    let ephemeral = json!({"type": "ephemeral"});
    refused("type", marked(&[here], json!({"type": "eternal"})), "'ephemeral'");
    refused("ttl", marked(&[here], json!({"type": "ephemeral", "ttl": "2h"})), "'5m' or '1h'");
    let all = [
        "/tools/0",
        here,
        "/messages/1/content/1",
        "/messages/2/content/0",
        "/messages/2/content/1",
    ];
    refused("five", marked(&all, ephemeral.clone()), "maximum of 4 blocks");
    refused(
        "with the top level",
        |r| {
            marked(&all[..4], ephemeral.clone())(r);
            r["cache_control"] = ephemeral.clone();
        },
        "maximum of 4 blocks",
    );
    refused(
        "order",
        |r| {
            marked(&all[..1], ephemeral.clone())(r);
            marked(&all[1..2], json!({"type": "ephemeral", "ttl": "1h"}))(r);
        },
        "must not come after",
    );
    refused(
        "empty",
        |r| {
            r["messages"][0]["content"] =
                json!([{"type": "text", "text": "", "cache_control": ephemeral}]);
        },
        "cannot be set for empty text",
    );
    let mut request = thoughtful("test-9000");
    request["messages"][1]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    assert!(
        check(request.to_string().as_bytes(), "")
            .unwrap_err()
            .message
            .contains("cannot be set on `thinking`")
    );
}
