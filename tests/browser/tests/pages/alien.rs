//! Texts that look like markup stay text, and texts that are left out are out.

use cupel::diagnostics::{ExcludedItem, ExclusionReason, IncludedItem, InclusionReason};
use cupel::explain::{Explanation, SourceTiming};
use cupel::{ContextItem, ContextKind, ContextSource, SelectionReport};

use crate::{assert_quiet, browser, open};

const TEXTS: [&str; 9] = [
    "<script>window.broken = 1</script>",
    "</script><script>window.broken = 2</script>",
    "\" onload=\"window.broken = 3\" x=\"",
    "' onmouseover='window.broken = 4",
    "<img src=x onerror='window.broken = 5'>",
    "<!-- <script> -->",
    "line\u{2028}separator\u{2029} and nul\0",
    "{{constructor.constructor('window.broken = 6')()}} ${window.broken = 7}",
    "javascript:window.broken=8",
];

fn explanation() -> Explanation {
    let item = |text: &str| {
        ContextItem::builder(text, 5)
            .kind(ContextKind::new(text).unwrap())
            .source(ContextSource::new(text).unwrap())
            .tag(text)
            .metadata_entry(text, text)
            .build()
            .unwrap()
    };
    let included =
        TEXTS.map(|text| IncludedItem::new(item(text), 0.5, InclusionReason::Scored)).to_vec();
    let excluded = TEXTS.map(|text| {
        let reason = ExclusionReason::PinnedOverride { displaced_by: text.into() };
        ExcludedItem::new(item(text), f64::NAN, reason)
    });
    let report = SelectionReport::new(Vec::new(), included, excluded.to_vec(), Vec::new());
    Explanation::new(report)
        .title(TEXTS.join(" "))
        .note(TEXTS.join(" "))
        .gathered(1.0, vec![SourceTiming::new(TEXTS[0], 1, 1, 1.0).detail(TEXTS[1])])
}

const OPEN_ALL: &str = "document.querySelectorAll('#rows details').forEach((row) => row.open = true); \
                        new Promise((done) => { const look = () => document.querySelectorAll('#rows .body').length === document.querySelectorAll('#rows details').length ? done() : setTimeout(look, 20); look(); })";

#[test]
fn nothing_in_a_text_becomes_markup() {
    let mut browser = browser!();
    let mut explanation = explanation();
    let before = explanation.clone();
    explanation.report.included.reverse();
    let page = explanation.page().previous(&before).to_string();
    let mut tab = open(&mut browser, &page);
    tab.eval(OPEN_ALL).unwrap();
    assert_eq!(tab.eval("typeof window.broken").unwrap(), "undefined");
    assert_eq!(tab.count("script").unwrap(), 2);
    assert_eq!(
        tab.count("img, iframe, object, embed, link, form, [onload], [onerror]").unwrap(),
        0
    );
    // All of them can be read as they are.
    let texts =
        tab.eval("[...document.querySelectorAll('#rows .in pre')].map((p) => p.textContent)");
    let texts = texts.unwrap();
    let mut texts: Vec<&str> =
        texts.as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    texts.reverse();
    assert_eq!(texts, TEXTS);
    let title = tab.eval("document.querySelector('h1').textContent").unwrap();
    assert_eq!(title, TEXTS.join(" "));
    // Searching for markup marks it and does nothing else.
    tab.click("#search").unwrap();
    tab.type_text("<script>").unwrap();
    assert!(tab.count("#rows mark").unwrap() > 0);
    assert_quiet(&mut tab);
}

#[test]
fn a_policy_stops_what_escaping_would_miss() {
    let mut browser = browser!();
    let page = explanation().page().to_string();
    // As if an escape had been forgotten.
    let broken =
        page.replace("<div id=\"cupel\">", "<script>window.broken = 9</script><div id=\"cupel\">");
    assert_ne!(page, broken);
    let mut tab = browser.open_page(&broken).unwrap();
    assert_eq!(tab.eval("typeof window.broken").unwrap(), "undefined");
    assert_eq!(tab.errors().unwrap().len(), 1);
}

#[test]
fn texts_that_are_left_out_are_not_on_the_page() {
    let mut browser = browser!();
    let mut explanation = explanation().title("A title");
    explanation.notes.clear();
    explanation.sources.clear();
    let page = explanation.page().without_texts().to_string();
    let mut tab = open(&mut browser, &page);
    tab.eval(OPEN_ALL).unwrap();
    let text =
        tab.eval("document.body.textContent.replace(document.scripts[1].textContent, '')").unwrap();
    let text = text.as_str().unwrap();
    for secret in ["broken", "onload", "separator", "constructor"] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(text.contains("text left out") && text.contains("Other") && text.contains("NaN"));
    assert_quiet(&mut tab);
}
