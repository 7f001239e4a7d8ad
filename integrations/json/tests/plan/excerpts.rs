//! Results that are too long: their head, their end, and what looks like an error.

use serde_json::Value;

use crate::support::{Settings, filler, problem, step, system, text, tokens, user};

#[test]
fn a_result_far_larger_than_the_window_is_sent_as_an_excerpt() {
    let log: Vec<String> = (0..9_000)
        .map(|line| match line {
            4_321 => "thread main panicked: index out of range".to_owned(),
            line => format!("line {line} is well"),
        })
        .collect();
    let log = log.join("\n");
    let mut messages = vec![system("Work."), user("Why did it fail?")];
    messages.extend(step("a", "{}", &log));
    let sent = Settings::new(2_000).send(&messages).unwrap();
    assert_eq!(problem(&sent.messages, 2_000), None);
    let result = text(sent.messages.last().unwrap());
    assert!(result.starts_with("line 0 is well\nline 1 is well\n"), "{result}");
    assert!(result.ends_with("line 8999 is well"), "{result}");
    assert!(result.contains("\nthread main panicked: index out of range\n"), "{result}");
    assert!(result.contains("of 45,002 tokens left out …]"), "{result}");
    assert!(tokens(sent.messages.last().unwrap()) <= 2_000 / 8 + 4);
    assert_eq!(sent.plan.excerpts, 1);

    // The next turn sends the same bytes.
    messages.extend(step("b", "{}", "short"));
    let next = Settings::new(2_000).send(&messages).unwrap();
    assert_eq!(next.messages[3], sent.messages[3]);
}

#[test]
fn json_stays_json() {
    let rows: Vec<Value> = (0..2_000)
        .map(|row| serde_json::json!({"id": row, "name": format!("customer {row}"), "tags": ["a b"]}))
        .collect();
    let result = serde_json::json!({"total": 2_000, "rows": rows, "next": null}).to_string();
    let mut messages = vec![system("Work."), user("Who?")];
    messages.extend(step("a", "{}", &result));
    let sent = Settings::new(2_000).send(&messages).unwrap();
    let result = text(sent.messages.last().unwrap());
    let value: Value = serde_json::from_str(&result).unwrap_or_else(|e| panic!("{e}: {result}"));
    assert_eq!(value["total"], 2_000);
    assert_eq!(value["rows"][0]["name"], "customer 0");
    assert!(result.contains("customer 1999"), "{result}");
    assert!(result.contains("tokens left out …]"), "{result}");
}

#[test]
fn many_long_results_at_once_share_the_room() {
    let calls: Vec<Value> = (0..12)
        .map(|at| {
            let function = serde_json::json!({"name": "look", "arguments": "{}"});
            serde_json::json!({"id": format!("c{at}"), "type": "function", "function": function})
        })
        .collect();
    let mut messages = vec![system("Work."), user("Look at all.")];
    messages.push(serde_json::json!({"role": "assistant", "content": null, "tool_calls": calls}));
    for at in 0..12 {
        messages.push(serde_json::json!({"role": "tool", "tool_call_id": format!("c{at}"),
            "content": filler("r", 5_000)}));
    }
    let sent = Settings::new(2_000).send(&messages).unwrap();
    assert_eq!(problem(&sent.messages, 2_000), None);
    assert_eq!(sent.messages.len(), messages.len());
}
