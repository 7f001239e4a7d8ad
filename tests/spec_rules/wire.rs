//! The JSON forms the specification shows.

#![cfg(feature = "serde")]

use cupel::diagnostics::{
    ExclusionReason, InclusionReason, OverflowEvent, PipelineStage, TraceEvent,
};
use cupel::{ContextKind, SelectionReport};
use serde_json::{from_value, json, to_value};

use super::common::{budget, hinted, pinned, pipeline};

#[test]
fn reasons_are_tagged_by_name_beside_their_fields() {
    let kind = ContextKind::tool_output();
    let pairs = [
        (
            ExclusionReason::BudgetExceeded { item_tokens: 20, available_tokens: 5 },
            json!({"reason": "BudgetExceeded", "item_tokens": 20, "available_tokens": 5}),
        ),
        (
            ExclusionReason::ScoredTooLow { score: 0.125, threshold: 0.25 },
            json!({"reason": "ScoredTooLow", "score": 0.125, "threshold": 0.25}),
        ),
        (
            ExclusionReason::Deduplicated { deduplicated_against: "kept".into() },
            json!({"reason": "Deduplicated", "deduplicated_against": "kept"}),
        ),
        (
            ExclusionReason::QuotaCapExceeded { kind: kind.clone(), cap: 3, actual: 4 },
            json!({"reason": "QuotaCapExceeded", "kind": "ToolOutput", "cap": 3, "actual": 4}),
        ),
        (
            ExclusionReason::QuotaRequireDisplaced { displaced_by_kind: kind },
            json!({"reason": "QuotaRequireDisplaced", "displaced_by_kind": "ToolOutput"}),
        ),
        (
            ExclusionReason::NegativeTokens { tokens: -2 },
            json!({"reason": "NegativeTokens", "tokens": -2}),
        ),
        (
            ExclusionReason::PinnedOverride { displaced_by: "pin".into() },
            json!({"reason": "PinnedOverride", "displaced_by": "pin"}),
        ),
        (
            ExclusionReason::Filtered { filter_name: "age".into() },
            json!({"reason": "Filtered", "filter_name": "age"}),
        ),
    ];
    for (reason, wire) in pairs {
        assert_eq!(to_value(&reason).unwrap(), wire);
        assert_eq!(from_value::<ExclusionReason>(wire).unwrap(), reason);
    }
    for (reason, name) in [
        (InclusionReason::Scored, "Scored"),
        (InclusionReason::Pinned, "Pinned"),
        (InclusionReason::ZeroToken, "ZeroToken"),
    ] {
        assert_eq!(to_value(&reason).unwrap(), json!({"reason": name}));
        assert_eq!(from_value::<InclusionReason>(json!({"reason": name})).unwrap(), reason);
    }
}

#[test]
fn unknown_reasons_and_stages_are_read() {
    let reason: ExclusionReason =
        from_value(json!({"reason": "TooPurple", "hue": 280, "why": null})).unwrap();
    assert_eq!(reason.name(), "TooPurple");
    let event: TraceEvent =
        from_value(json!({"stage": "Polish", "duration_ms": 0.5, "item_count": 2})).unwrap();
    assert_eq!(event.stage, PipelineStage::Other("Polish".into()));
    assert_eq!(to_value(&event).unwrap()["stage"], "Polish");
}

#[test]
fn unknown_reasons_keep_their_fields_whatever_their_types() {
    for wire in [
        // The names of fields that known reasons have, with other types.
        json!({"reason": "RateCapped", "cap": 0.5}),
        json!({"reason": "TooPurple", "kind": 7, "tokens": "many", "why": {"hue": [280, null]}}),
    ] {
        let reason: ExclusionReason = from_value(wire.clone()).unwrap();
        assert_eq!(reason.name(), wire["reason"]);
        assert_eq!(to_value(&reason).unwrap(), wire);
        let reason: InclusionReason = from_value(wire.clone()).unwrap();
        assert_eq!(reason.name(), wire["reason"]);
        assert_eq!(to_value(&reason).unwrap(), wire);
    }
    // A known reason takes its own fields and does not mind others.
    let wire = json!({"reason": "NegativeTokens", "tokens": -1, "cap": 0.5});
    let reason: ExclusionReason = from_value(wire).unwrap();
    assert_eq!(reason, ExclusionReason::NegativeTokens { tokens: -1 });
}

#[test]
fn a_report_of_another_implementation_is_read() {
    let wire = json!({
        "events": [],
        "included": [{
            "item": {"content": "a", "tokens": 1, "metadata": {"rank": 3, "by": "hand", "x": [1.5, null]}},
            "score": 0.5,
            "reason": {"reason": "Sponsored", "fee": 1.25},
        }],
        "excluded": [{
            "item": {"content": "b", "tokens": 2},
            "score": 0.1,
            "reason": {"reason": "RateCapped", "cap": 0.5},
        }],
        "total_candidates": 2,
        "total_tokens_considered": 3,
    });
    let read: SelectionReport = from_value(wire.clone()).unwrap();
    let metadata = read.included[0].item.metadata();
    assert_eq!(
        (&*metadata["rank"], &*metadata["by"], &*metadata["x"]),
        ("3", "hand", "[1.5,null]")
    );
    let written = to_value(&read).unwrap();
    assert_eq!(written["included"][0]["reason"], wire["included"][0]["reason"]);
    assert_eq!(written["excluded"][0]["reason"], wire["excluded"][0]["reason"]);
    assert_eq!(from_value::<SelectionReport>(written).unwrap(), read);
}

#[test]
fn a_reason_without_its_fields_is_refused() {
    for wire in [
        json!({"reason": "BudgetExceeded", "item_tokens": 3}),
        json!({"reason": "Deduplicated"}),
        json!({"reason": "CountCapExceeded", "kind": "x", "cap": -1, "count": 0}),
        // A number is not a name.
        json!({"reason": 0, "item_tokens": 3, "available_tokens": 1}),
    ] {
        assert!(from_value::<ExclusionReason>(wire.clone()).is_err(), "{wire}");
    }
}

#[test]
fn absent_fields_are_left_out() {
    let event = TraceEvent::stage(PipelineStage::Score, 12.5, 47);
    let wire = json!({"stage": "Score", "duration_ms": 12.5, "item_count": 47});
    assert_eq!(to_value(&event).unwrap(), wire);
    let event = TraceEvent::item(PipelineStage::Slice, "why");
    let wire = json!({"stage": "Slice", "duration_ms": 0.0, "item_count": 1, "message": "why"});
    assert_eq!(to_value(&event).unwrap(), wire);
}

#[test]
fn a_report_survives_the_wire() {
    let items = [pinned("pin", 20), hinted("a", 60, 0.9), hinted("b", 60, 0.5)];
    let report = pipeline().build().unwrap().dry_run(&items, &budget(100)).unwrap();
    let wire = to_value(&report).unwrap();
    for key in ["events", "included", "excluded", "total_candidates", "total_tokens_considered"] {
        assert!(wire.get(key).is_some(), "{key} in {wire}");
    }
    let excluded = &wire["excluded"][0];
    assert_eq!(excluded.as_object().unwrap().len(), 3, "item, score, reason: {excluded}");
    assert_eq!(from_value::<SelectionReport>(wire).unwrap(), report);
}

#[test]
fn an_overflow_event_shows_items_and_budget() {
    let event = OverflowEvent {
        tokens_over_budget: 7,
        overflowing_items: vec![pinned("pin", 107)],
        budget: budget(100),
    };
    let wire = to_value(&event).unwrap();
    assert_eq!(wire["tokens_over_budget"], 7);
    assert_eq!(wire["overflowing_items"][0]["content"], "pin");
    assert_eq!(wire["budget"], json!({"maxTokens": 100, "targetTokens": 100}));
    assert_eq!(from_value::<OverflowEvent>(wire).unwrap(), event);
}
