//! The specification's pseudocode for slicers, transcribed line by line and without any cleverness.

/// View of an item by a slicer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) tokens: i64,
    pub(crate) score: f64,
    /// In lower case, since kinds compare without regard to ASCII case.
    pub(crate) kind: String,
}

/// Items of a list that a slicer takes at a target, in the order in which it takes them.
pub(crate) type Take<'a> = &'a dyn Fn(&[Row], i64) -> Vec<usize>;

/// Positions by score, highest first, equal scores by position.
pub(crate) fn by_score(rows: &[Row]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| rows[b].score.partial_cmp(&rows[a].score).unwrap().then(a.cmp(&b)));
    order
}

/// GREEDY-SLICE.
pub(crate) fn greedy(rows: &[Row], target: i64) -> Vec<usize> {
    if rows.is_empty() || target <= 0 {
        return Vec::new();
    }
    let mut densities: Vec<(f64, usize)> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let density = if row.tokens == 0 { f64::MAX } else { row.score / row.tokens as f64 };
            (density, index)
        })
        .collect();
    densities.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
    let mut remaining = target;
    let mut selected = Vec::new();
    for (_, index) in densities {
        let tokens = rows[index].tokens;
        if tokens == 0 {
            selected.push(index);
        } else if tokens <= remaining {
            selected.push(index);
            remaining -= tokens;
        }
    }
    selected
}

/// KNAPSACK-SLICE, with the two-dimensional table of the text.
pub(crate) fn knapsack(rows: &[Row], target: i64, bucket_size: i64) -> Vec<usize> {
    if rows.is_empty() || target <= 0 {
        return Vec::new();
    }
    let mut result: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].tokens == 0).collect();
    let candidates: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].tokens > 0).collect();
    if candidates.is_empty() {
        return result;
    }
    let n = candidates.len();
    let values: Vec<i64> =
        candidates.iter().map(|&i| ((rows[i].score * 10_000.0).floor() as i64).max(0)).collect();
    let capacity = (target / bucket_size) as usize;
    if capacity == 0 {
        return result;
    }
    let weights: Vec<usize> = candidates
        .iter()
        .map(|&i| {
            (i128::from(rows[i].tokens) + i128::from(bucket_size) - 1) / i128::from(bucket_size)
        })
        .map(|weight| weight as usize)
        .collect();

    let mut dp = vec![0_i64; capacity + 1];
    let mut keep = vec![vec![false; capacity + 1]; n];
    for i in 0..n {
        for w in (weights[i]..=capacity).rev() {
            let with_item = dp[w - weights[i]] + values[i];
            if with_item > dp[w] {
                dp[w] = with_item;
                keep[i][w] = true;
            }
        }
    }
    let mut remaining = capacity;
    for i in (0..n).rev() {
        if keep[i][remaining] {
            result.push(candidates[i]);
            remaining -= weights[i];
        }
    }
    result
}

/// A kind's share of the budget in percent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Share {
    pub(crate) kind: String,
    pub(crate) require: f64,
    pub(crate) cap: f64,
}

fn positions_by_kind(rows: &[Row]) -> Vec<(String, Vec<usize>)> {
    let mut partitions: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match partitions.iter_mut().find(|(kind, _)| *kind == row.kind) {
            Some((_, positions)) => positions.push(index),
            None => partitions.push((row.kind.clone(), vec![index])),
        }
    }
    partitions
}

fn pick(rows: &[Row], positions: &[usize]) -> Vec<Row> {
    positions.iter().map(|&position| rows[position].clone()).collect()
}

/// DISTRIBUTE-BUDGET: the tokens each kind may use, by kind in order of first appearance.
pub(crate) fn distribute(rows: &[Row], target: i64, shares: &[Share]) -> Vec<(String, i64)> {
    let tokens_of = |percent: f64| (percent / 100.0 * target as f64).floor() as i64;
    let share_of = |kind: &str| shares.iter().find(|share| share.kind == kind);
    let require = |kind: &str| share_of(kind).map_or(0, |share| tokens_of(share.require));
    let cap = |kind: &str| share_of(kind).map_or(target, |share| tokens_of(share.cap));

    let total_required: i64 = shares.iter().map(|share| tokens_of(share.require)).sum();
    let unassigned = (target - total_required).max(0);
    let partitions = positions_by_kind(rows);
    let mass = |positions: &[usize]| -> i128 {
        positions.iter().map(|&position| i128::from(rows[position].tokens)).sum()
    };
    let total_mass: i128 = partitions
        .iter()
        .filter(|(kind, _)| cap(kind) > require(kind))
        .map(|(_, positions)| mass(positions))
        .sum();
    partitions
        .iter()
        .map(|(kind, positions)| {
            let mut proportional = 0;
            if total_mass > 0 && cap(kind) > require(kind) {
                proportional = (i128::from(unassigned) * mass(positions) / total_mass) as i64;
            }
            (kind.clone(), (require(kind) + proportional).min(cap(kind)))
        })
        .collect()
}

/// QUOTA-SLICE. Kinds go in order of first appearance; the text leaves that order open.
pub(crate) fn quota(rows: &[Row], target: i64, shares: &[Share], inner: Take<'_>) -> Vec<usize> {
    if rows.is_empty() || target <= 0 {
        return Vec::new();
    }
    let budgets = distribute(rows, target, shares);
    let mut selected = Vec::new();
    for ((_, positions), (_, budget)) in positions_by_kind(rows).iter().zip(budgets) {
        if budget > 0 {
            let taken = inner(&pick(rows, positions), budget);
            selected.extend(taken.into_iter().map(|index| positions[index]));
        }
    }
    selected
}

/// Least and most items of a kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Count {
    pub(crate) kind: String,
    pub(crate) require: usize,
    pub(crate) cap: usize,
}

/// Decision of a count slicer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counted {
    pub(crate) committed: Vec<usize>,
    pub(crate) filled: Vec<usize>,
    pub(crate) over_cap: Vec<usize>,
    /// Kind, required, satisfied.
    pub(crate) shortfalls: Vec<(String, usize, usize)>,
}

/// Order of the result of phase 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Resort {
    /// COUNT-QUOTA-SLICE does not.
    No,
    /// Equal scores by position, as everywhere else. The text leaves it open.
    EarlierFirst,
    /// Equal scores as they were taken, which for a knapsack is the last one first.
    AsTaken,
}

/// COUNT-QUOTA-SLICE and, with a [`Resort`], COUNT-KNAPSACK-CAP.
pub(crate) fn count(
    rows: &[Row],
    target: i64,
    counts: &[Count],
    inner: Take<'_>,
    resort: Resort,
) -> Counted {
    let mut result = Counted::default();
    if rows.is_empty() || target <= 0 {
        return result;
    }
    let mut selected_count: Vec<usize> = vec![0; counts.len()];
    for (entry, satisfied) in counts.iter().zip(&mut selected_count) {
        let best = by_score(rows).into_iter().filter(|&i| rows[i].kind == entry.kind);
        let best: Vec<usize> = best.take(entry.require).collect();
        *satisfied = best.len();
        result.committed.extend(&best);
        if best.len() < entry.require {
            result.shortfalls.push((entry.kind.clone(), entry.require, best.len()));
        }
    }
    let pre_allocated: i64 = result.committed.iter().map(|&i| rows[i].tokens).sum();
    let residual: Vec<usize> = (0..rows.len()).filter(|i| !result.committed.contains(i)).collect();
    let taken = inner(&pick(rows, &residual), (target - pre_allocated).max(0));
    let mut taken: Vec<usize> = taken.into_iter().map(|index| residual[index]).collect();
    if resort == Resort::EarlierFirst {
        taken.sort_unstable();
    }
    if resort != Resort::No {
        let order = by_score(&pick(rows, &taken));
        taken = order.into_iter().map(|rank| taken[rank]).collect();
    }
    for index in taken {
        match counts.iter().position(|entry| entry.kind == rows[index].kind) {
            Some(entry) if selected_count[entry] >= counts[entry].cap => {
                result.over_cap.push(index);
            }
            entry => {
                if let Some(entry) = entry {
                    selected_count[entry] += 1;
                }
                result.filled.push(index);
            }
        }
    }
    result
}
