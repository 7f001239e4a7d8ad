//! Quotas by share and by count hold.

use cupel::slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, KnapsackSlice, QuotaSlice,
    ScarcityBehavior, SliceResult,
};
use cupel::{ContextBudget, ContextItem, ContextKind, GreedySlice, ScoredItem, Slicer};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::{config, count_entries, hint, item_with, quota_set};
use crate::support::slicers::{self, Row, Share};

type Scored = Vec<(ContextItem, f64)>;

fn scored_items() -> impl Strategy<Value = Scored> {
    vec((item_with(0_i64..25, Just(0.0)), hint()), 0..30)
}

fn slice(slicer: &dyn Slicer, items: &Scored, target: i64) -> SliceResult {
    let scored: Vec<_> = items.iter().map(|(item, score)| ScoredItem::new(item, *score)).collect();
    let budget = ContextBudget::builder(target).build().unwrap();
    slicer.slice(&scored, &budget).unwrap()
}

fn kinds(items: &Scored) -> Vec<&ContextKind> {
    let mut kinds: Vec<&ContextKind> = items.iter().map(|(item, _)| item.kind()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Checks the promises that both count slicers make.
fn counts_hold(
    items: &Scored,
    entries: &[CountQuotaEntry],
    sliced: &SliceResult,
) -> Result<(), TestCaseError> {
    for entry in entries {
        let of_kind = |index: &&usize| items[**index].0.kind() == entry.kind();
        let taken: Vec<usize> = sliced.indices.iter().filter(of_kind).copied().collect();
        prop_assert!(taken.len() <= entry.cap_count(), "{entry:?}: {taken:?}");

        let available = items.iter().filter(|(item, _)| item.kind() == entry.kind()).count();
        prop_assert!(taken.len() >= entry.require_count().min(available), "{entry:?}: {taken:?}");
        let short = sliced.shortfalls.iter().find(|short| short.kind == *entry.kind());
        prop_assert_eq!(short.is_some(), available < entry.require_count());
        if let Some(short) = short {
            prop_assert_eq!(
                (short.required_count, short.satisfied_count),
                (entry.require_count(), available)
            );
        }
        // The required ones are the best ones: nobody left out beats the weakest of them.
        let mut scores: Vec<f64> = taken.iter().map(|&index| items[index].1).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        if let Some(weakest) = entry.require_count().checked_sub(1).and_then(|i| scores.get(i)) {
            let left_out = (0..items.len())
                .filter(|index| items[*index].0.kind() == entry.kind() && !taken.contains(index));
            for index in left_out {
                prop_assert!(items[index].1 <= *weakest);
            }
        }
    }
    for (index, _) in &sliced.exclusions {
        prop_assert!(!sliced.indices.contains(index));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_kind_gets_more_than_its_cap(
        items in scored_items(), quotas in quota_set(), target in 0_i64..200, bucket in 1_i64..4,
    ) {
        let share = |(kind, require, cap): (&ContextKind, f64, f64)| Share {
            kind: kind.as_str().to_lowercase(),
            require,
            cap,
        };
        let shares: Vec<Share> = quotas.iter().map(share).collect();
        let row = |(item, score): &(ContextItem, f64)| Row {
            tokens: item.tokens(),
            score: *score,
            kind: item.kind().as_str().to_lowercase(),
        };
        let rows: Vec<Row> = items.iter().map(row).collect();
        let budgets = slicers::distribute(&rows, target, &shares);
        let inner: [Box<dyn Slicer>; 2] =
            [Box::new(GreedySlice), Box::new(KnapsackSlice::new(bucket).unwrap())];
        for inner in inner {
            let sliced = slice(&QuotaSlice::new(quotas.clone(), inner), &items, target);
            let mut all = 0;
            for kind in kinds(&items) {
                let of_kind = sliced.indices.iter().filter(|&&index| items[index].0.kind() == kind);
                let tokens: i64 = of_kind.map(|&index| items[index].0.tokens()).sum();
                let cap = quotas.iter().find(|(known, ..)| *known == kind).map_or(100.0, |q| q.2);
                let cap = (cap / 100.0 * target as f64).floor() as i64;
                prop_assert!(tokens <= cap, "{kind}: {tokens} tokens, cap {cap}");
                let name = kind.as_str().to_lowercase();
                let budget = budgets.iter().find(|(kind, _)| *kind == name).map_or(0, |b| b.1);
                prop_assert!(tokens <= budget, "{kind}: {tokens} tokens, budget {budget}");
                all += tokens;
            }
            prop_assert!(all <= target);
        }
    }

    #[test]
    fn count_quotas_hold(items in scored_items(), entries in count_entries(), target in 1_i64..200) {
        let slicer = CountQuotaSlice::new(entries.clone(), GreedySlice, ScarcityBehavior::Degrade);
        let sliced = slice(&slicer.unwrap(), &items, target);
        if !items.is_empty() {
            counts_hold(&items, &entries, &sliced)?;
        }
    }

    #[test]
    fn count_constraints_hold_over_the_knapsack(
        items in scored_items(), entries in count_entries(), target in 1_i64..200,
    ) {
        let slicer = CountConstrainedKnapsackSlice::new(
            entries.clone(), KnapsackSlice::new(2).unwrap(), ScarcityBehavior::Degrade,
        );
        let sliced = slice(&slicer.unwrap(), &items, target);
        if !items.is_empty() {
            counts_hold(&items, &entries, &sliced)?;
        }
    }
}
