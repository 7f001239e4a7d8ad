//! Kept, new and dropped items from one call to the next.

use cupel::diagnostics::{IncludedItem, InclusionReason};
use cupel::explain::{Difference, Explanation};
use cupel::{ContextItem, ContextKind, SelectionReport};
use proptest::prelude::*;

use crate::common::{explanation, next};

fn selection(texts: &[&str]) -> SelectionReport {
    let included = texts.iter().map(|text| {
        let item = ContextItem::new(*text, 10).unwrap();
        IncludedItem::new(item, 1.0, InclusionReason::Scored)
    });
    SelectionReport::new(Vec::new(), included.collect(), Vec::new(), Vec::new())
}

#[test]
fn an_appended_message_leaves_the_whole_call_before_as_its_prefix() {
    let difference = Difference::between(&selection(&["a", "b"]), &selection(&["a", "b", "c"]));
    assert_eq!((difference.prefix_items, difference.prefix_tokens), (2, 20));
    assert_eq!((difference.kept, difference.new), (vec![0, 1], vec![2]));
    assert!(difference.dropped.is_empty());
}

#[test]
fn what_moved_is_kept_but_ends_the_prefix() {
    let difference =
        Difference::between(&selection(&["a", "b", "c"]), &selection(&["a", "c", "b"]));
    assert_eq!((difference.prefix_items, difference.kept.len()), (1, 3));
    assert!(difference.new.is_empty() && difference.dropped.is_empty());
}

#[test]
fn a_text_that_was_sent_twice_and_is_sent_once_was_dropped_once() {
    let difference = Difference::between(&selection(&["a", "a", "b"]), &selection(&["a", "b"]));
    assert_eq!((difference.prefix_items, difference.kept.len()), (1, 2));
    assert_eq!(difference.dropped.len(), 1);
    assert_eq!((difference.dropped[0].before, difference.dropped[0].now), (1, None));
}

#[test]
fn the_same_text_of_another_kind_is_another_item() {
    let before = selection(&["a"]);
    let mut now = selection(&["a"]);
    now.included[0].item =
        ContextItem::builder("a", 10).kind(ContextKind::document()).build().unwrap();
    let difference = Difference::between(&before, &now);
    assert_eq!((difference.prefix_items, difference.kept.len(), difference.new.len()), (0, 0, 1));
}

#[test]
fn what_was_dropped_says_why_it_is_out_now() {
    let (before, now) = (explanation(), next());
    let difference = now.since(&before);
    let reasons: Vec<_> = difference
        .dropped
        .iter()
        .map(|dropped| {
            let text = before.report.included[dropped.before].item.content();
            (text, dropped.now.map(|now_at| now.report.excluded[now_at].reason.name()))
        })
        .collect();
    assert!(
        reasons.contains(&("Orders ship from two warehouses.", None)),
        "it is no candidate any more: {reasons:?}"
    );
}

proptest! {
    /// Every item of both selections is accounted for, once.
    #[test]
    fn nothing_is_lost(
        before in proptest::collection::vec("[a-d]", 0..12),
        now in proptest::collection::vec("[a-d]", 0..12),
    ) {
        let report = |texts: &[String]| selection(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let (before, now) = (report(&before), report(&now));
        let difference = Difference::between(&before, &now);
        prop_assert_eq!(difference.kept.len() + difference.new.len(), now.included.len());
        prop_assert_eq!(difference.kept.len() + difference.dropped.len(), before.included.len());
        prop_assert!(difference.prefix_items <= difference.kept.len());
        let page = Explanation::new(now.clone()).page().previous(&Explanation::new(before)).data();
        let data: serde_json::Value = serde_json::from_str(&page).unwrap();
        let numbers = data["difference"]["before"].as_array().unwrap();
        let items = data["items"].as_array().unwrap();
        prop_assert!(numbers.iter().all(|number| number.as_u64().unwrap() < items.len() as u64));
    }
}
