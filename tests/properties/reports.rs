//! A report accounts for every candidate, once.

use cupel::ContextItem;
use cupel::diagnostics::{ExclusionReason, InclusionReason};
use proptest::prelude::*;

use crate::strategies::{budget, config, count_same, items, pipeline, sum_tokens};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_candidate_is_in_the_report_once(
        pipeline in pipeline(), items in items(), budget in budget(150),
    ) {
        if let Ok(report) = pipeline.dry_run(&items, &budget) {
            let included = report.included.iter().map(|line| &line.item);
            let excluded = report.excluded.iter().map(|line| &line.item);
            let reported: Vec<&ContextItem> = included.chain(excluded).collect();
            prop_assert_eq!(reported.len(), items.len());
            for item in &items {
                let count = count_same(reported.iter().copied(), item);
                prop_assert_eq!(count, count_same(&items, item));
            }
        }
    }

    #[test]
    fn the_totals_add_up(pipeline in pipeline(), items in items(), budget in budget(150)) {
        if let Ok(report) = pipeline.dry_run(&items, &budget) {
            prop_assert_eq!(report.total_candidates, items.len());
            prop_assert_eq!(report.total_candidates, report.included.len() + report.excluded.len());
            prop_assert_eq!(i128::from(report.total_tokens_considered), sum_tokens(&items));
        }
    }

    #[test]
    fn excluded_items_come_by_score(pipeline in pipeline(), items in items(), budget in budget(150)) {
        if let Ok(report) = pipeline.dry_run(&items, &budget) {
            prop_assert!(report.excluded.is_sorted_by(|a, b| a.score >= b.score));
        }
    }

    #[test]
    fn included_items_come_as_they_are_placed(
        pipeline in pipeline(), items in items(), budget in budget(150),
    ) {
        let (run, report) = (pipeline.run(&items, &budget), pipeline.dry_run(&items, &budget));
        prop_assert_eq!(run.as_ref().err(), report.as_ref().err());
        if let (Ok(selected), Ok(report)) = (run, report) {
            let reported = report.included.iter().map(|line| &line.item);
            prop_assert!(reported.clone().count() == selected.len());
            prop_assert!(reported.zip(&selected).all(|(a, b)| ContextItem::same(a, b)));
        }
    }

    #[test]
    fn reasons_fit_their_items(pipeline in pipeline(), items in items(), budget in budget(150)) {
        if let Ok(report) = pipeline.dry_run(&items, &budget) {
            for line in &report.included {
                let expected = match &line.item {
                    item if item.pinned() => InclusionReason::Pinned,
                    item if item.tokens() == 0 => InclusionReason::ZeroToken,
                    _ => InclusionReason::Scored,
                };
                prop_assert_eq!(&line.reason, &expected);
            }
            for line in &report.excluded {
                let negative = matches!(line.reason, ExclusionReason::NegativeTokens { .. });
                prop_assert_eq!(negative, line.item.tokens() < 0);
                if let ExclusionReason::BudgetExceeded { item_tokens, .. } = line.reason {
                    prop_assert_eq!(item_tokens, line.item.tokens());
                }
                if let ExclusionReason::PinnedOverride { displaced_by } = &line.reason {
                    let first = items.iter().find(|item| item.pinned() && item.tokens() >= 0);
                    prop_assert_eq!(first.map(ContextItem::content), Some(&**displaced_by));
                }
                if let ExclusionReason::Deduplicated { deduplicated_against } = &line.reason {
                    prop_assert_eq!(line.item.content(), &**deduplicated_against);
                    prop_assert!(pipeline.deduplication());
                }
            }
        }
    }
}
