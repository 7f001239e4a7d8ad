//! Items of the Responses API: what stays together, what is on the server.

use cupel::layer::Selection;
use cupel_async_openai::{Endpoint, OpenAiAdapter};
use serde_json::{Value, json};

use crate::support::{self, adapter, user, words};

async fn select(adapter: OpenAiAdapter, request: &Value) -> (Vec<Value>, Selection) {
    support::select(Endpoint::Responses, adapter, request).await
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["id"].as_str().unwrap_or("-")).collect()
}

#[tokio::test]
async fn thoughts_stay_with_everything_of_their_turn() {
    let long = words(3, 200);
    let input = json!([
        user("first"),
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": long}]},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{"type": "output_text", "text": "small", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "id": "fo_1", "call_id": "c1", "output": "small"},
        user("second"),
    ]);
    let request = |window: u32| json!({"model": format!("test-{window}"), "input": input});
    let (kept, _) = select(adapter("test-900"), &request(900)).await;
    assert_eq!(kept.len(), 6);
    // One of them is too large, so none of them is sent.
    let (kept, selection) = select(adapter("test-100"), &request(100)).await;
    assert_eq!(kept.len(), 2);
    assert_eq!(selection.report.excluded.len(), 1);
}

/// Thoughts, then calls with each output right after its call.
fn interleaved(calls: usize) -> Vec<Value> {
    let mut items = vec![json!({"type": "reasoning", "id": "rs_1", "summary": []})];
    for number in 0..calls {
        let call_id = format!("c{number}");
        items.push(json!({"type": "function_call", "id": format!("fc_{number}-of-rs_1"),
            "call_id": call_id, "name": "f", "arguments": "{}"}));
        items.push(json!({"type": "function_call_output", "id": format!("fo_{number}"),
            "call_id": call_id, "output": words(number, 60)}));
    }
    items
}

#[tokio::test]
async fn a_call_after_an_output_is_sent_only_with_the_thoughts_that_led_to_it() {
    // Of a turn that is over: whatever is left of it is what the API takes.
    let mut input = vec![user("first")];
    input.extend(interleaved(6));
    input.push(user("second"));
    for window in [40, 90, 160, 240, 320, 400, 900] {
        let request = json!({"model": format!("test-{window}"), "input": input});
        let (kept, _) = select(adapter(&format!("test-{window}")), &request).await;
        let kept = json!({"model": "gpt-4o", "input": kept}).to_string();
        cupel_dev_servers::local_server::strict::check("/responses", kept.as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn a_long_loop_with_thoughts_at_its_beginning_is_not_one_unit() {
    let mut input = vec![user("first")];
    input.extend(interleaved(12));
    let request = json!({"model": "test-200", "input": input});
    let (kept, selection) = select(adapter("test-200"), &request).await;
    let kept = ids(&kept);
    // The newest call, and the thoughts with the call right after them.
    let needed = ["-", "rs_1", "fc_0-of-rs_1", "fo_0", "fc_11-of-rs_1", "fo_11"];
    assert!(needed.iter().all(|id| kept.contains(id)), "{kept:?}");
    assert!(!selection.report.excluded.is_empty());
}

#[tokio::test]
async fn a_turn_of_its_own_needs_no_thoughts_of_another() {
    // Without an id, or after a user's words, or as a final answer: none of these was led to.
    let said = |id: Value, phase: &str| {
        json!({"type": "message", "role": "assistant", "id": id, "phase": phase,
            "content": [{"type": "output_text", "text": "done", "annotations": []}]})
    };
    for (answer, kept_alone) in [
        (said(json!("msg_1"), "final_answer"), true),
        (said(Value::Null, "commentary"), true),
        (said(json!("msg_1"), "commentary"), false),
    ] {
        let mut input = interleaved(1);
        input[2]["output"] = words(1, 600).into();
        input.extend([answer.clone(), user("second")]);
        let request = json!({"model": "test-100", "input": input});
        let (kept, _) = select(adapter("test-100"), &request).await;
        assert_eq!(kept.len(), if kept_alone { 2 } else { 1 }, "{answer}");
    }
}

#[tokio::test]
async fn thoughts_without_an_outcome_are_refused() {
    let input = json!([
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "reasoning", "id": "rs_2", "summary": []},
        user("u"),
    ]);
    let (kept, selection) =
        select(adapter("gpt-4o"), &json!({"model": "gpt-4o", "input": input})).await;
    assert_eq!(ids(&kept), ["-"]);
    assert_eq!(selection.report.excluded.len(), 2);
    assert!(
        selection.report.excluded[0].reason.to_string().contains("reasoning without the output")
    );
}

#[tokio::test]
async fn calls_of_every_type_need_their_results() {
    let pairs = [
        ("function_call", "function_call_output"),
        ("custom_tool_call", "custom_tool_call_output"),
        ("computer_call", "computer_call_output"),
        ("shell_call", "shell_call_output"),
        ("apply_patch_call", "apply_patch_call_output"),
        ("tool_search_call", "tool_search_output"),
        ("program", "program_output"),
    ];
    for (call, output) in pairs {
        let call = json!({"type": call, "id": "c", "call_id": "x"});
        let output = json!({"type": output, "id": "o", "call_id": "x", "output": "done"});
        for (input, expected) in [
            (json!([call, output, user("u")]), vec!["c", "o", "-"]),
            (json!([call, user("between"), output, user("u")]), vec!["c", "-", "o", "-"]),
            (json!([call, user("u")]), vec!["-"]),
            (json!([output, user("u")]), vec!["-"]),
            (json!([output, call, user("u")]), vec!["-"]),
        ] {
            let request = json!({"model": "gpt-4o", "input": input});
            let (kept, _) = select(adapter("gpt-4o"), &request).await;
            assert_eq!(ids(&kept), expected, "{input}");
        }
    }
}

#[tokio::test]
async fn a_local_shells_output_names_the_item_or_the_call() {
    for id in ["lsh_1", "call_1"] {
        let input = json!([
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "action": {}},
            {"type": "local_shell_call_output", "id": id, "output": "{}"},
            user("u"),
        ]);
        let (kept, _) =
            select(adapter("gpt-4o"), &json!({"model": "gpt-4o", "input": input})).await;
        assert_eq!(kept.len(), 3, "{id}");
    }
}

#[tokio::test]
async fn an_approval_may_be_waited_for_but_not_given_to_nothing() {
    let asked = json!({"type": "mcp_approval_request", "id": "mcpr_1", "name": "f",
        "arguments": "{}", "server_label": "s"});
    let given = json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1",
        "approve": true});
    for (input, count) in [
        (json!([user("u"), asked, given]), 3),
        (json!([user("u"), asked]), 2),
        (json!([user("u"), given]), 1),
    ] {
        let (kept, _) =
            select(adapter("gpt-4o"), &json!({"model": "gpt-4o", "input": input})).await;
        assert_eq!(kept.len(), count, "{input}");
    }
}

#[tokio::test]
async fn what_is_on_the_server_is_named_and_its_calls_are_answered() {
    let output =
        json!({"type": "function_call_output", "call_id": "remote", "output": words(1, 90)});
    let long: Vec<Value> = (0..9).map(|seed| user(&words(seed, 60))).collect();
    for (field, value) in
        [("previous_response_id", json!("resp_1")), ("conversation", json!({"id": "conv_1"}))]
    {
        let mut input = vec![output.clone()];
        input.extend(long.clone());
        let mut request = json!({"model": "test-200", "input": input});
        request[field] = value;
        let (kept, selection) = select(adapter("test-200"), &request).await;
        assert_eq!(selection.uncounted, [field]);
        assert!(kept.len() < input.len());
        assert!(kept.contains(&output), "the call on the server has no answer");
    }
}

#[tokio::test]
async fn references_are_kept_with_what_follows_them() {
    let input = json!([
        {"type": "item_reference", "id": "rs_9"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "id": "fo_1", "call_id": "c1", "output": words(2, 60)},
        {"id": "msg_9"},
        user(&words(1, 90)),
        user("u"),
    ]);
    let request = json!({"model": "test-90", "input": input});
    let (kept, selection) = select(adapter("test-90"), &request).await;
    assert_eq!(ids(&kept), ["rs_9", "fc_1", "fo_1", "msg_9", "-"]);
    assert_eq!(selection.uncounted, ["item rs_9", "item msg_9"]);
}

#[tokio::test]
async fn a_summary_of_all_before_is_never_dropped() {
    let mut input = vec![json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "QUJD"})];
    input.extend((0..20).map(|seed| user(&words(seed, 60))));
    let (kept, _) =
        select(adapter("test-200"), &json!({"model": "test-200", "input": input})).await;
    assert_eq!(kept[0]["id"], "cmp_1");
    assert!(kept.len() < input.len());
}

#[tokio::test]
async fn pictures_are_counted_as_pictures_wherever_they_are() {
    let png = crate::arbitrary::png(512, 512) + &"QUJD".repeat(20_000);
    let image = json!([{"type": "input_image", "image_url": png, "detail": "high"}]);
    let screen = json!({"type": "computer_screenshot", "image_url": png});
    let call = |kind: &str| json!({"type": kind, "call_id": "x", "name": "f", "arguments": "{}"});
    for (call, output) in [
        (
            call("function_call"),
            json!({"type": "function_call_output", "call_id": "x", "output": image}),
        ),
        (
            call("computer_call"),
            json!({"type": "computer_call_output", "call_id": "x", "output": screen}),
        ),
    ] {
        let request = json!({"model": "gpt-4o", "input": [user("u"), call, output]});
        let (_, selection) = select(adapter("gpt-4o"), &request).await;
        let tokens: i64 = selection.report.included.iter().map(|one| one.item.tokens()).sum();
        assert!((255..330).contains(&tokens), "{tokens}: {}", request["input"][1]);
    }
    let made =
        json!({"type": "image_generation_call", "id": "ig_1", "result": "QUJD".repeat(20_000)});
    let request = json!({"model": "gpt-4o", "input": [user("u"), made]});
    let (_, selection) = select(adapter("gpt-4o"), &request).await;
    let tokens: i64 = selection.report.included.iter().map(|one| one.item.tokens()).sum();
    assert!((1_445..1_500).contains(&tokens), "{tokens}");
}

#[tokio::test]
async fn a_request_that_lives_on_the_server_passes_with_nothing_to_select() {
    let request = json!({"model": "gpt-4o", "input": [], "previous_response_id": "resp_1"});
    let (kept, selection) = select(adapter("gpt-4o"), &request).await;
    assert!(kept.is_empty());
    assert_eq!(selection.uncounted, ["previous_response_id"]);
}

#[tokio::test]
async fn types_nobody_has_heard_of_are_kept_and_their_data_is_not_read_as_text() {
    let data = format!("data:video/mp4;base64,{}", "QUJD".repeat(20_000));
    let input = json!([
        {"type": "hologram", "id": "h_1", "src": data},
        {"role": "user", "content": [{"type": "input_video", "video_url": data}]},
        {"type": "code_interpreter_call", "id": "ci_1", "outputs": [{"type": "image", "url": data}]},
    ]);
    let (kept, selection) =
        select(adapter("gpt-4o"), &json!({"model": "gpt-4o", "input": input})).await;
    assert_eq!(kept.len(), 3);
    assert_eq!(selection.uncounted, ["content of type \"input_video\""]);
    let tokens: i64 = selection.report.included.iter().map(|one| one.item.tokens()).sum();
    assert!((3 * 1_445..3 * 1_500).contains(&tokens), "{tokens}");
}

#[tokio::test]
async fn thoughts_before_a_type_nobody_has_heard_of_are_kept() {
    let input = json!([
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "hologram", "id": "h_1"},
        user("u"),
    ]);
    let (kept, _) = select(adapter("gpt-4o"), &json!({"model": "gpt-4o", "input": input})).await;
    assert_eq!(ids(&kept), ["rs_1", "h_1", "-"]);
}
