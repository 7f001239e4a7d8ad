//! Scoring a list at once and scoring its items one by one give the same numbers.

use cupel::ContextItem;
use proptest::prelude::*;

use crate::strategies::{age_scorer, config, items, scorer};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_batch_agrees_with_single_scores(
        scorer in prop_oneof![4 => scorer().boxed(), 1 => age_scorer().boxed()], items in items(),
    ) {
        // Deep nests ask for every score of a list for each score of it.
        let items = &items[..items.len().min(25)];
        let mut batch = vec![f64::NAN; items.len()];
        scorer.score_all(items, &mut batch);
        for (index, item) in items.iter().enumerate() {
            let single = scorer.score(item, items);
            prop_assert!((single - batch[index]).abs() <= 1e-12, "{single} and {}", batch[index]);
        }
    }

    #[test]
    fn an_absolute_scorer_ignores_the_peers(scorer in scorer(), items in items()) {
        if scorer.facts().absolute {
            for item in items.iter().take(25) {
                let alone = scorer.score(item, &[]);
                prop_assert_eq!(alone, scorer.score(item, &items));
            }
        }
    }

    #[test]
    fn scores_do_not_depend_on_the_order_of_the_list(scorer in scorer(), items in items()) {
        let items = &items[..items.len().min(25)];
        let backwards: Vec<ContextItem> = items.iter().rev().cloned().collect();
        let (mut scores, mut reversed) = (vec![0.0; items.len()], vec![0.0; items.len()]);
        scorer.score_all(items, &mut scores);
        scorer.score_all(&backwards, &mut reversed);
        reversed.reverse();
        prop_assert_eq!(scores, reversed);
    }
}
