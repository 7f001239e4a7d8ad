//! The page of an audit in a real browser, without a network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use cupel::Policy;
use cupel_audit::{Audit, AuditReport, Session};
use serde_json::json;

const CODE: &str = "ZX-481516";

/// A session whose last call needs a code from its beginning, with a text that would be a script.
fn report() -> AuditReport {
    let mut messages = vec![
        json!({"role": "user", "content": format!("Label {CODE} <script>alert(1)</script>")}),
        json!({"role": "assistant", "content": "Noted."}),
    ];
    for turn in 0..30 {
        let text = format!("Something else, number {turn}. ").repeat(8);
        messages.push(json!({"role": "user", "content": text}));
        messages.push(json!({"role": "assistant", "content": "Fine."}));
    }
    messages.push(json!({"role": "user", "content": "Carry on, please."}));
    let arguments = json!({"label": CODE, "script": "<script>alert(1)</script>"}).to_string();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "open", "arguments": arguments}}]}));
    let session = Session::read("a.jsonl:1", &json!({"messages": messages}).to_string()).unwrap();
    let audit = Audit::new().window(500).window(800).way("chat", Policy::chat());
    audit.sessions([session])
}

#[test]
fn it_opens_offline_without_a_script_and_shows_each_regret() {
    let Some(mut browser) = cupel_browser::for_tests().unwrap() else { return };
    let report = report();
    assert!(report.windows[0].newest_first.tally.regretted_calls >= 1);
    let mut tab = browser.open_page(&report.page().to_string()).unwrap();
    assert_eq!(tab.errors().unwrap(), [""; 0]);
    let requests = tab.requests().unwrap();
    assert!(requests.len() == 1 && requests[0].starts_with("file://"), "{requests:?}");
    assert_eq!(tab.count("script").unwrap(), 0);
    assert_eq!(tab.count("svg.chart").unwrap(), 2);
    tab.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        .unwrap();
    let text = tab.text("#cupel").unwrap();
    assert!(text.contains(CODE) && text.contains("<script>alert(1)</script>"), "{text}");
    // The lines of the chart are drawn.
    let drawn = tab.eval("document.querySelector('svg.chart path.line').getTotalLength()");
    assert!(drawn.unwrap().as_f64().unwrap() > 100.0);
    for width in [360, 1_200] {
        tab.resize(width, 800).unwrap();
        let wide = tab.eval("document.documentElement.scrollWidth").unwrap().as_u64().unwrap();
        assert!(wide <= u64::from(width), "{wide} at {width}");
    }
}

#[test]
fn without_content_it_holds_no_text_of_a_conversation() {
    let page = report().page().without_content().to_string();
    for text in [CODE, "alert(1)", "Something else", "Carry on"] {
        assert!(!page.contains(text), "{text}");
    }
    assert!(page.contains("open") && page.contains("a.jsonl:1"));
}
