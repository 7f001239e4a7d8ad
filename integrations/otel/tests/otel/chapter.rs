//! The attribute reference of the specification's chapter, row by row, against what is exported.

use std::collections::BTreeSet;

use cupel_otel::CupelVerbosity::{self, Full, StageAndExclusions, StageOnly};
use opentelemetry::{KeyValue, Value};

use crate::otel::common::{Exported, STAGES, VERBOSITIES, run};

/// Name, type, the first tier that has it, and what carries it.
const REFERENCE: [(&str, &str, CupelVerbosity, &str); 12] = [
    ("cupel.budget.max_tokens", "int", StageOnly, "root"),
    ("cupel.verbosity", "string", StageOnly, "root"),
    ("cupel.stage.name", "string", StageOnly, "stage"),
    ("cupel.stage.item_count_in", "int", StageOnly, "stage"),
    ("cupel.stage.item_count_out", "int", StageOnly, "stage"),
    ("cupel.exclusion.count", "int", StageAndExclusions, "stage"),
    ("cupel.exclusion.reason", "string", StageAndExclusions, "cupel.exclusion"),
    ("cupel.exclusion.item_kind", "string", StageAndExclusions, "cupel.exclusion"),
    ("cupel.exclusion.item_tokens", "int", StageAndExclusions, "cupel.exclusion"),
    ("cupel.item.kind", "string", Full, "cupel.item.included"),
    ("cupel.item.tokens", "int", Full, "cupel.item.included"),
    ("cupel.item.score", "float64", Full, "cupel.item.included"),
];

type Row = (String, String, String);

fn row(name: &str, type_name: &str, carrier: &str) -> Row {
    (name.to_owned(), type_name.to_owned(), carrier.to_owned())
}

fn rows(attributes: &[KeyValue], carrier: &str, seen: &mut BTreeSet<Row>) {
    for KeyValue { key, value, .. } in attributes {
        let type_name = match value {
            Value::I64(_) => "int",
            Value::F64(_) => "float64",
            Value::String(_) => "string",
            other => panic!("{key}: {other:?}"),
        };
        seen.insert(row(key.as_str(), type_name, carrier));
    }
}

#[test]
fn each_tier_exports_its_rows_of_the_reference_and_no_others() {
    for verbosity in VERBOSITIES {
        let exported = Exported::new();
        run(&mut exported.collector(verbosity));
        let mut seen = BTreeSet::new();
        for span in exported.spans() {
            let carrier = if span.name == "cupel.pipeline" { "root" } else { "stage" };
            rows(&span.attributes, carrier, &mut seen);
            for event in span.events.iter() {
                rows(&event.attributes, &event.name, &mut seen);
            }
        }
        let tiers = REFERENCE.iter().filter(|(_, _, tier, _)| *tier <= verbosity);
        let wanted: BTreeSet<Row> =
            tiers.map(|(name, type_name, _, carrier)| row(name, type_name, carrier)).collect();
        assert_eq!(seen, wanted, "{verbosity}");
    }
}

#[test]
fn a_run_is_a_root_and_exactly_five_stages_under_the_scope_cupel() {
    let exported = Exported::new();
    run(&mut exported.collector(StageOnly));
    let spans = exported.spans();
    let names: Vec<_> = spans.iter().map(|span| span.name.to_string()).collect();
    assert_eq!(names[..5], STAGES);
    assert_eq!(names[5..], ["cupel.pipeline"]);
    assert!(spans.iter().all(|span| span.instrumentation_scope.name() == "cupel"));
}

#[test]
fn the_public_constants_are_the_names_of_the_reference() {
    use cupel_otel::attributes::*;
    let constants = [
        BUDGET_MAX_TOKENS,
        VERBOSITY,
        STAGE_NAME,
        STAGE_ITEM_COUNT_IN,
        STAGE_ITEM_COUNT_OUT,
        EXCLUSION_COUNT,
        EXCLUSION_REASON,
        EXCLUSION_ITEM_KIND,
        EXCLUSION_ITEM_TOKENS,
        ITEM_KIND,
        ITEM_TOKENS,
        ITEM_SCORE,
    ];
    assert_eq!(constants, REFERENCE.map(|(name, ..)| name));
    assert_eq!(cupel_otel::names::SCOPE, "cupel");
}
