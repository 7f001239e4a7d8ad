//! Reports show that data exists, and nothing of the data itself.

use cupel::layer::Selection;
use cupel_async_openai::Endpoint;
use serde_json::{Value, json};

use crate::support::{adapter, select};

/// Base64 of text, so that nothing can tell it from words by its looks alone.
fn data() -> String {
    "QUJD".repeat(3_000)
}

async fn report(endpoint: Endpoint, parts: &Value) -> Selection {
    let field = if endpoint == Endpoint::Chat { "messages" } else { "input" };
    let mut request = json!({"model": "gpt-4o"});
    request[field] = json!([{"role": "user", "content": parts}]);
    let (_, selection) = select(endpoint, adapter("gpt-4o"), &request).await;
    assert!(!format!("{selection:?}").contains("QUJDQUJD"), "data in a report");
    selection
}

fn content(selection: &Selection) -> &str {
    selection.report.included[0].item.content()
}

#[tokio::test]
async fn data_in_chat_completions() {
    let url = format!("data:image/png;base64,{}", data());
    let parts = json!([
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "input_audio", "input_audio": {"data": data(), "format": "mp3"}},
        {"type": "file", "file": {"file_data": data()}},
        {"type": "file", "file": {"file_data": format!("data:text/plain;base64,{}", data()),
            "filename": "notes.txt"}},
    ]);
    let selection = report(Endpoint::Chat, &parts).await;
    assert!(content(&selection).ends_with("[image]\n[audio]\n[file]\n[file notes.txt]"));
    assert!(selection.uncounted.is_empty());
}

#[tokio::test]
async fn data_in_the_responses_api() {
    let parts = json!([
        {"type": "input_image", "image_url": format!("data:image/png;base64,{}", data())},
        {"type": "input_audio", "data": data(), "format": "mp3"},
        {"type": "input_file", "file_data": data()},
        {"type": "input_file", "file_url": format!("data:text/plain;base64,{}", data())},
    ]);
    let selection = report(Endpoint::Responses, &parts).await;
    assert!(content(&selection).ends_with("[image]\n[audio]\n[file]\n[file]"));
    assert!(selection.uncounted.is_empty());
}

#[tokio::test]
async fn data_costs_the_same_wherever_it_stands() {
    let url = format!("data:text/plain;base64,{}", data());
    for (one, other) in [
        (
            json!([{"type": "input_audio", "data": data()}]),
            json!([{"type": "input_audio", "input_audio": {"data": data()}}]),
        ),
        (
            json!([{"type": "input_file", "file_url": url}]),
            json!([{"type": "input_file", "file_data": url}]),
        ),
    ] {
        let [one, other] = [
            report(Endpoint::Responses, &one).await.report.included[0].item.tokens(),
            report(Endpoint::Responses, &other).await.report.included[0].item.tokens(),
        ];
        assert_eq!(one, other);
        assert!(one > 20, "{one}");
    }
}

#[tokio::test]
async fn long_names_are_cut() {
    let url = format!("https://example.com/{}", "é".repeat(5_000));
    let parts = json!([
        {"type": "input_file", "file_url": url},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "x".repeat(5_000)},
    ]);
    let uncounted = report(Endpoint::Responses, &parts).await.uncounted;
    assert!(uncounted.iter().all(|name| name.chars().count() <= 121), "{uncounted:?}");
    assert!(uncounted[0].starts_with("file https://example.com/é") && uncounted[0].ends_with('…'));
    assert_eq!(uncounted[1], "file https://example.com/a.pdf");
}
