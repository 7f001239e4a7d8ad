//! Explanations and reports from JSON.

use cupel::SelectionReport;
use cupel::explain::Explanation;
use cupel::model::Strategy;

use crate::common::explanation;

#[test]
fn an_explanation_survives_the_wire() {
    let explanation = explanation();
    assert_eq!(Explanation::from_json(&explanation.to_json()).unwrap(), explanation);
}

#[test]
fn a_report_will_do() {
    let report = explanation().report;
    let read = Explanation::from_json(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(read, Explanation::new(report));
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        ("", "not JSON: EOF"),
        ("{\"report\": 3}", "not an explanation: invalid type: integer `3`"),
        ("{}", "not a report: missing field `events`"),
        ("[1]", "not a report: "),
        (
            "{\"included\": [], \"excluded\": [], \"events\": []}",
            "missing field `total_candidates`",
        ),
    ];
    for (text, expected) in cases {
        let error = Explanation::from_json(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(Explanation::from_json(&deep).unwrap_err().to_string().contains("recursion limit"));
}

#[test]
fn a_report_without_a_known_strategy_is_scored() {
    let mut value = serde_json::to_value(SelectionReport::default()).unwrap();
    assert_eq!(value.get("strategy"), None, "the default is not written");
    for (name, expected) in [
        ("scored", Strategy::Scored),
        ("guessed", Strategy::Scored),
        ("planned", Strategy::Planned),
    ] {
        value["strategy"] = name.into();
        let read: SelectionReport = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(read.strategy, expected);
        let written = serde_json::to_value(&read).unwrap();
        let is_written = expected == Strategy::Planned;
        assert_eq!(written.get("strategy"), is_written.then_some(&"planned".into()));
    }
}
