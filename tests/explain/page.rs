//! The page before a browser sees it: its numbers, its escapes, and how a server embeds it.

use cupel::diagnostics::{IncludedItem, InclusionReason};
use cupel::explain::{Explanation, SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH};
use cupel::{ContextItem, SelectionReport};
use proptest::prelude::*;
use serde_json::Value;

use crate::common::{explanation, next};

fn of_text(text: &str) -> Explanation {
    let item = ContextItem::builder(text, 3).tag(text).metadata_entry(text, text).build().unwrap();
    let included = vec![IncludedItem::new(item, 0.5, InclusionReason::Scored)];
    Explanation::new(SelectionReport::new(Vec::new(), included, Vec::new(), Vec::new()))
        .title(text)
        .note(text)
}

#[test]
fn the_numbers_are_the_reports() {
    let explanation = explanation();
    let data: Value = serde_json::from_str(&explanation.page().data()).unwrap();
    let report = &explanation.report;
    assert_eq!(data["included"], report.included.len());
    assert_eq!(data["candidates"], report.total_candidates);
    assert_eq!(data["candidateTokens"], report.total_tokens_considered);
    let window = &data["window"];
    let part = |name: &str| window[name].as_i64().unwrap();
    let parts = ["fixed", "selected", "free", "margin", "slots", "above", "reserve"];
    assert_eq!(parts.map(part).iter().sum::<i64>(), 340, "{window}");
    // 5 % of what the two pins (30 tokens) leave of 240.
    assert_eq!((part("margin"), part("goal"), part("reserve")), (11, 229, 60), "{window}");
}

#[test]
fn what_is_not_known_is_not_there() {
    let data = Explanation::new(explanation().report).page().data();
    let data: Value = serde_json::from_str(&data).unwrap();
    for key in ["window", "gatheredMs", "difference", "title"] {
        assert_eq!(data[key], Value::Null, "{key}");
    }
}

#[test]
fn no_text_ends_an_element() {
    for text in [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]><img src=x onerror=alert(1)>",
        "\" onload=\"alert(1)",
        "' onload='alert(1)",
        "&lt;script&gt;",
        "line\u{2028}line\u{2029}line",
        "nul\0 and \u{1b}[31m and \u{202e}right to left",
    ] {
        let page = of_text(text).page().to_string();
        // The page's own: its data, its script, and nothing else.
        assert_eq!(page.matches("<script").count(), 2, "{text}");
        assert_eq!(page.matches("</script").count(), 2, "{text}");
        assert_eq!(page.matches("<!--").count(), 0, "{text}");
        assert!(!page.contains("<img") && !page.contains('\u{2028}'), "{text}");
        let data: Value = serde_json::from_str(&of_text(text).page().data()).unwrap();
        assert_eq!(data["items"][0]["x"], text);
        assert_eq!(data["items"][0]["meta"][text], text);
    }
}

proptest! {
    #[test]
    fn any_text_survives(text in any::<String>()) {
        prop_assume!(!text.is_empty());
        let page = of_text(&text).page().to_string();
        let (_, rest) = page.split_once("id=\"cupel-data\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        prop_assert_eq!(&data["items"][0]["x"], &text);
    }
}

#[test]
fn long_texts_are_cut_and_it_is_said_by_how_much() {
    let explanation = of_text(&"ü".repeat(30_000));
    let data: Value = serde_json::from_str(&explanation.page().data()).unwrap();
    assert_eq!(data["items"][0]["cut"], 10_000);
    let data: Value = serde_json::from_str(&explanation.page().text_limit(5).data()).unwrap();
    assert_eq!(
        (&data["items"][0]["x"], &data["items"][0]["cut"]),
        (&"üüüüü".into(), &29_995.into())
    );
}

#[test]
fn a_page_for_a_server_has_what_its_policy_wants() {
    let (before, now) = (explanation(), next());
    let alone = now.page().previous(&before).to_string();
    let policy = format!("script-src '{SCRIPT_HASH}'");
    assert!(alone.contains(&policy) && alone.contains(STYLE_HASH) && alone.contains(SCRIPT));

    let nonce = now.page().nonce("a\"b").to_string();
    assert!(nonce.contains("<script nonce=\"a&quot;b\">") && nonce.contains("<style nonce="));
    assert!(!nonce.contains("Content-Security-Policy"));

    let linked =
        now.page().assets("/cupel/page.css", "/cupel/page.js").home("/cupel/", "All <calls>");
    let linked = linked.to_string();
    assert!(linked.contains("<link rel=\"stylesheet\" href=\"/cupel/page.css\">"));
    assert!(linked.contains("<script src=\"/cupel/page.js\" defer></script>"));
    assert!(linked.contains("<a href=\"/cupel/\">All &lt;calls&gt;</a>"));
    assert!(!linked.contains(SCRIPT) && !linked.contains(STYLE));

    assert!(now.page().fragment().starts_with("<div id=\"cupel\">"));
}

#[test]
fn nothing_in_the_page_comes_from_elsewhere() {
    // Hashes are Base64, in which `//` may occur by chance.
    let page = explanation().page().to_string().replace(SCRIPT_HASH, "").replace(STYLE_HASH, "");
    for address in ["http:", "https:", "//", "url(", "@import", "src=", "href=\"/"] {
        let found =
            page.match_indices(address).map(|(at, _)| &page[at.saturating_sub(20)..at + 20]);
        let found: Vec<_> = found.filter(|text| !text.contains("// ")).collect();
        assert!(found.is_empty(), "{address}: {found:?}");
    }
}

#[test]
fn ten_thousand_kinds_are_a_list_too() {
    let included = (0..10_000).map(|number| {
        let kind = cupel::ContextKind::new(format!("Kind{number}")).unwrap();
        let item = ContextItem::builder("x", 1).kind(kind).build().unwrap();
        IncludedItem::new(item, 0.5, InclusionReason::Scored)
    });
    let report = SelectionReport::new(Vec::new(), included.collect(), Vec::new(), Vec::new());
    let explanation = Explanation::new(report);
    let text = explanation.text().to_string();
    assert!(text.lines().count() < 60 && text.contains("9,984 more"), "{text}");
    let data: Value = serde_json::from_str(&explanation.page().data()).unwrap();
    assert_eq!(data["kinds"].as_array().unwrap().len(), 10_000);
}

#[test]
fn kinds_are_the_same_whatever_their_case() {
    let included = ["Note", "note", "NOTE"].map(|kind| {
        let kind = cupel::ContextKind::new(kind).unwrap();
        let item = ContextItem::builder(kind.to_string(), 1).kind(kind).build().unwrap();
        IncludedItem::new(item, 0.5, InclusionReason::Scored)
    });
    let report = SelectionReport::new(Vec::new(), included.to_vec(), Vec::new(), Vec::new());
    let data: Value = serde_json::from_str(&Explanation::new(report).page().data()).unwrap();
    assert_eq!(data["kinds"], serde_json::json!(["Note"]));
}
