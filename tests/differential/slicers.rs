//! Every slicer, on sorted and unsorted lists: what is taken, and in which order.

use crate::expected::Reading;
use crate::items::{self, Blueprint};
use crate::runner::{self, Case, Rng};
use crate::support::slicers::{self, Count, Counted, Resort, Row, Share};

pub(crate) const CASES: usize = 6 * CASES_EACH;
const CASES_EACH: usize = 1_000;

/// A slicer that exists in both implementations.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Greedy,
    Knapsack(i64),
    Quota(Vec<(&'static str, f64, f64)>, Box<Plan>),
    CountQuota(Vec<(&'static str, usize, usize)>, bool),
    CountKnapsack(Vec<(&'static str, usize, usize)>, i64, bool),
}

/// Decision of a slicer, with items by position.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Expected {
    pub(crate) taken: Vec<usize>,
    /// Number of them that were required by count, and so taken first.
    committed: usize,
    pub(crate) over_cap: Vec<usize>,
    pub(crate) shortfalls: Vec<(String, usize, usize)>,
    /// A requirement that cannot be met and must not be: kind, required, available.
    pub(crate) refused: Option<(String, usize, usize)>,
}

impl Plan {
    pub(crate) fn nth(rng: &mut Rng, number: usize) -> Self {
        match number {
            0 => Self::Greedy,
            1 => Self::Knapsack(rng.pick(&[1, 3, 10])),
            2 => Self::Quota(shares(rng), Box::new(Self::Greedy)),
            3 => Self::Quota(shares(rng), Box::new(Self::Knapsack(rng.pick(&[1, 5])))),
            4 => Self::CountQuota(counts(rng), rng.chance(25)),
            _ => Self::CountKnapsack(counts(rng), rng.pick(&[1, 5]), rng.chance(25)),
        }
    }

    pub(crate) fn ours(&self) -> Box<dyn cupel::Slicer> {
        let kind = |kind: &str| cupel::ContextKind::new(kind).unwrap();
        let entries = |counts: &[(&str, usize, usize)]| {
            let entry = |(name, require, cap): &(&str, usize, usize)| {
                cupel::slicer::CountQuotaEntry::new(kind(name), *require, *cap).unwrap()
            };
            counts.iter().map(entry).collect::<Vec<_>>()
        };
        let scarcity = |throw: bool| match throw {
            true => cupel::slicer::ScarcityBehavior::Throw,
            false => cupel::slicer::ScarcityBehavior::Degrade,
        };
        match self {
            Self::Greedy => Box::new(cupel::GreedySlice),
            Self::Knapsack(bucket) => Box::new(cupel::slicer::KnapsackSlice::new(*bucket).unwrap()),
            Self::Quota(shares, inner) => {
                let add = |set: cupel::slicer::QuotaSetBuilder,
                           (name, require, cap): &(&str, f64, f64)| {
                    set.require(kind(name), *require).cap(kind(name), *cap)
                };
                let set =
                    shares.iter().fold(cupel::slicer::QuotaSet::builder(), add).build().unwrap();
                Box::new(cupel::slicer::QuotaSlice::new(set, inner.ours()))
            }
            Self::CountQuota(counts, throw) => {
                let (entries, scarcity) = (entries(counts), scarcity(*throw));
                Box::new(
                    cupel::slicer::CountQuotaSlice::new(entries, cupel::GreedySlice, scarcity)
                        .unwrap(),
                )
            }
            Self::CountKnapsack(counts, bucket, throw) => {
                let knapsack = cupel::slicer::KnapsackSlice::new(*bucket).unwrap();
                let (entries, scarcity) = (entries(counts), scarcity(*throw));
                Box::new(
                    cupel::slicer::CountConstrainedKnapsackSlice::new(entries, knapsack, scarcity)
                        .unwrap(),
                )
            }
        }
    }

    pub(crate) fn theirs(&self) -> Box<dyn published::Slicer> {
        let kind = |kind: &str| published::ContextKind::new(kind).unwrap();
        let entries = |counts: &[(&str, usize, usize)]| {
            let entry = |(name, require, cap): &(&str, usize, usize)| {
                published::CountQuotaEntry::new(kind(name), *require, *cap).unwrap()
            };
            counts.iter().map(entry).collect::<Vec<_>>()
        };
        let scarcity = |throw: bool| match throw {
            true => published::ScarcityBehavior::Throw,
            false => published::ScarcityBehavior::Degrade,
        };
        match self {
            Self::Greedy => Box::new(published::GreedySlice),
            Self::Knapsack(bucket) => Box::new(published::KnapsackSlice::new(*bucket).unwrap()),
            Self::Quota(shares, inner) => {
                let entry = |(name, require, cap): &(&str, f64, f64)| {
                    published::QuotaEntry::new(kind(name), *require, *cap).unwrap()
                };
                let entries = shares.iter().map(entry).collect();
                Box::new(published::QuotaSlice::new(entries, inner.theirs()).unwrap())
            }
            Self::CountQuota(counts, throw) => {
                let (entries, scarcity) = (entries(counts), scarcity(*throw));
                let inner = Box::new(published::GreedySlice);
                Box::new(published::CountQuotaSlice::new(entries, inner, scarcity).unwrap())
            }
            Self::CountKnapsack(counts, bucket, throw) => {
                let knapsack = published::KnapsackSlice::new(*bucket).unwrap();
                let (entries, scarcity) = (entries(counts), scarcity(*throw));
                Box::new(
                    published::CountConstrainedKnapsackSlice::new(entries, knapsack, scarcity)
                        .unwrap(),
                )
            }
        }
    }

    /// Expected decision for these rows.
    pub(crate) fn expected(&self, rows: &[Row], target: i64, reading: Reading) -> Expected {
        let mut expected = self.text(rows, target, reading);
        if reading == Reading::Published {
            // Goes through kinds by name. The text leaves the order open for QuotaSlice, and says
            // "for each entry in entries" for the count slicers.
            let by_name = match self {
                Self::Quota(..) => expected.taken.len(),
                _ => expected.committed,
            };
            expected.taken[..by_name].sort_by_key(|&index| &rows[index].kind);
            // Overlooks a required kind that has no candidate at all. The text reads "empty if
            // absent", so it is as short as any other.
            let throws = expected.refused.is_some();
            let present = |(_, _, available): &&(String, usize, usize)| *available > 0;
            expected.refused = expected.shortfalls.iter().filter(|_| throws).find(present).cloned();
        }
        expected
    }

    /// Returns true if as many items of a kind are taken as its entry allows.
    pub(crate) fn kind_is_full(&self, rows: &[Row], taken: &[usize], kind: &str) -> bool {
        let (Self::CountQuota(counts, _) | Self::CountKnapsack(counts, ..)) = self else {
            return false;
        };
        let entry = to_counts(counts).into_iter().find(|entry| entry.kind == kind);
        let count = taken.iter().filter(|&&index| rows[index].kind == kind).count();
        entry.is_some_and(|entry| count >= entry.cap)
    }

    fn text(&self, rows: &[Row], target: i64, reading: Reading) -> Expected {
        let taken = match self {
            Self::Greedy => slicers::greedy(rows, target),
            Self::Knapsack(bucket) => slicers::knapsack(rows, target, *bucket),
            Self::Quota(shares, inner) => {
                let share = |(kind, require, cap): &(&str, f64, f64)| Share {
                    kind: kind.to_lowercase(),
                    require: *require,
                    cap: *cap,
                };
                let shares: Vec<Share> = shares.iter().map(share).collect();
                let inner = |rows: &[Row], target| inner.text(rows, target, reading).taken;
                slicers::quota(rows, target, &shares, &inner)
            }
            Self::CountQuota(counts, throw) => {
                let inner = slicers::greedy;
                return counted(
                    slicers::count(rows, target, &to_counts(counts), &inner, Resort::No),
                    *throw,
                );
            }
            Self::CountKnapsack(counts, bucket, throw) => {
                let inner = |rows: &[Row], target| slicers::knapsack(rows, target, *bucket);
                // Published: of equal scores the cap keeps the later items.
                let resort = match reading {
                    Reading::Text => Resort::EarlierFirst,
                    Reading::Published => Resort::AsTaken,
                };
                return counted(
                    slicers::count(rows, target, &to_counts(counts), &inner, resort),
                    *throw,
                );
            }
        };
        Expected { taken, ..Expected::default() }
    }
}

fn to_counts(counts: &[(&str, usize, usize)]) -> Vec<Count> {
    let count = |(kind, require, cap): &(&str, usize, usize)| Count {
        kind: kind.to_lowercase(),
        require: *require,
        cap: *cap,
    };
    counts.iter().map(count).collect()
}

fn counted(counted: Counted, throw: bool) -> Expected {
    let Counted { committed, filled, over_cap, shortfalls } = counted;
    let refused = shortfalls.first().filter(|_| throw).cloned();
    Expected {
        committed: committed.len(),
        taken: [committed, filled].concat(),
        over_cap,
        shortfalls,
        refused,
    }
}

fn shares(rng: &mut Rng) -> Vec<(&'static str, f64, f64)> {
    let mut left = 100.0;
    let mut shares = Vec::new();
    for kind in ["MESSAGE", "ToolOutput", "Document", "absent"] {
        if rng.chance(60) {
            let require = rng.pick(&[0.0, 10.0, 33.0, 50.0, 100.0_f64]).min(left);
            left -= require;
            shares.push((kind, require, rng.pick(&[require, 60.0, 100.0_f64]).max(require)));
        }
    }
    shares
}

fn counts(rng: &mut Rng) -> Vec<(&'static str, usize, usize)> {
    let mut counts = Vec::new();
    for kind in ["ToolOutput", "message", "Memory"] {
        if rng.chance(70) {
            let require = rng.below(4);
            counts.push((kind, require, require + rng.below(3)));
        }
    }
    counts
}

#[derive(Debug, Clone)]
struct SlicerCase {
    plan: Plan,
    target: i64,
    items: Vec<(Blueprint, f64)>,
}

impl Case for SlicerCase {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn without(&self, index: usize) -> Self {
        Self { items: items::without(&self.items, index), ..self.clone() }
    }
}

impl SlicerCase {
    fn random(rng: &mut Rng, plan: usize) -> Self {
        // Long lists beside small budgets reach the paths that stop sorting early.
        let count = if rng.chance(5) { 60 + rng.below(300) } else { rng.below(13) };
        let item = |id| {
            // Halves and doubles, so that densities tie across different sizes.
            let score = rng.pick(&[0.0, 0.1, 0.2, 0.2, 0.4, 0.5, 0.8, 0.8, 1.0, 1.5]);
            (Blueprint::random(rng, id, &[0, 1, 2, 4, 5, 8, 10, 20, 40]), score)
        };
        let mut items: Vec<(Blueprint, f64)> = (0..count as i64).map(item).collect();
        if rng.chance(70) {
            items.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        }
        Self { plan: Plan::nth(rng, plan), target: rng.between(0, 120), items }
    }
}

fn check(case: &SlicerCase) -> Result<(), String> {
    let bare = (case.target, case.target, 0);
    let items: Vec<_> = case.items.iter().map(|(item, score)| (item.ours(), *score)).collect();
    let scored: Vec<_> =
        items.iter().map(|(item, score)| cupel::ScoredItem::new(item, *score)).collect();
    let ours = case.plan.ours().slice(&scored, &items::budget(bare));

    let scored: Vec<_> = case
        .items
        .iter()
        .map(|(item, score)| published::ScoredItem { item: item.theirs(), score: *score })
        .collect();
    let theirs = case.plan.theirs().slice(&scored, &items::their_budget(bare));

    let row = |(item, score): &(Blueprint, f64)| Row {
        tokens: item.tokens,
        score: *score,
        kind: item.kind.to_lowercase(),
    };
    let rows: Vec<Row> = case.items.iter().map(row).collect();
    let expected = case.plan.expected(&rows, case.target, Reading::Text);
    match &ours {
        Ok(ours) if expected.refused.is_none() => compare(ours, &expected)?,
        Err(_) if expected.refused.is_some() => {}
        _ => return Err(format!("ours {ours:?}, the text {:?}", expected.refused)),
    }

    let expected = case.plan.expected(&rows, case.target, Reading::Published);
    let ids = |taken: &[usize]| -> Vec<i64> { taken.iter().map(|&i| case.items[i].0.id).collect() };
    let theirs = theirs.map(|items| items.iter().map(items::their_id).collect::<Vec<_>>());
    match &theirs {
        Ok(theirs) if expected.refused.is_none() && *theirs == ids(&expected.taken) => Ok(()),
        Err(_) if expected.refused.is_some() => Ok(()),
        _ => Err(format!("published {theirs:?}, the model of it {:?}", ids(&expected.taken))),
    }
}

/// Ours takes what the text takes, in the same order, and accounts for the rest as the text does.
fn compare(ours: &cupel::slicer::SliceResult, expected: &Expected) -> Result<(), String> {
    if ours.indices != expected.taken {
        return Err(format!("ours {:?}, the text {:?}", ours.indices, expected.taken));
    }
    let over_cap: Vec<usize> = ours.exclusions.iter().map(|(position, _)| *position).collect();
    if over_cap != expected.over_cap {
        return Err(format!("over the cap: {over_cap:?}, the text {:?}", expected.over_cap));
    }
    let shortfalls = ours.shortfalls.iter().map(|short| {
        (short.kind.as_str().to_lowercase(), short.required_count, short.satisfied_count)
    });
    if !shortfalls.eq(expected.shortfalls.iter().cloned()) {
        return Err(format!("short: {:?}, the text {:?}", ours.shortfalls, expected.shortfalls));
    }
    Ok(())
}

#[test]
fn slicers_agree() {
    let names = [
        "greedy",
        "knapsack",
        "quota over greedy",
        "quota over knapsack",
        "count quota",
        "count knapsack",
    ];
    for (number, name) in names.into_iter().enumerate() {
        runner::run(name, CASES_EACH, |rng| SlicerCase::random(rng, number), check);
    }
}
