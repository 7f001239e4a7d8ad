//! Values written as JSON or MessagePack read back as the same values.

use chrono::DateTime;
use cupel::diagnostics::{DiagnosticTraceCollector, OverflowEvent, TraceDetailLevel};
use cupel::{ContextBudget, ContextItem, ContextKind, ContextSource, SelectionReport};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::strategies::{any_score, budget, config, items, pipeline, wild_items};

/// Reads back what was written; the text is compared, since NaN is not equal to itself.
fn round_trip<T: Serialize + DeserializeOwned>(value: &T) -> Result<T, TestCaseError> {
    let text = serde_json::to_string(value).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let read: T = serde_json::from_str(&text)
        .map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
    prop_assert_eq!(&text, &serde_json::to_string(&read).unwrap());
    for bytes in [rmp_serde::to_vec(value).unwrap(), rmp_serde::to_vec_named(value).unwrap()] {
        let read: T = rmp_serde::from_slice(&bytes)
            .map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        prop_assert_eq!(&text, &serde_json::to_string(&read).unwrap());
    }
    Ok(read)
}

/// Text with at least one character that is not white space.
fn word() -> impl Strategy<Value = String> {
    "\\PC{0,6}[a-zA-Z\"\\\\é]\\PC{0,6}"
}

/// An item with anything in every field.
fn any_item() -> impl Strategy<Value = ContextItem> {
    let names = (word(), word(), word());
    let numbers = (any::<i64>(), option::of(any::<i64>()), option::of(any::<i64>()));
    let moment = (-60_000_000_000_i64..250_000_000_000, 0_u32..1_000_000_000);
    let moment = option::of(moment.prop_map(|(s, n)| DateTime::from_timestamp(s, n).unwrap()));
    let lists = (vec(".{0,5}", 0..4), btree_map(".{0,5}", ".{0,5}", 0..4));
    (names, numbers, moment, option::of(any_score()), lists, any::<bool>()).prop_map(
        |(names, numbers, moment, hint, lists, pinned)| {
            let mut builder = ContextItem::builder(names.0, numbers.0)
                .kind(ContextKind::new(names.1).unwrap())
                .source(ContextSource::new(names.2).unwrap())
                .tags(lists.0)
                .metadata(lists.1)
                .pinned(pinned);
            if let Some(priority) = numbers.1 {
                builder = builder.priority(priority);
            }
            if let Some(original) = numbers.2 {
                builder = builder.original_tokens(original);
            }
            if let Some(moment) = moment {
                builder = builder.timestamp(moment);
            }
            if let Some(hint) = hint {
                builder = builder.future_relevance_hint(hint);
            }
            builder.build().unwrap()
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn items_survive(item in any_item()) {
        let read = round_trip(&item)?;
        let bits = |item: &ContextItem| item.future_relevance_hint().map(|hint| {
            // One NaN is as good as another.
            if hint.is_nan() { f64::NAN.to_bits() } else { hint.to_bits() }
        });
        prop_assert_eq!(bits(&read), bits(&item));
        // The spelling too, although kinds compare without regard to case.
        prop_assert_eq!(read.kind().as_str(), item.kind().as_str());
        prop_assert_eq!(read.source().as_str(), item.source().as_str());
        if !item.future_relevance_hint().is_some_and(f64::is_nan) {
            prop_assert_eq!(read, item);
        }
    }

    #[test]
    fn budgets_survive(budget in prop_oneof![budget(200), budget(i64::MAX)]) {
        prop_assert_eq!(round_trip::<ContextBudget>(&budget)?, budget);
    }

    #[test]
    fn reports_survive(
        pipeline in pipeline(), items in prop_oneof![items().boxed(), wild_items().boxed()],
        budget in budget(150),
    ) {
        let mut collector = DiagnosticTraceCollector::new(TraceDetailLevel::Item);
        if pipeline.run_traced(&items, &budget, &mut collector).is_ok() {
            let report = collector.into_report();
            let read: SelectionReport = round_trip(&report)?;
            prop_assert_eq!(read.total_candidates, report.total_candidates);
            let reasons = read.excluded.iter().map(|line| &line.reason);
            prop_assert!(reasons.eq(report.excluded.iter().map(|line| &line.reason)));
            prop_assert_eq!(read.count_requirement_shortfalls, report.count_requirement_shortfalls);
        }
    }

    #[test]
    fn overflow_events_survive(items in vec(any_item(), 0..4), budget in budget(9), over in 0_i64..9) {
        round_trip(&OverflowEvent { tokens_over_budget: over, overflowing_items: items, budget })?;
    }
}
