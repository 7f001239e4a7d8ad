//! The effective budget is the formula of the text, over the whole range of numbers.

use std::collections::HashMap;

use cupel::{ContextBudget, ContextKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::strategies::config;
use crate::support::stages;

/// Token counts of every size.
fn tokens() -> impl Strategy<Value = i64> {
    prop_oneof![
        0_i64..1_000,
        0_i64..1 << 40,
        0..=i64::MAX,
        select(vec![0, 1, i64::MAX - 1, i64::MAX]),
    ]
}

fn margin() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..=100.0_f64, select(vec![10.0, 29.0, 100.0, f64::MIN_POSITIVE])]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_effective_budget_is_that_of_the_text(
        sizes in (tokens(), tokens(), tokens()), pinned in tokens(),
        slots in vec(tokens(), 0..4), margin in margin(),
    ) {
        let max = sizes.0;
        let (target, reserve) = (sizes.1.min(max), sizes.2.min(max));
        let kind = |number| ContextKind::new(format!("kind {number}")).unwrap();
        let by_kind: HashMap<ContextKind, i64> =
            slots.iter().enumerate().map(|(number, slots)| (kind(number), *slots)).collect();
        let budget = ContextBudget::new(max, target, reserve, by_kind, margin).unwrap();
        let effective = budget.effective(pinned);
        let expected = stages::effective((max, target, reserve), pinned, &slots, margin);
        prop_assert_eq!((effective.max_tokens(), effective.target_tokens()), expected);
        // "The original fields are not forwarded."
        prop_assert_eq!(effective.output_reserve(), 0);
        prop_assert!(effective.reserved_slots().is_empty());
        prop_assert_eq!(effective.estimation_safety_margin_percent(), 0.0);
    }

    #[test]
    fn a_budget_is_valid_or_refused(
        max in any::<i64>(), target in any::<i64>(), reserve in any::<i64>(),
        slots in any::<i64>(), margin in proptest::num::f64::ANY,
    ) {
        let by_kind = HashMap::from([(ContextKind::message(), slots)]);
        let budget = ContextBudget::new(max, target, reserve, by_kind, margin);
        let valid = max >= 0
            && (0..=max).contains(&target)
            && (0..=max).contains(&reserve)
            && slots >= 0
            && (0.0..=100.0).contains(&margin);
        prop_assert_eq!(budget.is_ok(), valid);
    }
}
