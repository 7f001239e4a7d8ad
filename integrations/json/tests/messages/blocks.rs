//! Blocks of every kind, as the adapter reads them.

use std::sync::{Arc, Mutex};

use cupel::Policy;
use cupel::conversation::Attributes;
use cupel::layer::CupelLayer;
use cupel_json::{Endpoint, JsonBody, MessagesAdapter};
use serde_json::{Value, json};

use crate::support::{layer, models, planned, scored, send};

/// The role, text and tokens of each message, and what could not be counted.
fn read(messages: &Value) -> (Vec<(String, String, i64)>, Vec<String>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let adapter = MessagesAdapter::new().models(models(900_000)).attributes(move |message| {
        let read = (message.role().to_owned(), message.text().to_owned(), message.tokens());
        note.lock().unwrap().push(read);
        Attributes::new()
    });
    let layer = CupelLayer::builder()
        .budget(adapter.window())
        .adapter(adapter)
        .policy(Policy::chat())
        .build()
        .unwrap()
        .selector();
    let body = json!({"model": "test-900000", "max_tokens": 9, "messages": messages}).to_string();
    let body = JsonBody::parse(Endpoint::Messages, body).unwrap();
    let (_, report) = futures::executor::block_on(layer.select(body)).unwrap().into_parts();
    let read = seen.lock().unwrap().drain(..).collect();
    (read, report.uncounted)
}

#[test]
fn media_documents_and_searches() {
    let pdf = base64(b"%PDF-1.7 /Type /Page /Type /Page>>");
    let (read, uncounted) = read(&json!([{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "xx"}},
        {"type": "document", "title": "Plan", "source": {"type": "base64", "data": pdf}},
        {"type": "document", "source": {"type": "text", "data": "two words"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_7"}},
        {"type": "search_result", "title": "T", "source": "S", "content": [{"type": "text", "text": "found"}]},
        {"type": "text", "text": "Read."},
    ]}]));
    let [(role, text, tokens)] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!(
        (role.as_str(), text.as_str()),
        ("user", "[image]\n[document Plan]\n[document]\n[document]\nT\nfound\nRead.")
    );
    assert!((7_600..7_800).contains(tokens), "{tokens}");
    assert_eq!(uncounted, ["document file_7"]);
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= chunk.len() { char::from(sign) } else { '=' });
        }
    }
    out
}

#[test]
fn thoughts_are_counted_and_never_shown() {
    let (read, _) = read(&json!([
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "SECRET", "signature": "A".repeat(1_600)},
            {"type": "redacted_thinking", "data": "B".repeat(1_600)},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [
                {"type": "web_search_result", "title": "T", "url": "U", "encrypted_content": "C".repeat(1_600)}]},
            {"type": "text", "text": "Because."},
        ]},
        {"role": "user", "content": "Go on."},
    ]));
    let (_, text, tokens) = &read[1];
    assert_eq!(text, "web_search({\"query\":\"q\"})\n[web_search_tool_result]\nBecause.");
    // 300 tokens in 1,600 signs of base64, three times, by the older tokenizer.
    assert!((1_170..1_350).contains(tokens), "{tokens}");
}

#[test]
fn a_call_goes_with_the_results_in_the_next_message_and_orphans_are_left_out() {
    let long = "word ".repeat(900);
    let body = json!({"model": "test-3000", "max_tokens": 9, "tools": [{"name": "f"}], "messages": [
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": long},
            {"type": "tool_result", "tool_use_id": "a", "content": long}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Two."},
    ]});
    let (_, report) = send(&layer(3_000, Policy::chat()), &body.to_string()).unwrap();
    assert!(report.uncounted.is_empty());
    let mut orphan = body.clone();
    orphan["messages"][2]["content"].as_array_mut().unwrap().pop();
    orphan["model"] = json!("test-900000");
    let (sent, _) = send(&layer(900_000, Policy::chat()), &orphan.to_string()).unwrap();
    assert!(!sent.json().contains("tool_use"), "{}", sent.json());
    let refused = json!({"model": "test-900000", "max_tokens": 9,
        "messages": [{"role": "assistant", "content": "I begin."}]});
    let why = send(&layer(900_000, Policy::chat()), &refused.to_string()).unwrap_err();
    assert!(why.contains("the first message must be the user's"), "{why}");
}

#[test]
fn instructions_in_the_middle_come_and_go_with_the_turn_they_follow() {
    let turns = |count: usize| -> Vec<Value> {
        let turn = |at: usize| {
            [
                json!({"role": "user", "content": format!("Turn {at}: {}", "word ".repeat(200))}),
                json!({"role": "system", "content": format!("Mind rule {at}.")}),
                json!({"role": "assistant", "content": format!("Minded {at}.")}),
            ]
        };
        let question = json!({"role": "user", "content": "Which rules?"});
        (0..count).flat_map(turn).chain([question]).collect()
    };
    let body = json!({"model": "test-3000", "max_tokens": 9, "messages": turns(20)});
    for policy in [planned(), scored()] {
        let (sent, _) = send(&layer(3_000, policy), &body.to_string()).unwrap();
        let sent =
            cupel_dev_servers::local_server::messages::check(sent.json().as_bytes(), "").unwrap();
        let kept = sent["messages"].as_array().unwrap();
        assert!(kept.len() < 40 && kept.iter().any(|message| message["role"] == "system"));
    }
}
