//! Trimming the history: from the oldest, whole groups only, and in one pass.

use std::collections::HashMap;

use cupel::contract::{
    BudgetContract, GenerationStep, HistoryEntry, ModelLimits, PipelineSettings, trim_history,
};
use proptest::prelude::*;

use super::words;

#[test]
fn a_history_that_fits_is_left_alone() {
    let trimmed = trim_history(&[HistoryEntry::new(40), HistoryEntry::new(60)], 100);
    assert_eq!(trimmed.kept, [0, 1]);
    assert_eq!(
        trimmed.to_string(),
        "history: kept 2 of 2 entries, 100 of 100 tokens (at most 100)"
    );
}

#[test]
fn the_oldest_go_first_and_no_more_than_must() {
    let history = [40, 60, 1_000, 20].map(HistoryEntry::new);
    let trimmed = trim_history(&history, 1_079);
    assert_eq!((trimmed.dropped.as_slice(), trimmed.kept_tokens), (&[0, 1][..], 1_020));
    assert_eq!(
        trimmed.to_string(),
        "history: kept 2 of 4 entries, 1,020 of 1,120 tokens (at most 1,079); dropped 0-1",
    );
    // An entry too large for the budget goes, and everything older with it.
    assert_eq!(trim_history(&history, 999).kept, [3]);
    assert_eq!(trim_history(&history, 19).kept, [] as [usize; 0]);
}

#[test]
fn a_tool_call_and_its_results_stay_or_go_together() {
    let history = [
        HistoryEntry::new(10),
        HistoryEntry::in_unit(20, "call_1"),
        HistoryEntry::in_unit(30, "call_1"),
        HistoryEntry::in_unit(30, "call_1"),
        HistoryEntry::new(10),
    ];
    assert_eq!(trim_history(&history, 90).kept, [1, 2, 3, 4]);
    // One token less, and the whole group goes: never a result without its call.
    assert_eq!(trim_history(&history, 89).kept, [4]);
}

#[test]
fn members_of_a_group_need_not_be_neighbours() {
    let history = [
        HistoryEntry::in_unit(10, "a"),
        HistoryEntry::in_unit(10, "b"),
        HistoryEntry::in_unit(10, "a"),
        HistoryEntry::in_unit(10, "b"),
        HistoryEntry::new(10),
    ];
    let trimmed = trim_history(&history, 30);
    assert_eq!(trimmed.kept, [1, 3, 4]);
    assert!(trimmed.to_string().ends_with("dropped 0, 2"), "{trimmed}");
}

#[test]
fn a_step_trims_to_its_own_budget() {
    let settings = PipelineSettings::new(10).max_history_tokens(50);
    let checked = BudgetContract::new(ModelLimits::new(1_000), settings)
        .step(GenerationStep::new("answer").use_history(true).max_tokens(1))
        .step(GenerationStep::new("router").max_tokens(1))
        .check(&words())
        .unwrap();
    let history = [30, 30, 20].map(HistoryEntry::new);
    assert_eq!(checked.step("answer").unwrap().trim_history(&history).kept, [1, 2]);
    assert_eq!(checked.step("router").unwrap().trim_history(&history).kept, [] as [usize; 0]);
}

#[test]
fn odd_counts_neither_wrap_nor_give_credit() {
    let history = [i64::MAX, i64::MAX, -5, 7].map(HistoryEntry::new);
    assert_eq!(trim_history(&history, 7).kept, [2, 3]);
    assert_eq!(trim_history(&history, i64::MAX).kept, [2, 3]);
    assert_eq!(trim_history(&history, -1).kept, [] as [usize; 0]);
    assert_eq!(trim_history(&[], 0).kept, [] as [usize; 0]);
}

#[test]
fn a_hundred_thousand_entries_take_no_time() {
    let names: Vec<String> = (0..50_000).map(|n| format!("call_{n}")).collect();
    let history: Vec<_> =
        (0..100_000_usize).map(|n| HistoryEntry::in_unit(10, &names[n / 2])).collect();
    let start = std::time::Instant::now();
    assert_eq!(trim_history(&history, 100).kept.len(), 10);
    // Quadratic trimming would take minutes here.
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn trimming_keeps_its_promises(
        entries in prop::collection::vec((0_i64..100, prop::option::of(0_u8..6)), 0..40),
        max in 0_i64..2_000,
    ) {
        let names: Vec<String> = (0..6).map(|n| n.to_string()).collect();
        let history: Vec<_> = entries.iter().map(|(tokens, group)| match group {
            None => HistoryEntry::new(*tokens),
            Some(group) => HistoryEntry::in_unit(*tokens, &names[usize::from(*group)]),
        }).collect();
        let trimmed = trim_history(&history, max);

        let tokens = |positions: &[usize]| positions.iter().map(|&at| entries[at].0).sum::<i64>();
        prop_assert!(tokens(&trimmed.kept) <= max);
        prop_assert_eq!(trimmed.kept_tokens, tokens(&trimmed.kept));
        prop_assert_eq!(trimmed.dropped_tokens, tokens(&trimmed.dropped));
        let mut all = [trimmed.kept.clone(), trimmed.dropped.clone()].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..entries.len()).collect::<Vec<_>>());

        // No group is split.
        let mut kept_groups: HashMap<u8, bool> = HashMap::new();
        for (at, (_, group)) in entries.iter().enumerate() {
            if let Some(group) = group {
                let kept = trimmed.kept.contains(&at);
                prop_assert_eq!(*kept_groups.entry(*group).or_insert(kept), kept);
            }
        }
        // Taking the unit that was dropped last back would not fit: nothing went in vain.
        let unit = |at: usize| match entries[at].1 {
            None => vec![at],
            group => (0..entries.len()).filter(|&at| entries[at].1 == group).collect(),
        };
        let oldest = |at: &usize| unit(*at)[0];
        if let Some(last) = trimmed.dropped.iter().map(oldest).max() {
            prop_assert!(trimmed.kept_tokens + tokens(&unit(last)) > max);
        }
    }
}
