//! The terminal form, as it is printed. `CUPEL_BLESS=1` writes the expected files anew.

use std::path::Path;

use cupel::diagnostics::{ExcludedItem, ExclusionReason};
use cupel::explain::{Explanation, Section};
use cupel::{ContextItem, SelectionReport};

use crate::common::{explanation, next};

fn assert_snapshot(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain/snapshots").join(name);
    if std::env::var_os("CUPEL_BLESS").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default().replace('\r', "");
    assert_eq!(text, expected, "{name} differs; CUPEL_BLESS=1 writes it anew:\n{text}");
}

#[test]
fn everything_that_is_known() {
    assert_snapshot("whole.txt", &explanation().text().to_string());
}

#[test]
fn a_report_alone() {
    let report = explanation().report;
    assert_snapshot("report.txt", &Explanation::new(report).text().to_string());
}

#[test]
fn since_the_call_before() {
    let (before, now) = (explanation(), next());
    let text = now.text().previous(&before);
    assert_snapshot("difference.txt", &text.clone().sections(&[Section::Difference]).to_string());
    assert_snapshot("brief.txt", &text.brief().to_string());
}

#[test]
fn without_texts() {
    let (before, now) = (explanation(), next());
    assert_snapshot("without_texts.txt", &now.text().previous(&before).without_texts().to_string());
}

#[test]
fn in_colour_and_narrow() {
    let explanation = explanation();
    let text = explanation.text().colour(true).width(60).rows(2).to_string();
    assert_snapshot("colour.txt", &text.replace('\u{1b}', "ESC"));
}

#[test]
fn nothing_at_all() {
    let explanation = Explanation::new(SelectionReport::default());
    assert_snapshot("nothing.txt", &explanation.text().previous(&explanation).to_string());
    assert_eq!(explanation.text().brief().to_string(), "  0 of 0 items, 0 tokens\n");
}

#[test]
fn the_largest_numbers_there_are() {
    let item = |tokens| ContextItem::new("x", tokens).unwrap();
    let reason = ExclusionReason::NegativeTokens { tokens: i64::MIN };
    let excluded = vec![
        ExcludedItem::new(item(i64::MIN), f64::NAN, reason.clone()),
        ExcludedItem::new(item(i64::MIN), f64::NEG_INFINITY, reason),
    ];
    let report = SelectionReport::new(Vec::new(), Vec::new(), excluded, Vec::new());
    let explanation = Explanation::new(report).fixed_tokens(i64::MAX);
    let text = explanation.text().to_string();
    assert!(text.contains("-9,223,372,036,854,775,808") && text.contains("NaN"), "{text}");
    assert!(explanation.page().to_string().contains("\"NaN\""));
}

#[test]
fn no_line_is_longer_than_the_width() {
    let mut explanation = explanation();
    explanation.title = Some("x".repeat(5_000));
    let (width, longest) = (80, |text: &str| text.lines().map(|l| l.chars().count()).max());
    let text = explanation.text().sections(&[Section::Summary, Section::Included]).width(width);
    assert!(longest(&text.to_string()).unwrap() <= width, "{text}");
}
