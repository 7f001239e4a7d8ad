//! The knapsack: optimal, and row by row what the text computes.

use cupel::slicer::KnapsackSlice;
use cupel::{ContextBudget, ContextItem, ScoredItem, Slicer};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::config;
use crate::support::slicers::{self, Row};

/// Tokens and score of an item, with few distinct values so that solutions tie.
fn sizes(tokens: std::ops::Range<i64>) -> impl Strategy<Value = (i64, f64)> {
    let coarse = (0_u8..5).prop_map(|quarters| f64::from(quarters) / 4.0);
    (tokens, prop_oneof![coarse, 0.0..1.0_f64, -1.0..3.0_f64])
}

fn slice(sizes: &[(i64, f64)], target: i64, bucket: i64) -> Vec<usize> {
    let items: Vec<ContextItem> =
        sizes.iter().map(|(tokens, _)| ContextItem::new("x", *tokens).unwrap()).collect();
    let scored: Vec<_> =
        items.iter().zip(sizes).map(|(item, (_, score))| ScoredItem::new(item, *score)).collect();
    let budget = ContextBudget::builder(target).build().unwrap();
    KnapsackSlice::new(bucket).unwrap().slice(&scored, &budget).unwrap().indices
}

fn text(sizes: &[(i64, f64)], target: i64, bucket: i64) -> Vec<usize> {
    let row =
        |(tokens, score): &(i64, f64)| Row { tokens: *tokens, score: *score, kind: String::new() };
    let rows: Vec<Row> = sizes.iter().map(row).collect();
    slicers::knapsack(&rows, target, bucket)
}

fn value(score: f64) -> i64 {
    ((score * 10_000.0).floor() as i64).max(0)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_other_choice_is_worth_more(
        sizes in vec(sizes(0..20), 0..11), target in 1_i64..60,
    ) {
        let worth = |chosen: &[usize]| chosen.iter().map(|&i| value(sizes[i].1)).sum::<i64>();
        let weight = |chosen: &[usize]| chosen.iter().map(|&i| sizes[i].0).sum::<i64>();
        let found = slice(&sizes, target, 1);
        prop_assert!(weight(&found) <= target);
        let best = (0_u32..1 << sizes.len())
            .map(|mask| (0..sizes.len()).filter(|i| mask & (1 << i) != 0).collect::<Vec<_>>())
            .filter(|chosen| weight(chosen) <= target)
            .map(|chosen| worth(&chosen))
            .max();
        prop_assert_eq!(Some(worth(&found)), best);
    }

    #[test]
    fn sorted_lists_give_what_the_text_gives(
        mut sizes in vec(sizes(0..40), 0..60), target in 0_i64..300, bucket in 1_i64..12,
    ) {
        sizes.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        prop_assert_eq!(slice(&sizes, target, bucket), text(&sizes, target, bucket));
    }

    #[test]
    fn unsorted_lists_give_what_the_text_gives(
        sizes in vec(sizes(0..40), 0..60), target in 0_i64..300, bucket in 1_i64..12,
    ) {
        prop_assert_eq!(slice(&sizes, target, bucket), text(&sizes, target, bucket));
    }

    #[test]
    fn large_scores_give_what_the_text_gives(
        mut sizes in vec((0_i64..9, 0.0..1e9_f64), 0..40), target in 0_i64..60, sort in any::<bool>(),
    ) {
        // Beyond what the small table type holds.
        if sort {
            sizes.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        }
        prop_assert_eq!(slice(&sizes, target, 1), text(&sizes, target, 1));
    }
}
