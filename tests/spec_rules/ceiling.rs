//! The ceiling `maxTokens - outputReserve`, which required items must not break either.

use std::sync::{Arc, Mutex};

use cupel::diagnostics::ExclusionReason;
use cupel::slicer::{CountQuotaEntry, CountQuotaSlice, ScarcityBehavior};
use cupel::{
    ContextBudget, ContextItem, ContextKind, CupelError, GreedySlice, OverflowStrategy, Pipeline,
    Policy,
};

use super::common::{contents, pipeline};

/// Takes two messages, whatever they cost or as far as they fit.
fn two_messages(within_budget: bool, scarcity: ScarcityBehavior) -> CountQuotaSlice {
    let entries = vec![CountQuotaEntry::new(ContextKind::message(), 2, 2).unwrap()];
    CountQuotaSlice::new(entries, GreedySlice, scarcity).unwrap().within_budget(within_budget)
}

fn overspending(strategy: OverflowStrategy) -> Pipeline {
    let slicer = two_messages(false, ScarcityBehavior::Throw);
    pipeline().slicer(slicer).overflow_strategy(strategy).build().unwrap()
}

fn required(content: &str, tokens: i64, hint: f64) -> ContextItem {
    ContextItem::builder(content, tokens).future_relevance_hint(hint).build().unwrap()
}

/// Window 1,000, target 1,000, reserve 400: the ceiling is 600, and two items of 450 need 900.
fn within_the_target() -> (Vec<ContextItem>, ContextBudget) {
    let budget = ContextBudget::builder(1_000).target_tokens(1_000).output_reserve(400);
    (vec![required("a", 450, 0.9), required("b", 450, 0.8)], budget.build().unwrap())
}

#[test]
fn throw_raises_above_the_ceiling() {
    let (items, budget) = within_the_target();
    let error = overspending(OverflowStrategy::Throw).run(&items, &budget).unwrap_err();
    assert_eq!(error, CupelError::CeilingExceeded { merged_tokens: 900, available_tokens: 600 });
    // Above the target as well, the target is what the message names.
    let both = ContextBudget::new(1_000, 800, 400, Default::default(), 0.0).unwrap();
    let error = overspending(OverflowStrategy::Throw).run(&items, &both).unwrap_err();
    assert_eq!(error, CupelError::Overflow { merged_tokens: 900, target_tokens: 800 });
}

#[test]
fn truncate_goes_by_the_lower_of_target_and_ceiling() {
    let items = [required("a", 350, 0.9), required("b", 200, 0.8)];
    for (target, reserve, kept, available) in [
        (1_000, 500, vec!["a"], 150), // the ceiling of 500 holds 350, not 550
        (400, 100, vec!["a"], 50),    // the target of 400 holds 350, not 550
        (1_000, 450, vec!["a", "b"], 0),
    ] {
        let budget = ContextBudget::new(1_000, target, reserve, Default::default(), 0.0).unwrap();
        let report = overspending(OverflowStrategy::Truncate).dry_run(&items, &budget).unwrap();
        let included: Vec<&str> = report.included.iter().map(|i| i.item.content()).collect();
        assert_eq!(included, kept);
        if let Some(excluded) = report.excluded.first() {
            let reason =
                ExclusionReason::BudgetExceeded { item_tokens: 200, available_tokens: available };
            assert_eq!(excluded.reason, reason);
        }
    }
}

#[test]
fn proceed_tells_of_everything_and_stops_at_the_ceiling() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let observed = {
        let told = Arc::clone(&told);
        pipeline()
            .slicer(two_messages(false, ScarcityBehavior::Throw))
            .overflow_strategy(OverflowStrategy::Proceed)
            .overflow_observer(move |event| {
                let items = event.overflowing_items.len();
                told.lock().unwrap().push((event.tokens_over_budget, items));
            })
            .build()
            .unwrap()
    };
    let (items, budget) = within_the_target();
    // 900 are within the target of 1,000 and 300 above the ceiling of 600.
    assert_eq!(contents(&observed.run(&items, &budget).unwrap()), ["a"]);
    assert_eq!(told.lock().unwrap().drain(..).collect::<Vec<_>>(), [(300, 2)]);
    // 900 are 200 above the target of 700 and within the ceiling of 1,000: nothing is removed.
    let budget = ContextBudget::new(1_000, 700, 0, Default::default(), 0.0).unwrap();
    assert_eq!(contents(&observed.run(&items, &budget).unwrap()), ["a", "b"]);
    assert_eq!(told.lock().unwrap().drain(..).collect::<Vec<_>>(), [(200, 2)]);
    // A dry run selects the same, and tells nobody.
    assert_eq!(observed.dry_run(&items, &budget).unwrap().included.len(), 2);
    assert!(told.lock().unwrap().is_empty());
}

/// Found by the example `soak`: a sum of tokens that is cut off at the largest number seems to fit.
#[test]
fn the_largest_budget_has_a_ceiling_too() {
    let items = [required("a", 40, 0.9), required("b", i64::MAX, 0.8)];
    let budget = ContextBudget::builder(i64::MAX).build().unwrap();
    for strategy in [OverflowStrategy::Truncate, OverflowStrategy::Proceed] {
        assert_eq!(contents(&overspending(strategy).run(&items, &budget).unwrap()), ["a"]);
    }
    let error = overspending(OverflowStrategy::Throw).run(&items, &budget).unwrap_err();
    assert!(matches!(error, CupelError::Overflow { .. }), "{error}");
}

#[test]
fn what_pinned_items_push_over_the_ceiling_is_their_override() {
    let pin = ContextItem::builder("pin", 200).pinned(true).build().unwrap();
    let items = [pin, required("a", 350, 0.9), required("b", 450, 0.8)];
    // Ceiling 600: 200 + 350 stay. "b" would have fitted the 600 alone, not the 400 beside the pin.
    let budget = ContextBudget::new(1_000, 1_000, 400, Default::default(), 0.0).unwrap();
    let report = overspending(OverflowStrategy::Truncate).dry_run(&items, &budget).unwrap();
    assert_eq!(report.included.len(), 2);
    let reason = ExclusionReason::PinnedOverride { displaced_by: "pin".into() };
    assert_eq!(report.excluded[0].reason, reason);
}

#[test]
fn within_the_budget_the_rest_is_a_shortfall_or_an_error() {
    let (items, budget) = within_the_target();
    let run = |scarcity| {
        let slicer = two_messages(true, scarcity);
        pipeline().slicer(slicer).build().unwrap().dry_run(&items, &budget)
    };
    let report = run(ScarcityBehavior::Degrade).unwrap();
    assert_eq!(report.included.len(), 1);
    let short = &report.count_requirement_shortfalls[0];
    assert_eq!((short.required_count, short.satisfied_count), (2, 1));
    assert_eq!(
        run(ScarcityBehavior::Throw).unwrap_err(),
        CupelError::CountRequirementDoesNotFit {
            slicer: "CountQuotaSlice",
            kind: ContextKind::message(),
            fitting: 1,
            required: 2,
            target_tokens: 600,
        }
    );
    // Too few to begin with is the specification's own error.
    let one = [items[0].clone()];
    let slicer = two_messages(true, ScarcityBehavior::Throw);
    let error = pipeline().slicer(slicer).build().unwrap().run(&one, &budget).unwrap_err();
    assert!(matches!(error, CupelError::CountRequirementUnmet { available: 1, .. }), "{error}");
}

#[test]
fn a_used_up_budget_is_a_shortfall_too() {
    let pin = ContextItem::builder("pin", 600).pinned(true).build().unwrap();
    let (mut items, budget) = within_the_target();
    items.push(pin);
    let slicer = two_messages(true, ScarcityBehavior::Degrade);
    let report = pipeline().slicer(slicer).build().unwrap().dry_run(&items, &budget).unwrap();
    assert_eq!(report.included.len(), 1);
    assert_eq!(report.count_requirement_shortfalls[0].satisfied_count, 0);
}

#[test]
fn tool_use_keeps_the_safety_margin() {
    // Window 8,192, reserve 1,024, margin 20 %: floor(7,168 x 0.8) = 5,734 tokens.
    let budget = ContextBudget::builder(8_192)
        .output_reserve(1_024)
        .estimation_safety_margin_percent(20.0)
        .build()
        .unwrap();
    let output = |content: &str| {
        ContextItem::builder(content, 3_500).kind(ContextKind::tool_output()).build().unwrap()
    };
    let report = Policy::tool_use().dry_run(&[output("a"), output("b")], &budget).unwrap();
    let tokens: i64 = report.included.iter().map(|i| i.item.tokens()).sum();
    assert_eq!(tokens, 3_500);
    assert_eq!(report.count_requirement_shortfalls[0].satisfied_count, 1);
}
