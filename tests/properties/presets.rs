//! Presets leave nothing out that would still fit, and keep what was said last.

use cupel::diagnostics::ExclusionReason;
use cupel::slicer::QuotaUnit;
use cupel::{ContextBudget, ContextItem, ContextKind, Policy, SelectionReport};
use proptest::prelude::*;

use crate::strategies::{budget, config, items};

fn presets() -> [(&'static str, Policy); 4] {
    [
        ("chat", Policy::chat()),
        ("rag", Policy::rag()),
        ("tool_use", Policy::tool_use()),
        ("document_qa", Policy::document_qa()),
    ]
}

/// The tokens of the sliced items of a kind, or of all kinds.
fn sliced_tokens(report: &SelectionReport, kind: Option<&ContextKind>) -> i64 {
    let sliced = report.included.iter().map(|i| &i.item).filter(|item| !item.pinned());
    let of_kind = sliced.filter(|item| kind.is_none_or(|kind| item.kind() == kind));
    of_kind.map(ContextItem::tokens).sum()
}

/// An item that would still have fitted the effective target and its kind's cap.
fn needlessly_left_out(
    policy: &Policy,
    items: &[ContextItem],
    budget: &ContextBudget,
) -> Option<ContextItem> {
    let report = policy.dry_run(items, budget).ok()?;
    let pinned = items.iter().filter(|item| item.pinned() && item.tokens() >= 0);
    let target = budget.effective(pinned.map(ContextItem::tokens).sum()).target_tokens();
    if target == 0 {
        return None; // nothing is sliced, free items neither
    }
    let left = target - sliced_tokens(&report, None);
    let quotas = policy.to_pipeline().slicer().facts().quotas;
    let fits = |item: &ContextItem| {
        let of_kind = quotas.iter().find(|quota| quota.kind == *item.kind());
        let cap = of_kind
            .filter(|quota| quota.unit == QuotaUnit::Percent)
            .map_or(target, |quota| (quota.cap / 100.0 * target as f64).floor() as i64);
        let room = cap - sliced_tokens(&report, Some(item.kind()));
        item.tokens() <= left && cap > 0 && item.tokens() <= room
    };
    let left_out = report.excluded.iter().filter(|excluded| {
        matches!(
            excluded.reason,
            ExclusionReason::BudgetExceeded { .. } | ExclusionReason::PinnedOverride { .. }
        )
    });
    left_out.map(|excluded| &excluded.item).find(|item| fits(item)).cloned()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_still_fits_is_not_left_out(items in items(), budget in budget(150)) {
        for (name, policy) in presets() {
            let left_out = needlessly_left_out(&policy, &items, &budget);
            prop_assert!(left_out.is_none(), "{name}: {left_out:?}");
        }
    }
}

fn item(content: String, tokens: i64, kind: ContextKind) -> ContextItem {
    ContextItem::builder(content, tokens).kind(kind).build().unwrap()
}

#[test]
fn one_huge_output_starves_nobody() {
    let mut items = vec![item("log".to_owned(), 50_000, ContextKind::tool_output())];
    let messages = (0..10).map(|n| item(format!("message {n}"), 100, ContextKind::message()));
    items.extend(messages);
    let budget = ContextBudget::builder(8_000).build().unwrap();
    for (name, policy) in presets() {
        let report = policy.dry_run(&items, &budget).unwrap();
        assert_eq!(report.included.len(), 10, "{name}");
    }
}

#[test]
fn two_large_outputs_leave_room_for_the_question() {
    let output = |n| item(format!("output {n}"), 4_500, ContextKind::tool_output());
    let items = [
        output(1),
        output(2),
        item("message".to_owned(), 200, ContextKind::message()),
        item("question".to_owned(), 50, ContextKind::message()),
    ];
    let budget = ContextBudget::builder(8_000).build().unwrap();
    for (name, policy) in presets() {
        let report = policy.dry_run(&items, &budget).unwrap();
        let selected: Vec<&str> = report.included.iter().map(|i| i.item.content()).collect();
        assert_eq!(selected.len(), 3, "{name}: {selected:?}");
        assert!(selected.contains(&"question"), "{name}: {selected:?}");
    }
}

#[test]
fn without_dates_chat_keeps_the_newest_and_puts_the_question_last() {
    let mut items: Vec<ContextItem> =
        (0..20).map(|n| item(format!("message {n}"), 100, ContextKind::message())).collect();
    items.push(item("question".to_owned(), 100, ContextKind::message()));
    let contents = |items: &[ContextItem]| -> Vec<String> {
        let budget = ContextBudget::builder(300).build().unwrap();
        let selected = Policy::chat().to_pipeline().run(items, &budget).unwrap();
        selected.iter().map(|item| item.content().to_owned()).collect()
    };
    assert_eq!(contents(&items), ["message 18", "message 19", "question"]);
    // A pinned question stays where it was said, and instructions come before the talk.
    let question = items.pop().unwrap().to_builder().pinned(true).build().unwrap();
    items.push(question);
    let rules = item("rules".to_owned(), 10, ContextKind::system_prompt());
    items.push(rules.to_builder().pinned(true).build().unwrap());
    assert_eq!(contents(&items), ["rules", "message 19", "question"]);
}

#[test]
fn dates_and_positions_mix() {
    use chrono::DateTime;
    let dated = |n: i64| {
        let item = item(format!("at {n}"), 100, ContextKind::message());
        item.to_builder().timestamp(DateTime::from_timestamp(n, 0).unwrap()).build().unwrap()
    };
    let undated = |name: &str| item(name.to_owned(), 100, ContextKind::message());
    let items = [undated("first"), dated(10), undated("after 10"), dated(20), undated("last")];
    let budget = ContextBudget::builder(500).build().unwrap();
    let placed = Policy::chat().to_pipeline().run(&items, &budget).unwrap();
    let contents: Vec<&str> = placed.iter().map(ContextItem::content).collect();
    assert_eq!(contents, ["first", "at 10", "after 10", "at 20", "last"]);
    let budget = ContextBudget::builder(200).build().unwrap();
    let placed = Policy::chat().to_pipeline().run(&items, &budget).unwrap();
    let contents: Vec<&str> = placed.iter().map(ContextItem::content).collect();
    assert_eq!(contents, ["at 20", "last"]);
}
