//! A planned conversation: what is recalled, cut and marked, and what the cache makes of it.

use cupel::ContextItem;
use cupel::conversation::plan::Part;
use cupel::layer::{ContextAdapter, Selection, Strategy};
use cupel_json::{Endpoint, JsonBody, MessagesAdapter};
use serde_json::{Value, json};

use crate::support::{layer, models, planned, send};
use cupel_dev_servers::local_server::messages::{self, caches::Memory};

const WINDOW: i64 = 12_000;

/// A long conversation with a tool, before its last question is answered.
fn conversation(exchanges: usize) -> Vec<Value> {
    let mut messages = Vec::new();
    for at in 0..exchanges {
        let id = format!("toolu_{at}");
        let log = format!("line of the log number {at}, all is well\n").repeat(12);
        messages.extend([
            json!({"role": "user", "content": format!("What about parcel P-{at}? {}", "Please look. ".repeat(20))}),
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "look", "input": {"parcel": format!("P-{at}")}}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": log}]}),
            json!({"role": "assistant", "content": format!("Parcel P-{at} lies in shelf S-{}.", at * 7)}),
        ]);
    }
    messages
}

fn body(messages: &[Value]) -> Value {
    json!({"model": format!("test-{WINDOW}"), "max_tokens": 500, "system": "You mind the parcels. ".repeat(30),
        "tools": [{"name": "look", "input_schema": {"type": "object"}}], "messages": messages})
}

fn sent(body: &Value) -> (Value, Selection) {
    let (sent, report) = send(&layer(WINDOW, planned()), &body.to_string()).unwrap();
    let json = messages::check(sent.json().as_bytes(), "")
        .unwrap_or_else(|refused| panic!("{refused:?}\n{}", sent.json()));
    (json, report)
}

/// Tokens of a request, read again.
fn counted(json: &Value) -> i64 {
    let adapter = MessagesAdapter::new().models(models(WINDOW));
    let body = JsonBody::parse(Endpoint::Messages, json.to_string()).unwrap();
    let split = adapter.split(body, Strategy::Scored).unwrap();
    let candidates = split.candidates.iter().map(ContextItem::tokens).sum::<i64>();
    split.fixed_tokens + candidates
}

fn marks(json: &Value) -> usize {
    json.to_string().matches("\"cache_control\"").count()
}

#[test]
fn a_standing_order_is_the_first_text_behind_the_cut() {
    let order = "Never open parcels.";
    let mut messages = conversation(80);
    messages.splice(
        0..0,
        [
            json!({"role": "user", "content": order}),
            json!({"role": "assistant", "content": "Sure."}),
        ],
    );
    messages.push(json!({"role": "user", "content": "And P-7?"}));
    let (json, report) = sent(&body(&messages));
    let first = &json["messages"][0];
    let text = first["content"].as_str().or(first["content"][0]["text"].as_str()).unwrap();
    assert!(text.starts_with("<standing>\n"), "{first}");
    assert!(text.contains(&format!("\n[0] {order}\n")), "{first}");
    assert!(counted(&json) <= WINDOW);
    assert_eq!(
        report.plan.unwrap().standing.unwrap().message,
        messages.len() - json["messages"].as_array().unwrap().len()
    );
}

#[test]
fn what_left_the_window_is_recalled_in_the_users_turn_as_a_quotation() {
    let mut messages = conversation(80);
    messages.push(json!({"role": "user", "content": "In which shelf was parcel P-3?"}));
    let (json, report) = sent(&body(&messages));
    let kept = json["messages"].as_array().unwrap();
    assert!(kept.len() < 200, "{}", kept.len());
    let last = kept.last().unwrap()["content"].as_array().unwrap();
    let quoted = last[0]["text"].as_str().unwrap();
    assert!(quoted.starts_with("<recalled>") && quoted.contains("shelf S-21"), "{quoted}");
    assert_eq!(last[1]["text"], "In which shelf was parcel P-3?");
    let plan = report.plan.unwrap();
    assert!(!plan.whole && plan.recalled_tokens > 0);
    assert_eq!(report.sent.tokens + report.fixed_tokens, counted(&json));
    // During the loop that follows, its bytes stay, and results stay first.
    messages.extend([
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "There."}]}),
    ]);
    let (next, _) = sent(&body(&messages));
    let question = |json: &Value, back: usize| {
        let messages = json["messages"].as_array().unwrap();
        messages[messages.len() - back]["content"][0]["text"].clone()
    };
    assert_eq!(question(&next, 3), question(&json, 1));
}

/// A step of a loop, with a text beside its result.
fn step(at: usize, lines: usize, beside: &str) -> [Value; 2] {
    let id = format!("step_{at}");
    let log = format!("line of the log number {at}, all is well\n").repeat(lines);
    [
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "look", "input": {}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": log}, {"type": "text", "text": beside}]}),
    ]
}

#[test]
fn a_users_words_beside_a_result_are_the_question() {
    let mut messages = conversation(80);
    messages.push(json!({"role": "user", "content": "Read the log."}));
    messages.extend(step(0, 40, "Stop. In which shelf was parcel P-3?"));
    let asked = |json: &Value| {
        let all = json["messages"].as_array().unwrap().iter().flat_map(messages::blocks);
        let texts = all.map(|block| block["text"].as_str().unwrap_or_default().to_owned());
        texts.collect::<Vec<_>>()
    };
    let (json, report) = sent(&body(&messages));
    let texts = asked(&json);
    assert_eq!(texts.last().unwrap(), "Stop. In which shelf was parcel P-3?");
    let recalled = &texts[texts.len() - 2];
    assert!(recalled.starts_with("<recalled>") && recalled.contains("shelf S-21"), "{recalled}");
    assert_eq!(report.sent.tokens + report.fixed_tokens, counted(&json));
    // They are still there when the loop that follows has outgrown the window.
    for at in 1..60 {
        messages.extend(step(at, 40, "<system-reminder>Mind the shelves.</system-reminder>"));
        let (json, report) = sent(&body(&messages));
        assert!(asked(&json).iter().any(|text| text.starts_with("Stop. In which")), "step {at}");
        assert_eq!(report.sent.tokens + report.fixed_tokens, counted(&json));
    }
}

#[test]
fn of_a_long_exchange_that_is_over_the_newest_steps_stay_behind_its_opening() {
    let mut messages = conversation(3);
    messages.push(json!({"role": "user", "content": "Read all the logs."}));
    messages
        .extend((0..60).flat_map(|at| step(at, 40, "<system-reminder>Hurry.</system-reminder>")));
    messages.push(json!({"role": "assistant", "content": "All is well."}));
    messages.push(json!({"role": "user", "content": "Really?"}));
    let (json, report) = sent(&body(&messages));
    let kept = json["messages"].as_array().unwrap();
    assert_eq!(kept[0]["content"], "Read all the logs.");
    let text = json.to_string();
    assert!(text.contains("step_59") && !text.contains("step_0\""), "{text}");
    // A tenth stays free, because the tokens are estimated.
    let room = report.budget.target_tokens() * 9 / 10;
    let used = report.sent.tokens + report.fixed_tokens;
    assert!(used <= room && used > room * 7 / 10, "{used} of {room}");
    let parts: Vec<Part> = report.plan.unwrap().parts().map(|(_, part)| part).collect();
    let opening = parts.iter().position(|part| *part == Part::Opening).unwrap();
    // Nothing is missing from the cut on.
    let cut = opening + 1 + parts[opening + 1..].iter().position(|part| part.is_sent()).unwrap();
    assert!(parts[cut..].iter().all(|part| part.is_sent()), "{parts:?}");
}

#[test]
fn what_a_client_remarks_beside_results_is_no_question() {
    let mut messages = conversation(80);
    messages.push(json!({"role": "user", "content": "In which shelf was parcel P-3?"}));
    let (before, _) = sent(&body(&messages));
    messages.extend(step(0, 1, "<system-reminder>Parcel P-9 waits.</system-reminder>"));
    let (json, report) = sent(&body(&messages));
    assert_eq!(report.plan.unwrap().broke, None);
    let kept = json["messages"].as_array().unwrap();
    let question = &kept[kept.len() - 3];
    assert_eq!(question["content"][1]["text"], "In which shelf was parcel P-3?");
    assert_eq!(
        question["content"][0],
        before["messages"].as_array().unwrap().last().unwrap()["content"][0]
    );
}

#[test]
fn a_result_too_long_for_the_window_becomes_an_excerpt() {
    let long = (0..9_000).map(|line| format!("{line}: nothing to see\n")).collect::<String>();
    let mut messages = conversation(2);
    messages.extend([
        json!({"role": "user", "content": "Read the log."}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}},
            {"type": "tool_use", "id": "b", "name": "look", "input": {}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "short"},
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": long}], "is_error": true}]}),
    ]);
    let (json, report) = sent(&body(&messages));
    let results = json["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(results[0]["content"], "short");
    let text = results[1]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("0: nothing") && text.contains("tokens left out"), "{text}");
    assert_eq!(results[1]["is_error"], true);
    assert_eq!(report.plan.unwrap().excerpts, 1);
    assert_eq!(report.sent.tokens + report.fixed_tokens, counted(&json));
}

#[test]
fn marks_never_exceed_four_and_the_callers_stay() {
    let mut messages = conversation(80);
    messages.push(json!({"role": "user", "content": [{"type": "text", "text": "And P-3?"}]}));
    let plain = body(&messages);
    let (json, _) = sent(&plain);
    assert_eq!(marks(&json), 4, "{json}");
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    let mut own = plain.clone();
    own["tools"][0]["cache_control"] = hour.clone();
    let last = messages.len() - 1;
    own["messages"][last]["content"][0]["cache_control"] = hour.clone();
    let (json, _) = sent(&own);
    assert_eq!(marks(&json), 4);
    let kept = json["messages"].as_array().unwrap();
    assert_eq!(kept.last().unwrap()["content"][1]["cache_control"], hour);
    assert_eq!(json["tools"][0]["cache_control"], hour);
    let mut automatic = plain.clone();
    automatic["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(marks(&sent(&automatic).0), 4);
}

#[test]
fn the_cache_reads_what_the_report_expects() {
    let all = conversation(110);
    let mut memory = Memory::default();
    let (mut read, mut total, mut cost, mut trimmed) = (0, 0, 0.0, 0);
    for known in (1..all.len()).filter(|at| all[*at]["role"] == "assistant").skip(70) {
        let (json, report) = sent(&body(&all[..known]));
        let usage = memory.serve(&json);
        let plan = report.plan.unwrap();
        if plan.whole || trimmed == 0 {
            trimmed += usize::from(!plan.whole);
            continue;
        }
        trimmed += 1;
        // Ours are estimates, which are higher.
        let expected = plan.cached_tokens as f64;
        let seen = usage.read as f64;
        assert!(seen <= expected * 1.05, "read {seen}, expected at most {expected}");
        read += usage.read;
        total += usage.total();
        cost += usage.cost();
    }
    assert!(trimmed > 60, "{trimmed}");
    let share = f64::from(i32::try_from(read).unwrap()) / total as f64;
    assert!(share > 0.75, "{share} of {total} read, {trimmed} calls");
    assert!(cost < 0.45 * total as f64, "{}", cost / total as f64);
}

#[test]
fn parallel_results_share_what_room_there_is_and_placeholders_are_counted() {
    let calls: Vec<Value> = (0..220)
        .map(|at| json!({"type": "tool_use", "id": format!("c{at}"), "name": "look", "input": {}}))
        .collect();
    let results: Vec<Value> = (0..220)
        .map(|at| {
            let text = format!("Shelf {at} holds parcel P-{at}, and it is blue. ").repeat(5);
            json!({"type": "tool_result", "tool_use_id": format!("c{at}"), "content": text})
        })
        .collect();
    let messages = json!([{"role": "user", "content": "Look at all of them."},
        {"role": "assistant", "content": calls}, {"role": "user", "content": results}]);
    for window in [8_000, 10_000, 12_000, 16_000] {
        let body = json!({"model": format!("test-{window}"), "max_tokens": 100,
            "messages": messages});
        let (sent, report) = send(&layer(window, planned()), &body.to_string()).unwrap();
        let json: Value = serde_json::from_str(sent.json()).unwrap();
        let adapter = MessagesAdapter::new().models(models(window));
        let again = JsonBody::parse(Endpoint::Messages, sent.json()).unwrap();
        let split = adapter.split(again, Strategy::Scored).unwrap();
        let read = split.candidates.iter().map(ContextItem::tokens).sum::<i64>();
        let said = report.sent.tokens + report.fixed_tokens;
        assert_eq!(said, split.fixed_tokens + read, "window {window}");
        assert!(said <= window, "{said} of {window}");
        let blocks = json["messages"][2]["content"].as_array().unwrap();
        let blank = blocks.iter().filter(|block| block["content"] == "[…]").count();
        let room = window * 9 / 10 - 100;
        assert!(blank == 0 || said * 3 > room * 2, "{blank} blank, {said} of {room} used");
    }
}
