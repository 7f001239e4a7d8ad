//! The slicers against plain transcriptions of their algorithms.

use std::sync::{Arc, Mutex};

use cupel::diagnostics::PipelineStage;
use cupel::slicer::{
    CountConstrainedKnapsackSlice, CountQuotaEntry, CountQuotaSlice, KnapsackSlice, QuotaSet,
    QuotaSlice, ScarcityBehavior, SliceResult,
};
use cupel::{ContextBudget, ContextItem, ContextKind, CupelError, GreedySlice, ScoredItem, Slicer};

use super::common::{Random, budget, hinted, pipeline, scored};

/// Greedy selection, step by step.
fn greedy(items: &[ScoredItem<'_>], target: i64) -> Vec<usize> {
    let density = |s: &ScoredItem<'_>| match s.item().tokens() {
        0 => f64::MAX,
        tokens => s.score() / tokens as f64,
    };
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|&a, &b| density(&items[b]).total_cmp(&density(&items[a])));
    let mut left = target;
    order.retain(|&index| {
        let tokens = items[index].item().tokens();
        let fits = target > 0 && tokens <= left;
        left -= if fits { tokens } else { 0 };
        fits
    });
    order
}

/// The knapsack table with its keep bits, cell by cell.
fn knapsack(items: &[ScoredItem<'_>], target: i64, bucket: i64) -> Vec<usize> {
    if target <= 0 {
        return Vec::new();
    }
    let tokens = |index: usize| items[index].item().tokens();
    let mut result: Vec<usize> = (0..items.len()).filter(|&index| tokens(index) == 0).collect();
    let candidates: Vec<usize> = (0..items.len()).filter(|&index| tokens(index) > 0).collect();
    let capacity = (target / bucket) as usize;
    let weight = |index: usize| (tokens(index) as usize).div_ceil(bucket as usize);
    let value = |index: usize| ((items[index].score() * 10_000.0).floor() as i64).max(0);

    let mut best = vec![0_i64; capacity + 1];
    let mut keep = vec![vec![false; capacity + 1]; candidates.len()];
    for (row, &index) in candidates.iter().enumerate() {
        for w in (weight(index)..=capacity).rev() {
            let with = best[w - weight(index)] + value(index);
            if with > best[w] {
                best[w] = with;
                keep[row][w] = true;
            }
        }
    }
    let mut left = capacity;
    for (row, &index) in candidates.iter().enumerate().rev() {
        if keep[row][left] {
            result.push(index);
            left -= weight(index);
        }
    }
    result
}

fn all_slicers() -> Vec<Box<dyn Slicer>> {
    let quotas = QuotaSet::builder()
        .require(ContextKind::document(), 25.0)
        .cap(ContextKind::new("TOOL").unwrap(), 40.0)
        .build()
        .unwrap();
    let entries = || vec![CountQuotaEntry::new(ContextKind::new("tool").unwrap(), 1, 2).unwrap()];
    let bucket = KnapsackSlice::new(3).unwrap();
    let degrade = ScarcityBehavior::Degrade;
    vec![
        Box::new(GreedySlice),
        Box::new(KnapsackSlice::new(1).unwrap()),
        Box::new(KnapsackSlice::new(7).unwrap()),
        Box::new(QuotaSlice::new(quotas, GreedySlice)),
        Box::new(CountQuotaSlice::new(entries(), GreedySlice, degrade).unwrap()),
        Box::new(CountConstrainedKnapsackSlice::new(entries(), bucket, degrade).unwrap()),
    ]
}

#[test]
fn greedy_agrees_with_its_transcription() {
    let mut random = Random::new(1);
    for round in 0..2_000 {
        let (items, scores) =
            random.instance(if round % 20 == 0 { 300 } else { 12 }, round % 2 == 0);
        let items = scored(&items, &scores);
        let target = random.below(200) as i64;
        let sliced = GreedySlice.slice(&items, &budget(target)).unwrap();
        assert_eq!(sliced.indices, greedy(&items, target), "target {target}: {items:?}");
    }
}

#[test]
fn knapsack_agrees_with_its_transcription() {
    let mut random = Random::new(2);
    for round in 0..2_000 {
        let (items, scores) =
            random.instance(if round % 50 == 0 { 80 } else { 14 }, round % 2 == 0);
        let items = scored(&items, &scores);
        let (target, bucket) = (random.below(150) as i64, 1 + random.below(12) as i64);
        let sliced = KnapsackSlice::new(bucket).unwrap().slice(&items, &budget(target)).unwrap();
        let expected = knapsack(&items, target, bucket);
        assert_eq!(sliced.indices, expected, "target {target}, bucket {bucket}: {items:?}");
    }
}

#[test]
fn knapsack_is_optimal_for_its_buckets() {
    let mut random = Random::new(3);
    for _ in 0..300 {
        let (items, scores) = random.instance(10, true);
        let items = scored(&items, &scores);
        let (target, bucket) = (1 + random.below(100) as i64, 1 + random.below(6) as i64);
        let weight = |s: &ScoredItem<'_>| {
            s.item().tokens().div_euclid(bucket) + i64::from(s.item().tokens() % bucket != 0)
        };
        let value = |s: &ScoredItem<'_>| (s.score() * 10_000.0).floor() as i64;
        let best = (0_u32..1 << items.len())
            .filter_map(|subset| {
                let chosen = || items.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
                let fits = chosen().map(|(_, s)| weight(s)).sum::<i64>() <= target / bucket;
                fits.then(|| chosen().map(|(_, s)| value(s)).sum::<i64>())
            })
            .max()
            .unwrap();
        let sliced = KnapsackSlice::new(bucket).unwrap().slice(&items, &budget(target)).unwrap();
        let reached: i64 = sliced.indices.iter().map(|&index| value(&items[index])).sum();
        // Free items are in the answer whatever the table says.
        assert_eq!(reached, best, "target {target}, bucket {bucket}: {items:?}");
    }
}

#[test]
fn slicers_return_a_subset() {
    let mut random = Random::new(4);
    for _ in 0..300 {
        let (items, scores) = random.instance(15, false);
        let items = scored(&items, &scores);
        for slicer in all_slicers() {
            let mut indices = slicer.slice(&items, &budget(100)).unwrap().indices;
            indices.sort_unstable();
            assert!(indices.iter().all(|&index| index < items.len()), "{}", slicer.name());
            let count = indices.len();
            indices.dedup();
            assert_eq!(indices.len(), count, "{}", slicer.name());
        }
    }
}

#[test]
fn slicers_without_count_requirements_stay_within_the_target() {
    let mut random = Random::new(5);
    for _ in 0..500 {
        let (items, scores) = random.instance(15, true);
        let items = scored(&items, &scores);
        let target = random.below(150) as i64;
        for slicer in all_slicers().into_iter().filter(|slicer| !slicer.is_count_quota()) {
            let sliced = slicer.slice(&items, &budget(target)).unwrap();
            let total: i64 = sliced.indices.iter().map(|&index| items[index].tokens()).sum();
            assert!(total <= target, "{} took {total} of {target}", slicer.name());
        }
    }
}

#[test]
fn slicers_return_nothing_for_nothing() {
    let items = [hinted("free", 0, 1.0), hinted("paid", 1, 1.0)];
    let items = scored(&items, &[1.0, 1.0]);
    for slicer in all_slicers() {
        assert_eq!(slicer.slice(&[], &budget(100)).unwrap(), SliceResult::default());
        assert_eq!(slicer.slice(&items, &budget(0)).unwrap(), SliceResult::default());
    }
}

#[test]
fn slicing_repeats_itself() {
    let mut random = Random::new(6);
    for _ in 0..100 {
        let (items, scores) = random.instance(40, true);
        let items = scored(&items, &scores);
        for slicer in all_slicers() {
            let slice = || slicer.slice(&items, &budget(120)).unwrap();
            assert_eq!(slice(), slice(), "{}", slicer.name());
        }
    }
}

#[test]
fn the_default_bucket_holds_a_hundred_tokens() {
    assert_eq!(KnapsackSlice::default().bucket_size(), 100);
    assert!(matches!(KnapsackSlice::new(0), Err(CupelError::SlicerConfig(_))));
}

/// The contents and the budget of each call.
type Calls = Vec<(Vec<String>, ContextBudget)>;

/// Takes nothing and writes down what it was given.
struct Recording(Arc<Mutex<Calls>>);

impl Slicer for Recording {
    fn slice(
        &self,
        items: &[ScoredItem<'_>],
        budget: &ContextBudget,
    ) -> Result<SliceResult, CupelError> {
        let contents = items.iter().map(|s| s.item().content().to_owned()).collect();
        self.0.lock().unwrap().push((contents, budget.clone()));
        Ok(SliceResult::default())
    }
}

fn of_kind(content: &str, tokens: i64, kind: &str) -> ContextItem {
    ContextItem::builder(content, tokens).kind(ContextKind::new(kind).unwrap()).build().unwrap()
}

#[test]
fn quota_gives_each_kind_its_cap_and_its_budget() {
    let log = Arc::default();
    let quotas = QuotaSet::builder()
        .require(ContextKind::document(), 20.0)
        .cap(ContextKind::document(), 60.0)
        .build()
        .unwrap();
    let slicer = QuotaSlice::new(quotas, Recording(Arc::clone(&log)));
    let items =
        [of_kind("m1", 30, "Message"), of_kind("d1", 50, "document"), of_kind("m2", 20, "MESSAGE")];
    let outer = ContextBudget::builder(500)
        .target_tokens(200)
        .output_reserve(9)
        .reserve_slot(ContextKind::memory(), 9)
        .build()
        .unwrap();
    slicer.slice(&scored(&items, &[0.9, 0.8, 0.7]), &outer).unwrap();
    // Required 40, unassigned 160, masses 50 and 50: Message 80, Document 40 + 80 = 120 (its cap).
    let seen = log.lock().unwrap();
    let budgets: Vec<_> = seen
        .iter()
        .map(|(contents, b)| (contents.join(" "), b.max_tokens(), b.target_tokens()))
        .collect();
    assert_eq!(budgets, [("m1 m2".to_owned(), 200, 80), ("d1".to_owned(), 120, 120)]);
    assert!(seen.iter().all(|(_, b)| b.output_reserve() == 0 && b.reserved_slots().is_empty()));
}

#[test]
fn count_quota_hands_on_the_rest_under_the_same_ceiling() {
    let log = Arc::default();
    let entries = vec![CountQuotaEntry::new(ContextKind::new("tool").unwrap(), 1, 2).unwrap()];
    let slicer =
        CountQuotaSlice::new(entries, Recording(Arc::clone(&log)), ScarcityBehavior::Degrade)
            .unwrap();
    let items = [of_kind("m", 10, "Message"), of_kind("t1", 30, "tool"), of_kind("t2", 30, "tool")];
    let outer = ContextBudget::builder(500).target_tokens(100).build().unwrap();
    let sliced = slicer.slice(&scored(&items, &[0.9, 0.8, 0.7]), &outer).unwrap();
    assert_eq!(sliced.indices, [1]);
    let seen = log.lock().unwrap();
    let [(contents, inner)] = seen.as_slice() else { panic!("sliced {} times", seen.len()) };
    assert_eq!(*contents, ["m", "t2"]);
    assert_eq!((inner.max_tokens(), inner.target_tokens()), (500, 70));
}

#[test]
fn widened_buckets_are_in_the_report() {
    let items: Vec<ContextItem> =
        (0..60).map(|n| ContextItem::new(format!("item {n}"), 10).unwrap()).collect();
    let wide = KnapsackSlice::new(1).unwrap().widen_buckets(true);
    let slice_message = |tokens: i64| {
        let report = pipeline().slicer(wide).build().unwrap().dry_run(&items, &budget(tokens));
        let report = report.unwrap();
        let event = report.events.iter().find(|event| event.stage == PipelineStage::Slice);
        event.unwrap().message.clone()
    };
    // 60 x 800,000 = 48,000,000 cells are allowed; 60 x 900,000 are not. 833,333 buckets are, so
    // that each has floor(900,000 / 833,334) + 1 = 2 tokens.
    assert_eq!(slice_message(800_000), None);
    let message = slice_message(900_000).unwrap();
    assert!(message.starts_with("KnapsackSlice: buckets of 2 tokens instead of 1"), "{message}");
    // Through the slicers around it as well.
    let quota = QuotaSlice::new(QuotaSet::builder().build().unwrap(), wide);
    let report = pipeline().slicer(quota).build().unwrap().dry_run(&items, &budget(900_000));
    assert!(report.unwrap().events.iter().any(|event| event.message.is_some()));
}
