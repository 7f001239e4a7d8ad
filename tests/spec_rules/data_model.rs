//! Items, budgets, kinds and sources.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use cupel::{
    ContextBudget, ContextItem, ContextKind, ContextSource, CupelError, OverflowStrategy,
    ScoredItem,
};

use super::common::{budget, contents, hinted, pinned, pipeline};

fn full_item() -> ContextItem {
    ContextItem::builder("all fields", 7)
        .kind(ContextKind::new("Ticket").unwrap())
        .source(ContextSource::rag())
        .priority(-3)
        .tags(["a", "B"])
        .metadata([("owner", "ops"), ("cupel:trust", "0.4")])
        .timestamp(DateTime::<Utc>::from_timestamp(1_700_000_000, 123_456_789).unwrap())
        .future_relevance_hint(0.75)
        .original_tokens(70)
        .build()
        .unwrap()
}

#[test]
fn item_defaults() {
    let item = ContextItem::new("text", 3).unwrap();
    assert_eq!((item.content(), item.tokens()), ("text", 3));
    assert_eq!(item.kind().as_str(), "Message");
    assert_eq!(item.source().as_str(), "Chat");
    assert_eq!((item.priority(), item.timestamp()), (None, None));
    assert_eq!((item.future_relevance_hint(), item.original_tokens()), (None, None));
    assert!(item.tags().is_empty() && item.metadata().is_empty() && !item.pinned());
}

#[test]
fn empty_content_is_refused_by_name() {
    let error = ContextItem::new("", 3).unwrap_err();
    assert!(matches!(error, CupelError::InvalidItem { field: "content", .. }), "{error}");
    // White space is content: nothing is trimmed.
    assert_eq!(ContextItem::new(" ", 3).unwrap().content(), " ");
}

#[test]
fn any_token_count_can_be_constructed() {
    for tokens in [i64::MIN, -1, 0, i64::MAX] {
        assert_eq!(ContextItem::new("x", tokens).unwrap().tokens(), tokens);
    }
}

#[test]
fn a_run_returns_the_very_items_it_was_given() {
    let items = [full_item(), pinned("pinned", 1), hinted("other", 5, 0.5)];
    let before = format!("{items:?}");
    let output = pipeline().build().unwrap().run(&items, &budget(100)).unwrap();
    assert_eq!(output.len(), 3);
    for item in &output {
        assert!(items.iter().any(|given| ContextItem::same(given, item)), "{item:?}");
    }
    assert_eq!(format!("{items:?}"), before);
    let kept = output.iter().find(|item| item.content() == "all fields").unwrap();
    assert_eq!(kept.metadata().get("owner").map(String::as_str), Some("ops"));
    assert_eq!(kept.original_tokens(), Some(70));
}

#[test]
fn a_changed_copy_leaves_the_original_alone() {
    let original = full_item();
    let changed = original.to_builder().tag("new").metadata_entry("owner", "dev").build().unwrap();
    assert_eq!(original, full_item());
    assert_ne!(original, changed);
}

#[test]
fn metadata_does_not_steer_the_stages() {
    let plain = [hinted("a", 30, 0.2), hinted("b", 30, 0.9), hinted("c", 30, 0.5)];
    let marked: Vec<ContextItem> = plain
        .iter()
        .map(|item| {
            item.to_builder()
                .metadata([
                    ("cupel:trust", "0.0"),
                    ("cupel:source-type", "system"),
                    ("pinned", "1"),
                ])
                .build()
                .unwrap()
        })
        .collect();
    let pipeline = pipeline().build().unwrap();
    let without = pipeline.run(&plain, &budget(60)).unwrap();
    let with = pipeline.run(&marked, &budget(60)).unwrap();
    assert_eq!(contents(&without), contents(&with));
    assert!(with.iter().all(|item| item.metadata().len() == 3));
}

#[test]
fn reserved_metadata_keys_are_not_validated() {
    let item = ContextItem::builder("x", 1)
        .metadata([("cupel:", ""), ("cupel:source-type", "martian"), ("cupel:mine", "yes")])
        .build()
        .unwrap();
    assert_eq!(item.metadata().len(), 3);
}

#[test]
fn budget_defaults() {
    let budget = ContextBudget::builder(100).target_tokens(80).build().unwrap();
    assert_eq!((budget.max_tokens(), budget.target_tokens()), (100, 80));
    assert_eq!(budget.output_reserve(), 0);
    assert!(budget.reserved_slots().is_empty());
    assert_eq!(budget.estimation_safety_margin_percent(), 0.0);
}

#[test]
fn budget_limits_are_themselves_valid() {
    for (max, target, reserve, margin) in
        [(0, 0, 0, 0.0), (100, 100, 100, 100.0), (100, 0, 0, 100.0), (i64::MAX, i64::MAX, 0, 0.0)]
    {
        let slots = HashMap::from([(ContextKind::document(), 0)]);
        ContextBudget::new(max, target, reserve, slots, margin).unwrap();
    }
}

#[test]
fn a_refused_budget_names_the_field() {
    let new = |max, target, reserve, slot: i64, margin| {
        let slots = HashMap::from([(ContextKind::memory(), slot)]);
        ContextBudget::new(max, target, reserve, slots, margin).unwrap_err().to_string()
    };
    for (field, error) in [
        ("maxTokens", new(-1, 0, 0, 0, 0.0)),
        ("targetTokens", new(10, -1, 0, 0, 0.0)),
        ("targetTokens", new(10, 11, 0, 0, 0.0)),
        ("outputReserve", new(10, 5, -1, 0, 0.0)),
        ("outputReserve", new(10, 5, 11, 0, 0.0)),
        ("reservedSlots[Memory]", new(10, 5, 0, -1, 0.0)),
        ("estimationSafetyMarginPercent", new(10, 5, 0, 0, 100.1)),
    ] {
        assert!(error.contains(field), "{field} in {error}");
    }
}

#[test]
fn well_known_kinds_and_sources() {
    let kinds = [
        (ContextKind::message(), "Message"),
        (ContextKind::document(), "Document"),
        (ContextKind::tool_output(), "ToolOutput"),
        (ContextKind::memory(), "Memory"),
        (ContextKind::system_prompt(), "SystemPrompt"),
    ];
    for (kind, name) in kinds {
        assert_eq!(kind.as_str(), name);
    }
    let sources = [
        (ContextSource::chat(), "Chat"),
        (ContextSource::tool(), "Tool"),
        (ContextSource::rag(), "Rag"),
    ];
    for (source, name) in sources {
        assert_eq!(source.as_str(), name);
    }
}

#[test]
fn kinds_are_open_and_ignore_ascii_case() {
    let spellings = ["message", "MESSAGE", "mEsSaGe", "Message"];
    let set: HashSet<ContextKind> =
        spellings.iter().map(|text| ContextKind::new(text).unwrap()).collect();
    assert_eq!(set.len(), 1);
    assert!(set.contains(&ContextKind::message()));
    assert_ne!(ContextKind::new("Messages").unwrap(), ContextKind::message());
    // Only ASCII letters fold.
    assert_ne!(ContextKind::new("É").unwrap(), ContextKind::new("é").unwrap());
    let invented = ContextKind::new("Calendar event 7").unwrap();
    assert_eq!(invented.as_str(), "Calendar event 7");
}

#[test]
fn sources_are_open_and_ignore_ascii_case() {
    let spellings = ["chat", "CHAT", "cHaT"];
    let set: HashSet<ContextSource> =
        spellings.iter().map(|text| ContextSource::new(text).unwrap()).collect();
    assert_eq!(set, HashSet::from([ContextSource::chat()]));
    assert_eq!(ContextSource::new("Carrier pigeon").unwrap().as_str(), "Carrier pigeon");
}

#[test]
fn blank_kinds_and_sources_are_refused() {
    for blank in ["", " ", "\t\n", "\u{2003}"] {
        assert!(ContextKind::new(blank).is_err(), "{blank:?}");
        assert!(ContextSource::new(blank).is_err(), "{blank:?}");
    }
}

#[test]
fn throw_is_the_default_strategy() {
    assert_eq!(OverflowStrategy::default(), OverflowStrategy::Throw);
}

#[test]
fn a_scored_item_takes_any_score() {
    let item = ContextItem::new("x", 1).unwrap();
    for score in [-1.0, 0.0, 7.5, f64::INFINITY] {
        assert_eq!(ScoredItem::new(&item, score).score(), score);
    }
    assert!(ContextItem::same(ScoredItem::new(&item, 0.0).item(), &item));
}
